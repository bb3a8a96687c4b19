// GET and HEAD: the proxy asks the target itself, by TLS and with its credentials where it has
// some.
#include "common/async/no_throw.hpp"
#include "worker/egress/connect.hpp"
#include "worker/egress/proxy_state.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <array>
#include <memory>
#include <utility>

namespace cupel::worker::egress {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t kFetchPieceBytes = 64 * 1024;
constexpr std::uint32_t kAnswerHeadBytesMax = 32 * 1024;

using Request = http::request<http::empty_body>;
using Parser = http::response_parser<http::buffer_body>;
using Answer = http::response<http::buffer_body>;

Request request_for(const Target& target, const ProxyRequest& asked) {
  Request request(asked.head ? http::verb::head : http::verb::get, asked.path, 11);
  const bool usual = target.at.port == (target.tls ? 443 : 80);
  const std::string host = target.at.text();
  request.set(http::field::host, usual ? host.substr(0, host.rfind(':')) : host);
  request.set(http::field::user_agent, "cupel-worker");
  request.set(http::field::connection, "close");
  if (!target.authorization.empty()) request.set(http::field::authorization, target.authorization);
  return request;
}

/// What a run gets to see of the target's head: what the go command reads, and nothing that a
/// target says to the holder of its credentials.
Answer answer_from(const Parser& parser, const ProxyRequest& asked, bool keep) {
  const auto& said = parser.get();
  Answer answer(said.result(), 11);
  for (const http::field field :
       {http::field::content_type, http::field::etag, http::field::last_modified,
        http::field::cache_control, http::field::retry_after, http::field::location}) {
    if (const auto found = said.find(field); found != said.end()) answer.set(field, found->value());
  }
  if (parser.content_length()) {
    answer.content_length(*parser.content_length());
  } else if (!asked.head) {
    answer.chunked(true);
  }
  answer.keep_alive(keep);
  return answer;
}

/// The target's answer, passed on in pieces. True: whole, both ways.
template <typename Stream>
asio::awaitable<bool> pass_on(ConnectionPtr connection, Stream& stream, Target target,
                              ProxyRequest asked) {
  const Request request = request_for(target, asked);
  const auto [unsent, sent] = co_await http::async_write(stream, request, kNoThrow);
  boost::beast::flat_buffer buffer;
  Parser parser;
  parser.header_limit(kAnswerHeadBytesMax);
  parser.body_limit(boost::none);  // the ledger counts
  if (asked.head) parser.skip(true);
  boost::system::error_code failure = unsent;
  if (!failure) {
    const auto [unread, bytes] = co_await http::async_read_header(stream, buffer, parser, kNoThrow);
    failure = unread;
  }
  UpstreamGuard& guard = connection->state.guard;
  if (failure) {
    guard.failed(target.at.text(), steady_clock::now());
    connection->state.ledger.note(connection->run, printable("GET " + asked.to.text() + asked.path),
                                  Refused::unreachable);
    co_await answer(connection, Refused::unreachable, target.at.text());
    co_return false;
  }
  guard.answered(target.at.text(), parser.get().result_int(),
                 std::string(parser.get()[http::field::retry_after]), steady_clock::now());
  const bool whole_length = parser.content_length().has_value() || parser.chunked() || asked.head;
  Answer out = answer_from(parser, asked, whole_length);
  http::response_serializer<http::buffer_body> serializer(out);
  out.body().data = nullptr;
  out.body().more = !asked.head;
  const auto [no_head, head_bytes] =
      co_await http::async_write_header(connection->client, serializer, kNoThrow);
  if (no_head || !connection->moved(head_bytes)) co_return false;
  const auto piece = std::make_unique<std::array<char, kFetchPieceBytes>>();
  while (!asked.head && !serializer.is_done()) {
    if (!parser.is_done()) {
      parser.get().body().data = piece->data();
      parser.get().body().size = piece->size();
      const auto [unread, bytes] = co_await http::async_read_some(stream, buffer, parser, kNoThrow);
      const bool good = !unread || unread == http::error::need_buffer;
      if (!good || !connection->moved(bytes)) co_return false;  // cut: the client sees a short body
      out.body().data = piece->data();
      out.body().size = piece->size() - parser.get().body().size;
    } else {
      out.body().size = 0;
    }
    out.body().more = !parser.is_done();
    if (out.body().size == 0) out.body().data = nullptr;
    if (out.body().size == 0 && out.body().more) continue;
    const auto [unwritten, written] =
        co_await http::async_write(connection->client, serializer, kNoThrow);
    if (unwritten && unwritten != http::error::need_buffer) co_return false;
  }
  co_return whole_length&& parser.is_done();
}

asio::awaitable<bool> pass_on_by_tls(ConnectionPtr connection, Target target, ProxyRequest asked) {
  asio::ssl::stream<tcp::socket&> stream(connection->upstream, connection->state.tls);
  stream.set_verify_callback(asio::ssl::host_name_verification(target.at.host));
  SSL_set_tlsext_host_name(stream.native_handle(), target.at.host.c_str());
  const auto [failure] = co_await stream.async_handshake(asio::ssl::stream_base::client, kNoThrow);
  if (failure) {
    connection->state.guard.failed(target.at.text(), steady_clock::now());
    connection->state.ledger.note(
        connection->run, printable("TLS to " + target.at.text() + ": " + failure.message()),
        Refused::unreachable);
    co_await answer(connection, Refused::unreachable, target.at.text());
    co_return false;
  }
  co_return co_await pass_on(connection, stream, std::move(target), std::move(asked));
}

}  // namespace

asio::awaitable<bool> fetch(ConnectionPtr connection, Target target, ProxyRequest request) {
  const bool turn = co_await wait_for_turn(connection, target);
  if (!turn) co_return false;
  auto connected = co_await connect_to(target, connection->state.options.upstream);
  if (const auto* why = std::get_if<Refused>(&connected)) {
    connection->state.guard.failed(target.at.text(), steady_clock::now());
    connection->state.ledger.note(connection->run,
                                  printable("GET " + request.to.text() + request.path), *why);
    co_await answer(connection, *why, target.at.text());
    co_return false;
  }
  if (!connection->client.is_open()) {  // cut meanwhile
    connection->state.guard.answered(target.at.text(), 0, {}, steady_clock::now());
    co_return false;
  }
  connection->upstream = std::get<tcp::socket>(std::move(connected));
  bool more = false;
  if (target.tls) {
    more = co_await pass_on_by_tls(connection, std::move(target), std::move(request));
  } else {
    more =
        co_await pass_on(connection, connection->upstream, std::move(target), std::move(request));
  }
  boost::system::error_code ignored;
  connection->upstream.close(ignored);
  if (!more) connection->client.close(ignored);
  co_return more;
}

}  // namespace cupel::worker::egress
