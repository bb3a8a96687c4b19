#include "tests/integration/sandbox/engine_between.hpp"

#include "common/async/no_throw.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace cupel::test {

namespace asio = boost::asio;
using Unix = asio::local::stream_protocol;

namespace {

struct Pair {
  Unix::socket client;
  Unix::socket engine;
  bool swallow = false;
};

void rethrow(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

asio::awaitable<void> answers(std::shared_ptr<Pair> pair) {
  std::string piece(65536, '\0');
  while (true) {
    const auto [ec, count] = co_await pair->engine.async_read_some(asio::buffer(piece), kNoThrow);
    if (ec) break;
    if (pair->swallow) continue;
    const auto [write_ec, written] =
        co_await asio::async_write(pair->client, asio::buffer(piece.data(), count), kNoThrow);
    if (write_ec) break;
  }
  boost::system::error_code ignored;
  if (!pair->swallow) pair->client.close(ignored);
}

}  // namespace

struct EngineBetween::State {
  Unix::acceptor acceptor;
  Unix::endpoint engine;
  Rules rules;
};

namespace {

template <typename State>
asio::awaitable<void> requests(std::shared_ptr<State> state, std::shared_ptr<Pair> pair) {
  const auto [connect_ec] = co_await pair->engine.async_connect(state->engine, kNoThrow);
  if (connect_ec) co_return;
  asio::co_spawn(pair->client.get_executor(), answers(pair), rethrow);
  std::string piece(std::size_t{1} << 18U, '\0');
  while (true) {
    const auto [ec, count] = co_await pair->client.async_read_some(asio::buffer(piece), kNoThrow);
    if (ec) break;
    std::string bytes = piece.substr(0, count);
    if (state->rules.seen) state->rules.seen(bytes);
    const std::string& swallow = state->rules.swallow;
    if (!swallow.empty() && bytes.find(swallow) != std::string::npos) pair->swallow = true;
    const std::string& from = state->rules.from;
    for (std::size_t at = from.empty() ? std::string::npos : bytes.find(from);
         at != std::string::npos; at = bytes.find(from, at)) {
      bytes.replace(at, from.size(), state->rules.to);
    }
    const auto [write_ec, written] =
        co_await asio::async_write(pair->engine, asio::buffer(bytes), kNoThrow);
    if (write_ec) break;
  }
  boost::system::error_code ignored;
  pair->engine.shutdown(Unix::socket::shutdown_send, ignored);
}

template <typename State>
asio::awaitable<void> accept_all(std::shared_ptr<State> state) {
  while (true) {
    auto [ec, socket] = co_await state->acceptor.async_accept(kNoThrow);
    if (ec) co_return;
    auto executor = socket.get_executor();
    auto pair = std::make_shared<Pair>(Pair{std::move(socket), Unix::socket(executor)});
    asio::co_spawn(executor, requests(state, std::move(pair)), rethrow);
  }
}

}  // namespace

EngineBetween::EngineBetween(asio::io_context& io, std::string path, std::string engine,
                             Rules rules)
    : state_(std::make_shared<State>(State{Unix::acceptor(io, Unix::endpoint(path)),
                                           Unix::endpoint(engine), std::move(rules)})) {
  asio::co_spawn(io, accept_all(state_), rethrow);
}

EngineBetween::~EngineBetween() {
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
}

}  // namespace cupel::test
