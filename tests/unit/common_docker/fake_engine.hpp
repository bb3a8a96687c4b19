/// A scripted engine on a unix socket: each connection gets the next line of the script.
#pragma once

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace cupel::test {

struct Step {
  std::chrono::milliseconds after{};  ///< Pause before it.
  std::string bytes = {};
};

/// What happens on one connection once its request has been read.
struct Play {
  std::vector<Step> steps = {};
  bool hang = false;  ///< Stays open afterwards.
};

/// An HTTP answer with a body of known length.
[[nodiscard]] std::string answer(unsigned status, const std::string& body);
[[nodiscard]] inline Play plain(unsigned status, const std::string& body) {
  return {.steps = {{.bytes = answer(status, body)}}};
}

class FakeEngine {
 public:
  /// The last play repeats. `backlog`: length of the accept queue.
  FakeEngine(boost::asio::io_context& io, std::vector<Play> script);
  ~FakeEngine();
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Request heads (and what came with them), in the order of their arrival.
  [[nodiscard]] const std::vector<std::string>& requests() const;

 private:
  struct State;
  std::string path_;
  std::shared_ptr<State> state_;
};

}  // namespace cupel::test
