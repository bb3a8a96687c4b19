// CONNECT: bytes both ways, counted.
#include "common/async/no_throw.hpp"
#include "worker/egress/connect.hpp"
#include "worker/egress/proxy_state.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <string_view>
#include <utility>

namespace cupel::worker::egress {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;

/// Until `from` ends; then `to` is told. A failure, or an allowance that is used up, ends both
/// ways.
template <typename From, typename To>
asio::awaitable<void> carry(ConnectionPtr connection, From& from, To& to) {
  const auto piece = std::make_unique<std::array<char, kPieceBytes>>();
  boost::system::error_code ignored;
  for (;;) {
    const auto [failure, bytes] = co_await from.async_read_some(asio::buffer(*piece), kNoThrow);
    if (failure == asio::error::eof) {
      to.shutdown(asio::socket_base::shutdown_send, ignored);
      co_return;
    }
    if (failure || !connection->moved(bytes)) break;
    const auto [unsent, sent] =
        co_await asio::async_write(to, asio::buffer(piece->data(), bytes), kNoThrow);
    if (unsent) break;
  }
  connection->cut();
}

}  // namespace

asio::awaitable<void> tunnel(ConnectionPtr connection, Target target, ProxyRequest request) {
  UpstreamGuard& guard = connection->state.guard;
  const std::string host = target.at.text();
  const bool turn = co_await wait_for_turn(connection, target);
  if (!turn) co_return;
  auto connected = co_await connect_to(std::move(target), connection->state.options.upstream);
  // Of a tunnel no more is seen than that it could be made.
  if (std::holds_alternative<Refused>(connected)) {
    guard.failed(host, std::chrono::steady_clock::now());
  } else {
    guard.answered(host, 0, {}, std::chrono::steady_clock::now());
  }
  if (const auto* why = std::get_if<Refused>(&connected)) {
    connection->state.ledger.note(connection->run, printable("CONNECT " + request.to.text()), *why);
    co_return co_await answer(connection, *why, host);
  }
  if (!connection->client.is_open()) co_return;  // cut meanwhile
  connection->upstream = std::get<tcp::socket>(std::move(connected));
  static constexpr std::string_view kEstablished = "HTTP/1.1 200 Connection established\r\n\r\n";
  const auto [failure, sent] =
      co_await asio::async_write(connection->client, asio::buffer(kEstablished), kNoThrow);
  if (failure) co_return;
  // What the client said before it was told that it may.
  const auto early = connection->buffer.data();
  if (early.size() > 0) {
    if (!connection->moved(early.size())) co_return;
    const auto [unsent, written] =
        co_await asio::async_write(connection->upstream, early, kNoThrow);
    if (unsent) co_return;
    connection->buffer.consume(connection->buffer.size());
  }
  using namespace asio::experimental::awaitable_operators;
  co_await (carry(connection, connection->client, connection->upstream) &&
            carry(connection, connection->upstream, connection->client));
}

}  // namespace cupel::worker::egress
