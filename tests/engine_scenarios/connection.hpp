/// One connection of the scripted engine: its request, and how bytes are written to it.
#pragma once

#include "tests/engine_scenarios/calls.hpp"
#include "tests/engine_scenarios/model.hpp"
#include "tests/engine_scenarios/scenario.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cupel::scenarios {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::local::stream_protocol::socket;
  explicit Connection(Socket socket) : socket_(std::move(socket)), timer_(socket_.get_executor()) {}

  /// The request, whole with its body; nothing when the client went away or sent none.
  [[nodiscard]] boost::asio::awaitable<std::optional<RecordedCall>> read_request();
  /// Reads on: what comes is stdin of `stdin_of`, once that is set; the end of it is noticed at
  /// once.
  [[nodiscard]] boost::asio::awaitable<void> watch();
  /// All of these are false when the connection is over.
  [[nodiscard]] boost::asio::awaitable<bool> write(std::string bytes);
  [[nodiscard]] boost::asio::awaitable<bool> write_body(
      std::string bytes);  ///< A chunk where the head said so.
  [[nodiscard]] boost::asio::awaitable<bool> write_answer(HttpAnswer answer);
  [[nodiscard]] boost::asio::awaitable<bool> write_head(HttpAnswer answer);
  [[nodiscard]] boost::asio::awaitable<bool> pause(Duration time);
  /// Returns when the client is gone, or the engine cut it off.
  [[nodiscard]] boost::asio::awaitable<void> until_over();
  /// Takes what came on the connection so far, and all that comes, for the container's stdin.
  void stdin_goes_to(ContainerPtr container);
  void close();

  [[nodiscard]] bool over() const { return over_; }
  /// The client has closed its side, though this side may not have noticed yet.
  [[nodiscard]] bool client_gone();

  RecordedCall call;
  bool chunked = false;
  std::size_t piece_bytes = 0;  ///< Written this many at a time; 0 = whole.
  Duration piece_pause{};

 private:
  void end();

  Socket socket_;
  boost::asio::steady_timer timer_;  ///< Pauses; cancelled when it is over.
  std::string early_;                ///< Came before anybody knew whose stdin it is.
  ContainerPtr stdin_of_;
  bool over_ = false;
};
using ConnectionPtr = std::shared_ptr<Connection>;

}  // namespace cupel::scenarios
