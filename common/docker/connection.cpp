#include "common/docker/connection.hpp"

#include "common/async/no_throw.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

namespace cupel::docker::detail {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

using Stream = beast::basic_stream<asio::local::stream_protocol>;
using Parser = http::response_parser<http::buffer_body>;
using Clock = std::chrono::steady_clock;
constexpr std::uint32_t kHeadBytesMax = 64 * 1024;
constexpr std::size_t kPieceBytes = 32 * 1024;
constexpr int kInterimAnswersMax = 8;

/// A full accept queue of the engine: Asio reports a connected socket, and the first write fails.
bool engine_is_busy(const error_code& ec) {
  return ec == asio::error::not_connected || ec == asio::error::try_again;
}

std::string seconds_text(Duration time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g s", std::chrono::duration<double>(time).count());
  return text.data();
}

http::request<http::string_body> head_of(const Request& request) {
  http::request<http::string_body> message;
  message.method_string(request.method);
  message.target(request.target);
  message.version(11);
  message.set(http::field::host, "engine");
  message.set(http::field::user_agent, "cupel");
  if (request.upgrade) {
    message.set(http::field::connection, "Upgrade");
    message.set(http::field::upgrade, "tcp");
  } else {
    message.keep_alive(false);
  }
  return message;
}

/// State of one exchange; lives in the frame of the coroutine that drives it.
struct Session {
  Request request;
  Stream stream;
  beast::flat_buffer buffer;
  std::optional<Parser> parser;  ///< Of one answer; an interim one gives way to the next.
  Answer answer;
  Clock::time_point deadline;
  bool unanswered = false;  ///< The engine closed the connection before any byte of an answer.

  Session(asio::any_io_executor executor, Request wanted, Clock::time_point until)
      : request(std::move(wanted)), stream(std::move(executor)), deadline(until) {
    expect_answer();
  }

  void expect_answer() {
    parser.emplace();
    parser->header_limit(kHeadBytesMax);
    parser->skip(request.method == "HEAD");
    parser->body_limit(boost::none);  // bounded here, so that an error answer keeps its beginning
  }

  [[nodiscard]] Error error(const error_code& ec) const {
    return transport_error(ec, request.what, request.budget);
  }
};

asio::awaitable<error_code> write_plain(Session& session) {
  http::request<http::string_body> message = head_of(session.request);
  if (!session.request.body.empty()) {
    message.set(http::field::content_type, session.request.content_type);
  }
  message.body() = session.request.body;
  message.prepare_payload();
  const auto [ec, count] = co_await http::async_write(session.stream, message, kNoThrow);
  co_return ec;
}

/// The request's body in chunks. An engine that answers early stops reading: no error here, its
/// answer tells.
asio::awaitable<Result<error_code>> write_chunks(Session& session) {
  http::request<http::empty_body> message{head_of(session.request).base()};
  message.set(http::field::content_type, session.request.content_type);
  message.chunked(true);
  http::request_serializer<http::empty_body> serializer(message);
  const auto [head_ec, head_count] =
      co_await http::async_write_header(session.stream, serializer, kNoThrow);
  if (head_ec) co_return head_ec;
  while (true) {
    Result<std::string> piece = co_await session.request.source();
    if (!piece) co_return piece.error();
    if (piece->empty()) break;
    const auto [ec, count] = co_await asio::async_write(
        session.stream, http::make_chunk(asio::buffer(*piece)), kNoThrow);
    if (ec == asio::error::broken_pipe || ec == asio::error::connection_reset)
      co_return error_code();
    if (ec) co_return ec;
  }
  const auto [ec, count] =
      co_await asio::async_write(session.stream, http::make_chunk_last(), kNoThrow);
  if (ec == asio::error::broken_pipe) co_return error_code();
  co_return ec;
}

/// The engine closed a connection that it had just taken, as one does that goes down.
bool closed_unanswered(const Session& session, const error_code& ec) {
  return session.buffer.size() == 0 && !session.parser->got_some() &&
         (ec == http::error::end_of_stream || ec == asio::error::connection_reset ||
          ec == asio::error::broken_pipe);
}

/// Connects and writes; tries again while the engine's accept queue is full, inside the budget.
asio::awaitable<Result<void>> connect_and_send(Session& session, std::string socket_path) {
  if (socket_path.size() >= 108) {
    co_return Error{.code = Errc::bad_config,
                    .what = "the path of the engine's socket is longer than 107 bytes",
                    .detail = socket_path,
                    .hint = {}};
  }
  const asio::local::stream_protocol::endpoint endpoint(socket_path);
  Duration pause = std::chrono::milliseconds(5);
  while (true) {
    session.stream.expires_at(session.deadline);
    const auto [connect_ec] = co_await session.stream.async_connect(endpoint, kNoThrow);
    error_code ec = connect_ec;
    if (!ec && session.request.source) {
      const Result<error_code> written = co_await write_chunks(session);
      if (!written) co_return written.error();
      ec = *written;
    } else if (!ec) {
      ec = co_await write_plain(session);
    }
    if (!ec) co_return Result<void>();
    if (!engine_is_busy(ec) || Clock::now() + pause >= session.deadline) {
      session.unanswered = !connect_ec && closed_unanswered(session, ec);
      co_return session.error(engine_is_busy(ec) ? beast::error::timeout : ec);
    }
    session.stream.close();
    asio::steady_timer timer(co_await asio::this_coro::executor, pause);
    const auto [timer_ec] = co_await timer.async_wait(kNoThrow);
    if (timer_ec) co_return session.error(timer_ec);
    pause = std::min<Duration>(pause * 2, std::chrono::milliseconds(200));
  }
}

asio::awaitable<Result<void>> read_head(Session& session) {
  for (int interim = 0; interim <= kInterimAnswersMax; ++interim) {
    const auto [ec, count] =
        co_await http::async_read_header(session.stream, session.buffer, *session.parser, kNoThrow);
    if (ec) {
      session.unanswered = closed_unanswered(session, ec);
      co_return session.error(ec);
    }
    session.answer.status = session.parser->get().result_int();
    // 1xx says that the answer is still to come; 101 is the answer to an upgrade.
    const unsigned status = session.answer.status;
    if (status >= 200 || (status == 101 && session.request.upgrade)) co_return Result<void>();
    session.expect_answer();
  }
  co_return Error{.code = Errc::engine_protocol,
                  .what = session.request.what + ": the engine's answer never comes",
                  .detail = {},
                  .hint = {}};
}

/// False when no more of the body is wanted.
Result<bool> take_piece(Session& session, std::string_view piece) {
  const bool success = session.answer.status >= 200 && session.answer.status < 300;
  if (session.request.sink && success) return session.request.sink(piece);
  if (session.answer.body.size() + piece.size() > session.request.body_bytes_max) {
    if (!success) return false;  // the beginning of the engine's words is enough
    return Error{.code = Errc::engine_protocol,
                 .what = session.request.what + ": the engine's answer is longer than " +
                         std::to_string(session.request.body_bytes_max) + " bytes",
                 .detail = {},
                 .hint = {}};
  }
  session.answer.body.append(piece);
  return true;
}

asio::awaitable<Result<void>> read_body(Session& session) {
  std::string piece(kPieceBytes, '\0');
  while (!session.parser->is_done()) {
    session.parser->get().body().data = piece.data();
    session.parser->get().body().size = piece.size();
    session.parser->get().body().more = true;
    const auto [ec, count] =
        co_await http::async_read(session.stream, session.buffer, *session.parser, kNoThrow);
    const std::size_t got = piece.size() - session.parser->get().body().size;
    if (got > 0) {
      const Result<bool> more = take_piece(session, std::string_view(piece).substr(0, got));
      if (!more) co_return more.error();
      if (!*more) {
        session.answer.stopped = true;
        break;
      }
    }
    if (ec == http::error::need_buffer) continue;
    if (ec) co_return session.error(ec);
  }
  co_return Result<void>();
}

}  // namespace

Error transport_error(const error_code& ec, const std::string& what, Duration budget) {
  if (ec == beast::error::timeout) {
    return {.code = Errc::engine_timeout,
            .what = what + ": the engine did not answer within " + seconds_text(budget),
            .detail = {},
            .hint = {}};
  }
  if (ec == asio::error::operation_aborted) {
    return {.code = Errc::cancelled, .what = what + ": cancelled", .detail = {}, .hint = {}};
  }
  if (ec.category() == http::make_error_code(http::error::end_of_stream).category()) {
    // A connection that ends before its answer is whole is an engine that went away, not a wrong
    // answer.
    const bool gone = ec == http::error::end_of_stream || ec == http::error::partial_message;
    return {.code = gone ? Errc::engine_unreachable : Errc::engine_protocol,
            .what = what + ": " + (gone ? "the engine closed the connection" : "broken answer"),
            .detail = ec.message(),
            .hint = {}};
  }
  return {.code = Errc::engine_unreachable,
          .what = what + ": no answer from the engine",
          .detail = ec.message(),
          .hint = {}};
}

namespace {

Clock::time_point deadline_of(const Request& request) {
  return Clock::now() + std::chrono::ceil<Clock::duration>(request.budget);
}

asio::awaitable<Result<Answer>> exchange_once(std::string socket_path, Request request,
                                              Clock::time_point deadline,
                                              std::shared_ptr<bool> unanswered) {
  Session session(co_await asio::this_coro::executor, std::move(request), deadline);
  const Result<void> sent = co_await connect_and_send(session, socket_path);
  *unanswered = session.unanswered;
  if (!sent) {
    Error error = sent.error();
    if (error.code == Errc::engine_unreachable) error.detail = socket_path + ": " + error.detail;
    co_return error;
  }
  const Result<void> head = co_await read_head(session);
  *unanswered = session.unanswered;
  if (!head) co_return head.error();
  if (session.request.body_budget) {
    session.request.budget = *session.request.body_budget;
    session.stream.expires_after(std::chrono::ceil<Clock::duration>(*session.request.body_budget));
  }
  const Result<void> body = co_await read_body(session);
  if (!body) co_return body.error();
  co_return std::move(session.answer);
}

}  // namespace

asio::awaitable<Result<Answer>> exchange(std::string socket_path, Request request) {
  const Clock::time_point deadline = deadline_of(request);
  const auto unanswered = std::make_shared<bool>(false);
  if (request.repeatable) {
    Result<Answer> first = co_await exchange_once(socket_path, request, deadline, unanswered);
    if (first || !*unanswered || Clock::now() >= deadline) co_return first;
  }
  co_return co_await exchange_once(std::move(socket_path), std::move(request), deadline,
                                   unanswered);
}

asio::awaitable<Result<Upgraded>> upgrade(std::string socket_path, Request request) {
  const Clock::time_point deadline = deadline_of(request);
  Session session(co_await asio::this_coro::executor, std::move(request), deadline);
  const Result<void> sent = co_await connect_and_send(session, std::move(socket_path));
  if (!sent) co_return sent.error();
  const Result<void> head = co_await read_head(session);
  if (!head) co_return head.error();
  const unsigned status = session.answer.status;
  if (status != 101 && status != 200) {
    const Result<void> body = co_await read_body(session);
    if (!body) co_return body.error();
  }
  const auto early = session.buffer.data();
  std::string early_bytes(static_cast<const char*>(early.data()), early.size());
  session.stream.expires_never();
  co_return Upgraded{.answer = std::move(session.answer),
                     .socket = session.stream.release_socket(),
                     .early_bytes = std::move(early_bytes)};
}

}  // namespace cupel::docker::detail
