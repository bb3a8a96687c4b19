#include "tests/engine_scenarios/connection.hpp"

#include "common/async/no_throw.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <sys/socket.h>

namespace cupel::scenarios {

namespace {

namespace asio = boost::asio;
constexpr std::size_t kHeadBytesMax = std::size_t{64} * 1024;
constexpr std::size_t kBodyBytesMax = std::size_t{4} << 20U;

std::size_t content_length(std::string head) {
  std::ranges::transform(head, head.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  constexpr std::string_view kName = "\r\ncontent-length:";
  const std::size_t at = head.find(kName);
  if (at == std::string::npos) return 0;
  std::size_t begin = at + kName.size();
  while (begin < head.size() && head[begin] == ' ') ++begin;
  std::size_t length = 0;
  std::from_chars(head.data() + begin, head.data() + head.size(), length);
  return std::min(length, kBodyBytesMax);
}

std::string_view reason_of(unsigned status) {
  switch (status) {
    case 101: return "UPGRADED";
    case 200: return "OK";
    case 201: return "Created";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 409: return "Conflict";
    case 500: return "Internal Server Error";
    default: return "Status";
  }
}

std::string chunk_of(std::string_view bytes) {
  std::array<char, 20> size{};
  const auto end = std::to_chars(size.data(), size.data() + size.size(), bytes.size(), 16);
  return std::string(size.data(), end.ptr) + "\r\n" + std::string(bytes) + "\r\n";
}

bool has_header(const HttpAnswer& answer, std::string_view name) {
  return std::ranges::any_of(answer.headers, [&](const auto& header) {
    return std::ranges::equal(header.first, name, [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) ==
             std::tolower(static_cast<unsigned char>(b));
    });
  });
}

}  // namespace

asio::awaitable<std::optional<RecordedCall>> Connection::read_request() {
  std::string bytes;
  const auto [ec, head_size] = co_await asio::async_read_until(
      socket_, asio::dynamic_buffer(bytes, kHeadBytesMax), "\r\n\r\n", kNoThrow);
  if (ec) {
    end();
    co_return std::nullopt;
  }
  const std::string head = bytes.substr(0, head_size);
  bytes.erase(0, head_size);
  const std::size_t length = content_length(head);
  if (bytes.size() < length) {
    std::string rest(length - bytes.size(), '\0');
    const auto [body_ec, count] = co_await asio::async_read(socket_, asio::buffer(rest), kNoThrow);
    if (body_ec) {
      end();
      co_return std::nullopt;
    }
    bytes += rest;
  }
  const std::size_t space = head.find(' ');
  const std::size_t second = head.find(' ', space + 1);
  if (second == std::string::npos) co_return std::nullopt;
  RecordedCall got = recorded_call(head.substr(0, space),
                                   std::string_view(head).substr(space + 1, second - space - 1));
  got.body = bytes.substr(0, length);
  early_ = bytes.substr(length);
  co_return got;
}

asio::awaitable<void> Connection::watch() {
  const auto self = shared_from_this();
  std::string piece(std::size_t{16} * 1024, '\0');
  while (!over_) {
    const auto [ec, count] = co_await socket_.async_read_some(asio::buffer(piece), kNoThrow);
    if (ec || count == 0) break;
    if (stdin_of_) {
      stdin_of_->take_stdin(std::string_view(piece).substr(0, count));
    } else {
      early_.append(piece, 0, count);
    }
  }
  end();
}

void Connection::stdin_goes_to(ContainerPtr container) {
  stdin_of_ = std::move(container);
  if (!early_.empty()) stdin_of_->take_stdin(std::exchange(early_, {}));
}

void Connection::end() {
  if (std::exchange(over_, true)) return;
  timer_.cancel();
  if (stdin_of_) stdin_of_->take_stdin({});
}

void Connection::close() {
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  socket_.close(ignored);
  end();
}

bool Connection::client_gone() {
  if (over_) return true;
  char byte = 0;
  return ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

asio::awaitable<bool> Connection::pause(Duration time) {
  const auto self = shared_from_this();
  if (over_) co_return false;
  timer_.expires_after(std::chrono::ceil<std::chrono::steady_clock::duration>(time));
  (void)co_await timer_.async_wait(kNoThrow);
  co_return !over_;
}

asio::awaitable<void> Connection::until_over() {
  const auto self = shared_from_this();
  while (!over_) {
    timer_.expires_at(std::chrono::steady_clock::time_point::max());
    (void)co_await timer_.async_wait(kNoThrow);
  }
}

asio::awaitable<bool> Connection::write(std::string bytes) {
  const auto self = shared_from_this();
  const std::size_t step = piece_bytes == 0 ? std::max<std::size_t>(bytes.size(), 1) : piece_bytes;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    if (over_) co_return false;
    const auto [ec, count] = co_await asio::async_write(
        socket_, asio::buffer(bytes.data() + at, std::min(step, bytes.size() - at)), kNoThrow);
    if (ec) {
      end();
      co_return false;
    }
    if (piece_pause > Duration{} && !co_await pause(piece_pause)) co_return false;
  }
  co_return !over_;
}

asio::awaitable<bool> Connection::write_body(std::string bytes) {
  if (bytes.empty()) co_return !over_;  // an empty chunk would be the last one
  co_return co_await write(chunked ? chunk_of(bytes) : std::move(bytes));
}

asio::awaitable<bool> Connection::write_head(HttpAnswer answer) {
  std::string head = "HTTP/" + answer.version + " " + std::to_string(answer.status) + " " +
                     std::string(reason_of(answer.status)) + "\r\n";
  if (!has_header(answer, "content-type") && answer.status != 204 && answer.status != 304 &&
      answer.status != 101) {
    head += "Content-Type: application/json\r\n";
  }
  for (const auto& [name, value] : answer.headers) head += name + ": " + value + "\r\n";
  chunked = answer.framing == Framing::chunked;
  if (chunked) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (answer.framing == Framing::length && answer.status != 101 &&
             (answer.length || (answer.status != 204 && answer.status != 304))) {
    head +=
        "Content-Length: " + std::to_string(answer.length.value_or(answer.body.size())) + "\r\n";
  }
  co_return co_await write(head + "\r\n");
}

asio::awaitable<bool> Connection::write_answer(HttpAnswer answer) {
  std::string body = answer.body;
  const bool in_chunks = answer.framing == Framing::chunked;
  const bool headless = call.method == "HEAD";
  if (!co_await write_head(std::move(answer))) co_return false;
  if (headless) co_return true;
  if (!co_await write_body(std::move(body))) co_return false;
  if (in_chunks) co_return co_await write("0\r\n\r\n");
  co_return true;
}

}  // namespace cupel::scenarios
