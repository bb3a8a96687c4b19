// A container's standard streams over one upgraded connection.
#include "common/async/no_throw.hpp"
#include "common/crash/crash_point.hpp"
#include "common/docker/client_impl.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <chrono>

namespace cupel::docker {

namespace asio = boost::asio;
using detail::Request;

namespace {

constexpr std::size_t kReadPieceBytes = std::size_t{64} * 1024;

}  // namespace

struct Attachment::State {
  asio::local::stream_protocol::socket socket;
  std::string early_bytes;
};

Attachment::Attachment() = default;
Attachment::Attachment(std::shared_ptr<State> state) : state_(std::move(state)) {}
Attachment::Attachment(Attachment&&) noexcept = default;
Attachment& Attachment::operator=(Attachment&& other) noexcept {
  close();
  state_ = std::move(other.state_);
  return *this;
}
Attachment::~Attachment() {
  close();
}

void Attachment::close() {
  if (!state_) return;
  boost::system::error_code ignored;
  state_->socket.close(ignored);
}

Awaitable<Result<void>> Attachment::send(std::string bytes, Duration budget) {
  using namespace asio::experimental::awaitable_operators;
  const std::shared_ptr<State> state = state_;
  if (!state || !state->socket.is_open()) {
    co_return Error{.code = Errc::engine_unreachable,
                    .what = "orders: the attachment is closed",
                    .detail = {},
                    .hint = {}};
  }
  CUPEL_CRASH_POINT("engine.orders");
  asio::steady_timer timer(state->socket.get_executor(),
                           std::chrono::ceil<std::chrono::steady_clock::duration>(budget));
  const auto first = co_await (asio::async_write(state->socket, asio::buffer(bytes), kNoThrow) ||
                               timer.async_wait(kNoThrow));
  if (first.index() == 1) {
    co_return Error{.code = Errc::engine_timeout,
                    .what = "orders: the engine did not take them in time",
                    .detail = {},
                    .hint = {}};
  }
  if (const auto ec = std::get<0>(std::get<0>(first)); ec) {
    co_return detail::transport_error(ec, "orders", budget);
  }
  co_return Result<void>();
}

Awaitable<Result<std::string>> Attachment::read() {
  const std::shared_ptr<State> state = state_;
  if (!state) co_return std::string();
  if (!state->early_bytes.empty()) co_return std::exchange(state->early_bytes, {});
  std::string piece(kReadPieceBytes, '\0');
  const auto [ec, count] = co_await state->socket.async_read_some(asio::buffer(piece), kNoThrow);
  if (ec && ec != asio::error::eof) co_return detail::transport_error(ec, "attach", Duration{});
  piece.resize(count);
  co_return piece;
}

Awaitable<Result<Attachment>> Client::attach(std::string container) {
  if (!engine::is_container_ref(container)) co_return bad_container_ref(container);
  Request request{.what = "attach " + short_ref(container),
                  .method = "POST",
                  .target = impl_->target("/containers/" + container +
                                          "/attach?stream=1&stdin=1&stdout=1&stderr=1")};
  request.budget = impl_->options.budgets.attach;
  request.upgrade = true;
  const std::string what = request.what;
  CallOf call(impl_, "attach");
  CUPEL_CRASH_POINT("engine.attach");
  Result<detail::Upgraded> upgraded =
      co_await detail::upgrade(impl_->options.socket_path, std::move(request));
  CUPEL_CRASH_POINT("engine.attach.answered");
  if (!upgraded) co_return call.failed(upgraded.error());
  if (upgraded->answer.status != 101 && upgraded->answer.status != 200) {
    Result<void> status =
        engine::plain_status(upgraded->answer.status, upgraded->answer.body, what);
    co_return call.failed(status.error());
  }
  call.succeeded();
  co_return Attachment(std::make_shared<Attachment::State>(
      Attachment::State{std::move(upgraded->socket), std::move(upgraded->early_bytes)}));
}

}  // namespace cupel::docker
