#include "common/http/connection.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cupel::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using ErrorCode = boost::system::error_code;

constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr std::size_t kLingerBytesMax = 1024 * 1024;
constexpr std::chrono::seconds kLingerTime{2};

Error error_of(Errc code, std::string what) {
  return {.code = code, .what = std::move(what), .detail = {}, .hint = {}};
}

}  // namespace

enum class ConnectionState : std::uint8_t { idle, busy, streaming };

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Server::Shared> shared, tcp::socket socket)
      : shared_(std::move(shared)), stream_(std::move(socket)) {}

  static asio::awaitable<void> run(std::shared_ptr<Connection> self);
  void stop_when_idle();
  void stop_now();
  [[nodiscard]] Server::Shared& shared() { return *shared_; }

 private:
  using Parser = bhttp::request_parser<bhttp::buffer_body>;

  asio::awaitable<bool> wait_for_request();
  asio::awaitable<bool> serve_one();
  asio::awaitable<Response> answer(Parser& parser, std::string& route_name, std::string& range);
  asio::awaitable<Response> handle(const Route* route, Request request);
  asio::awaitable<Response> take_upload(Parser& parser, const Route* route, const Request& request);
  /// Appends the next piece of the body to `piece`; an empty success means the end.
  asio::awaitable<Result<void>> read_piece(Parser& parser, std::string& piece);
  asio::awaitable<ErrorCode> continue_if_expected(Parser& parser);
  std::optional<Response> refuse(const Router::Match& match, Request& request);

  asio::awaitable<bool> write(Response response, std::string range);
  asio::awaitable<bool> write_bytes(Response& response, std::string_view bytes);
  asio::awaitable<bool> write_file(Response& response, const FileBody& file, std::string range);
  asio::awaitable<void> write_events(Response& response, std::shared_ptr<EventStream> events);
  static asio::awaitable<void> watch_for_end(std::shared_ptr<Connection> self,
                                             std::shared_ptr<EventStream> events);
  asio::awaitable<void> linger();
  template <typename Header>
  void fill_header(Header& header, const Response& response) const;

  std::shared_ptr<Server::Shared> shared_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kPieceBytes * 2};
  ConnectionState state_ = ConnectionState::idle;
  std::shared_ptr<EventStream> events_;
  unsigned version_ = 11;
  bool keep_alive_ = true;
  bool head_ = false;
};

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

template <typename Header>
void Connection::fill_header(Header& header, const Response& response) const {
  header.version(version_);
  header.result(response.status);
  header.keep_alive(keep_alive_);
  header.set(bhttp::field::content_type, response.content_type);
  header.set(bhttp::field::cache_control, "no-store");
  header.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) header.set(name, value);
}

asio::awaitable<bool> Connection::write(Response response, std::string range) {
  if (auto* events = std::get_if<std::shared_ptr<EventStream>>(&response.body)) {
    co_await write_events(response, *events);
    co_return false;
  }
  if (const auto* file = std::get_if<FileBody>(&response.body)) {
    co_return co_await write_file(response, *file, std::move(range));
  }
  if (const auto* ranged = std::get_if<RangedBody>(&response.body)) {
    response.headers.emplace_back("Accept-Ranges", "bytes");
    const std::string_view all = ranged->bytes;
    const RangeAnswer part = parse_range(range, all.size());
    if (response.status == 200 && part.kind == RangeAnswer::Kind::part) {
      response.status = 206;
      response.headers.emplace_back(
          "Content-Range", "bytes " + std::to_string(part.range.first) + "-" +
                               std::to_string(part.range.first + part.range.length - 1) + "/" +
                               std::to_string(all.size()));
      co_return co_await write_bytes(response, all.substr(part.range.first, part.range.length));
    }
    if (response.status == 200 && part.kind == RangeAnswer::Kind::unsatisfiable) {
      response.status = 416;
      response.headers.emplace_back("Content-Range", "bytes */" + std::to_string(all.size()));
      co_return co_await write_bytes(response, {});
    }
    co_return co_await write_bytes(response, all);
  }
  co_return co_await write_bytes(response, std::get<std::string>(response.body));
}

asio::awaitable<bool> Connection::write_bytes(Response& response, std::string_view bytes) {
  bhttp::response<bhttp::span_body<const char>> message;
  fill_header(message, response);
  message.body() = beast::span<const char>(bytes.data(), head_ ? 0 : bytes.size());
  message.content_length(bytes.size());
  stream_.expires_after(shared_->options.body_timeout);
  const auto [ec, written] = co_await bhttp::async_write(stream_, message, kNoThrow);
  co_return !ec;
}

namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] std::optional<std::uint64_t> size() const {
    struct stat info{};
    if (fd_ < 0 || ::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
    return static_cast<std::uint64_t>(info.st_size);
  }
  [[nodiscard]] std::size_t read(char* into, std::size_t bytes, std::uint64_t offset) const {
    const ssize_t n = ::pread(fd_, into, bytes, static_cast<off_t>(offset));
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }

 private:
  int fd_;
};

}  // namespace

asio::awaitable<bool> Connection::write_file(Response& response, const FileBody& body,
                                             std::string range) {
  const OpenFile file(body.file);
  const auto size = file.size();
  if (!size) {
    Response missing =
        problem(error_of(Errc::not_found, "the stored bytes are not there any more"));
    co_return co_await write_bytes(missing, std::get<std::string>(missing.body));
  }
  response.headers.emplace_back("Accept-Ranges", "bytes");
  const RangeAnswer part = parse_range(range, *size);
  if (part.kind == RangeAnswer::Kind::unsatisfiable) {
    response.status = 416;
    response.headers.emplace_back("Content-Range", "bytes */" + std::to_string(*size));
    co_return co_await write_bytes(response, {});
  }
  ByteRange wanted{0, *size};
  if (part.kind == RangeAnswer::Kind::part) {
    wanted = part.range;
    response.status = 206;
    response.headers.emplace_back("Content-Range",
                                  "bytes " + std::to_string(wanted.first) + "-" +
                                      std::to_string(wanted.first + wanted.length - 1) + "/" +
                                      std::to_string(*size));
  }
  bhttp::response<bhttp::empty_body> message;
  fill_header(message, response);
  message.content_length(wanted.length);
  bhttp::response_serializer<bhttp::empty_body> serializer(message);
  stream_.expires_after(shared_->options.body_timeout);
  const auto [header_ec, header_bytes] =
      co_await bhttp::async_write_header(stream_, serializer, kNoThrow);
  if (header_ec) co_return false;
  if (head_) co_return true;
  std::vector<char> piece(kPieceBytes);
  while (wanted.length > 0) {
    const std::size_t want =
        static_cast<std::size_t>(std::min<std::uint64_t>(wanted.length, piece.size()));
    const std::size_t have = file.read(piece.data(), want, wanted.first);
    if (have == 0)
      co_return false;  // shorter than promised: cut the connection, the client notices
    stream_.expires_after(shared_->options.body_timeout);
    const auto [ec, written] =
        co_await asio::async_write(stream_, asio::buffer(piece.data(), have), kNoThrow);
    if (ec) co_return false;
    wanted.first += have;
    wanted.length -= have;
  }
  co_return true;
}

asio::awaitable<void> Connection::watch_for_end(std::shared_ptr<Connection> self,
                                                std::shared_ptr<EventStream> events) {
  std::array<char, 512> ignored{};
  for (;;) {
    // Past the stream's own timer, which belongs to the writer.
    const auto [ec, bytes] =
        co_await self->stream_.socket().async_read_some(asio::buffer(ignored), kNoThrow);
    if (ec) break;
  }
  events->gone();
}

asio::awaitable<void> Connection::write_events(Response& response,
                                               std::shared_ptr<EventStream> events) {
  keep_alive_ = false;
  bhttp::response<bhttp::empty_body> message;
  response.content_type = "text/event-stream";
  fill_header(message, response);
  message.set("X-Accel-Buffering", "no");
  message.chunked(true);
  bhttp::response_serializer<bhttp::empty_body> serializer(message);
  const ServerOptions& options = shared_->options;
  stream_.expires_after(options.body_timeout);
  const auto [header_ec, header_bytes] =
      co_await bhttp::async_write_header(stream_, serializer, kNoThrow);
  if (header_ec || shared_->stopping) {
    events->gone();
    co_return;
  }
  events_ = events;
  state_ = ConnectionState::streaming;
  if (options.on_sse_clients) options.on_sse_clients(1);
  asio::co_spawn(stream_.get_executor(), watch_for_end(shared_from_this(), events),
                 [](std::exception_ptr error) {
                   if (error) std::rethrow_exception(error);
                 });
  bool end = false;
  while (!end) {
    std::string text =
        co_await events->take(kPieceBytes, Clock::now() + options.keep_alive_comment);
    end = text.empty() && events->closed();
    if (text.empty() && !end) text = ": keep-alive\n\n";
    stream_.expires_after(options.body_timeout);
    ErrorCode ec;
    if (end) {
      const auto [last_ec, last_bytes] =
          co_await asio::async_write(stream_, bhttp::make_chunk_last(), kNoThrow);
      ec = last_ec;
    } else {
      const auto [chunk_ec, chunk_bytes] =
          co_await asio::async_write(stream_, bhttp::make_chunk(asio::buffer(text)), kNoThrow);
      ec = chunk_ec;
    }
    if (ec == beast::error::timeout && options.on_sse_dropped) options.on_sse_dropped();
    end = end || ec;
  }
  events->gone();
  events_.reset();
  state_ = ConnectionState::busy;
  if (options.on_sse_clients) options.on_sse_clients(-1);
}

// Closing with unread bytes makes the kernel reset the connection, and the client might never see
// the answer.
asio::awaitable<void> Connection::linger() {
  ErrorCode ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  stream_.expires_after(kLingerTime);
  std::vector<char> piece(kPieceBytes);
  std::size_t total = 0;
  while (total < kLingerBytesMax) {
    const auto [ec, bytes] = co_await stream_.async_read_some(asio::buffer(piece), kNoThrow);
    if (ec) co_return;
    total += bytes;
  }
}

}  // namespace cupel::http
