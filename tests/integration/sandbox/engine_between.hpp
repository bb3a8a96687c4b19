/// Stands between a client and the real engine, to make the engine misbehave in one chosen way.
#pragma once

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <string>

namespace cupel::test {

class EngineBetween {
 public:
  struct Rules {
    /// Replaced in what the client sends, by a text of the same length: a path that the engine sees
    /// elsewhere.
    std::string from = {};
    std::string to = {};
    /// Requests whose line contains this get no answer, though the engine does the work.
    std::string swallow = {};
    /// Told of every piece that the client sends; may be empty.
    std::function<void(const std::string& bytes)> seen = {};
  };

  /// Listens on `path` until destroyed.
  EngineBetween(boost::asio::io_context& io, std::string path, std::string engine, Rules rules);
  ~EngineBetween();
  EngineBetween(const EngineBetween&) = delete;
  EngineBetween& operator=(const EngineBetween&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cupel::test
