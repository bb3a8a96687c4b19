#include "common/http/connection.hpp"

#include "common/http/connection_impl.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <utility>
#include <vector>

namespace cupel::http {

using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using ErrorCode = boost::system::error_code;

namespace {

Error error_of(Errc code, std::string what) {
  return {.code = code, .what = std::move(what), .detail = {}, .hint = {}};
}

}  // namespace

void stop_when_idle(Connection& connection) {
  connection.stop_when_idle();
}
void stop_now(Connection& connection) {
  connection.stop_now();
}

void Connection::stop_when_idle() {
  if (state_ == ConnectionState::idle) stop_now();
  if (state_ == ConnectionState::streaming && events_) events_->gone();
}

void Connection::stop_now() {
  if (events_) events_->gone();
  ErrorCode ignored;
  stream_.socket().close(ignored);
}

void start_connection(std::shared_ptr<Server::Shared> shared, tcp::socket socket) {
  auto connection = std::make_shared<Connection>(shared, std::move(socket));
  shared->connections.insert(connection.get());
  asio::co_spawn(shared->loop, Connection::run(connection),
                 [shared, raw = connection.get()](std::exception_ptr error) {
                   shared->finished(raw);
                   if (error) std::rethrow_exception(error);
                 });
}

asio::awaitable<void> Connection::run(std::shared_ptr<Connection> self) {
  bool more = true;
  while (more && !self->shared_->stopping) {
    self->state_ = ConnectionState::idle;
    more = co_await self->wait_for_request();
    if (!more) break;
    self->state_ = ConnectionState::busy;
    more = co_await self->serve_one();
  }
  ErrorCode ignored;
  self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  self->stream_.socket().close(ignored);
}

asio::awaitable<bool> Connection::wait_for_request() {
  if (buffer_.size() > 0) co_return true;
  stream_.expires_after(shared_->options.idle_timeout);
  const auto [ec, bytes] = co_await stream_.async_read_some(buffer_.prepare(4096), kNoThrow);
  if (ec) co_return false;
  buffer_.commit(bytes);
  co_return true;
}

asio::awaitable<bool> Connection::serve_one() {
  Parser parser;
  parser.header_limit(static_cast<std::uint32_t>(shared_->options.header_bytes_max));
  parser.body_limit(boost::none);  // counted by route in read_piece's callers
  stream_.expires_after(shared_->options.header_timeout);
  const auto started = Clock::now();
  const auto [ec, bytes] = co_await bhttp::async_read_header(stream_, buffer_, parser, kNoThrow);
  if (ec) {
    keep_alive_ = false;
    if (ec == bhttp::error::header_limit || ec == bhttp::error::buffer_overflow) {
      co_await write(
          problem_with_status(431, error_of(Errc::too_large, "the request's header is too large")),
          {});
      co_await linger();
    } else if (ec.category() == bhttp::make_error_code(bhttp::error::bad_method).category() &&
               ec != bhttp::error::end_of_stream && ec != bhttp::error::partial_message) {
      co_await write(problem_with_status(400, error_of(Errc::bad_value, "this is no HTTP request")),
                     {});
    }
    co_return false;
  }
  version_ = parser.get().version();
  keep_alive_ = parser.get().keep_alive();
  head_ = parser.get().method() == bhttp::verb::head;
  std::string route_name = "other";
  std::string range;
  Response response = co_await answer(parser, route_name, range);
  const bool body_left = !parser.is_done();
  if (body_left || shared_->stopping) keep_alive_ = false;
  const unsigned status = response.status;
  const bool is_stream = std::holds_alternative<std::shared_ptr<EventStream>>(response.body);
  const bool written = co_await write(std::move(response), std::move(range));
  if (shared_->options.on_request) {
    const double seconds =
        is_stream ? 0 : std::chrono::duration<double>(Clock::now() - started).count();
    shared_->options.on_request(route_name, status, seconds);
  }
  if (written && body_left) co_await linger();
  co_return written&& keep_alive_;
}

std::optional<Response> Connection::refuse(const Router::Match& match, Request& request) {
  if (match.route == nullptr) {
    if (match.allowed.empty()) {
      return problem_with_status(404,
                                 error_of(Errc::not_found, "there is nothing at " + request.path));
    }
    Response response = problem_with_status(
        405, error_of(Errc::usage, request.method + " is not possible at " + request.path));
    response.headers.emplace_back("Allow", match.allowed);
    return response;
  }
  const std::string& scope = match.route->options.scope;
  if (scope.empty()) return std::nullopt;
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view given = request.header("authorization");
  std::optional<Principal> principal;
  if (given.size() > kScheme.size() && given.starts_with(kScheme)) {
    principal = shared_->options.tokens.check(given.substr(kScheme.size()));
  }
  if (!principal)
    return problem(error_of(Errc::unauthenticated, "this needs a valid bearer token"));
  if (!principal->may(scope)) {
    return problem(error_of(Errc::forbidden, "this needs a token with the scope '" + scope + "'"));
  }
  request.principal = std::move(*principal);
  if (shared_->options.refuse) {
    if (auto why = shared_->options.refuse(match.route->pattern)) return problem(*why);
  }
  return std::nullopt;
}

asio::awaitable<Response> Connection::answer(Parser& parser, std::string& route_name,
                                             std::string& range) {
  const auto& header = parser.get();
  Request request;
  request.method = std::string(header.method_string());
  for (const auto& field : header) {
    std::string name(field.name_string());
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    request.headers.emplace(std::move(name), std::string(field.value()));
  }
  range = std::string(request.header("range"));
  ErrorCode ignored;
  const auto peer = stream_.socket().remote_endpoint(ignored);
  request.peer = peer.address().to_string() + ":" + std::to_string(peer.port());
  auto target = parse_target(std::string_view(header.target().data(), header.target().size()));
  if (!target)
    co_return problem_with_status(400,
                                  error_of(Errc::bad_value, "the request's target is malformed"));
  request.path = target->path;
  Router::Match match = shared_->router.find(request.method, *target);
  if (match.route != nullptr) route_name = match.route->pattern;
  if (auto refused = refuse(match, request)) co_return std::move(*refused);
  request.params = std::move(match.params);
  request.query = std::move(target->query);

  const std::uint64_t limit =
      match.route->upload ? match.route->bytes_max : match.route->options.body_bytes_max;
  const auto too_large = [limit] {
    return problem(
        error_of(Errc::too_large, "the body is larger than " + std::to_string(limit) + " bytes"));
  };
  if (parser.content_length() && *parser.content_length() > limit) co_return too_large();
  if (match.route->upload) co_return co_await take_upload(parser, match.route, request);
  if (const ErrorCode ec = co_await continue_if_expected(parser); ec) co_return too_large();
  while (!parser.is_done()) {
    const auto read = co_await read_piece(parser, request.body);
    if (!read) co_return problem_with_status(400, read.error());
    if (request.body.size() > limit) co_return too_large();
  }
  co_return co_await handle(match.route, std::move(request));
}

asio::awaitable<Response> Connection::handle(const Route* route, Request request) {
  std::string failure;
  try {
    co_return co_await route->handler(std::move(request));
  } catch (const std::exception& error) {
    failure = error.what();
  }
  co_return problem(
      {.code = Errc::bug, .what = "the request failed inside", .detail = failure, .hint = {}});
}

asio::awaitable<Response> Connection::take_upload(Parser& parser, const Route* route,
                                                  const Request& request) {
  auto sink = route->upload(request);
  if (!sink) co_return problem(sink.error());
  if (const ErrorCode ec = co_await continue_if_expected(parser); ec) {
    co_return problem(error_of(Errc::io_error, "the connection broke"));
  }
  std::uint64_t total = 0;
  while (!parser.is_done()) {
    std::string piece;
    const auto read = co_await read_piece(parser, piece);
    if (!read) co_return problem_with_status(400, read.error());
    total += piece.size();
    if (total > route->bytes_max) {
      co_return problem(error_of(Errc::too_large, "the body is larger than " +
                                                      std::to_string(route->bytes_max) + " bytes"));
    }
    if (piece.empty()) continue;
    const auto stored = co_await (*sink)->write(std::move(piece));
    if (!stored) co_return problem(stored.error());
  }
  co_return co_await (*sink)->finish();
}

asio::awaitable<ErrorCode> Connection::continue_if_expected(Parser& parser) {
  if (parser.is_done() || !beast::iequals(parser.get()[bhttp::field::expect], "100-continue")) {
    co_return ErrorCode();
  }
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  stream_.expires_after(shared_->options.body_timeout);
  const auto [ec, bytes] = co_await asio::async_write(stream_, asio::buffer(kContinue), kNoThrow);
  co_return ec;
}

asio::awaitable<Result<void>> Connection::read_piece(Parser& parser, std::string& piece) {
  std::vector<char> space(kPieceBytes);
  parser.get().body().data = space.data();
  parser.get().body().size = space.size();
  stream_.expires_after(shared_->options.body_timeout);
  const auto [ec, bytes] = co_await bhttp::async_read_some(stream_, buffer_, parser, kNoThrow);
  if (ec && ec != bhttp::error::need_buffer) {
    co_return Error{.code = Errc::io_error,
                    .what = "the request's body did not arrive",
                    .detail = ec.message(),
                    .hint = {}};
  }
  piece.append(space.data(), space.size() - parser.get().body().size);
  co_return Result<void>();
}

}  // namespace cupel::http
