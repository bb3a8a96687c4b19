#include "common/http/connection_impl.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/write.hpp>

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

using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using ErrorCode = boost::system::error_code;

namespace {

constexpr std::size_t kLingerBytesMax = 1024 * 1024;
constexpr std::chrono::seconds kLingerTime{2};

}  // namespace

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
    Response missing = problem({.code = Errc::not_found,
                                .what = "the stored bytes are not there any more",
                                .detail = {},
                                .hint = {}});
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
