#include "tests/unit/common_docker/fake_engine.hpp"

#include "common/async/no_throw.hpp"
#include "common/fs/files.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <filesystem>

namespace cupel::test {

namespace asio = boost::asio;
using Unix = asio::local::stream_protocol;

struct FakeEngine::State {
  Unix::acceptor acceptor;
  std::vector<Play> script;
  std::vector<std::string> requests = {};
  std::vector<std::shared_ptr<Unix::socket>> open = {};
};

namespace {

void rethrow(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

template <typename State>
asio::awaitable<void> play(std::shared_ptr<State> state, std::shared_ptr<Unix::socket> socket,
                           Play wanted) {
  std::string request;
  const auto [ec, count] =
      co_await asio::async_read_until(*socket, asio::dynamic_buffer(request), "\r\n\r\n", kNoThrow);
  if (ec) co_return;
  state->requests.push_back(request);
  asio::steady_timer timer(socket->get_executor());
  for (const Step& step : wanted.steps) {
    timer.expires_after(step.after);
    (void)co_await timer.async_wait(kNoThrow);
    const auto [write_ec, written] =
        co_await asio::async_write(*socket, asio::buffer(step.bytes), kNoThrow);
    if (write_ec) co_return;
  }
  if (wanted.hang) {
    state->open.push_back(socket);
  } else {
    boost::system::error_code ignored;
    socket->close(ignored);
  }
}

template <typename State>
asio::awaitable<void> accept_all(std::shared_ptr<State> state) {
  std::size_t next = 0;
  while (true) {
    auto [ec, accepted] = co_await state->acceptor.async_accept(kNoThrow);
    if (ec) co_return;
    auto socket = std::make_shared<Unix::socket>(std::move(accepted));
    const Play& wanted = state->script.at(std::min(next++, state->script.size() - 1));
    asio::co_spawn(socket->get_executor(), play(state, socket, wanted), rethrow);
  }
}

}  // namespace

std::string answer(unsigned status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) + " Status\r\nContent-Type: application/json\r\n" +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

FakeEngine::FakeEngine(asio::io_context& io, std::vector<Play> script)
    : path_(
          (std::filesystem::temp_directory_path() / ("cupel-fake-" + fs::random_hex(6))).string()),
      state_(std::make_shared<State>(
          State{Unix::acceptor(io, Unix::endpoint(path_)), std::move(script)})) {
  asio::co_spawn(io, accept_all(state_), rethrow);
}

FakeEngine::~FakeEngine() {
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  std::filesystem::remove(path_);
}

const std::vector<std::string>& FakeEngine::requests() const {
  return state_->requests;
}

}  // namespace cupel::test
