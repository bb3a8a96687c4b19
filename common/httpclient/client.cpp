#include "common/httpclient/client.hpp"

#include "common/core/version.hpp"
#include "common/httpclient/either_stream.hpp"
#include "common/httpclient/problem.hpp"
#include "common/httpclient/url.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

namespace cupel::httpclient {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kPieceBytes = 64 * 1024;

}  // namespace

/// One connection on an io_context of its own. Every operation runs the loop until it is done, so
/// the caller sees blocking calls, and a time limit or the interrupt can end each of them.
struct Client::Connection {
  explicit Connection(const Options& with)
      : options(with), stream(io), interrupt(io), resolver(io) {
    if (options.interrupt_fd < 0) return;
    interrupt.assign(options.interrupt_fd);
    interrupt.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code ec) {
      if (ec) return;
      interrupted = true;
      stream.tcp().cancel();
      resolver.cancel();
      if (timer) timer->cancel();
    });
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    if (interrupt.is_open()) interrupt.release();  // the descriptor is the caller's
  }

  /// Runs `start(handler)` to its end.
  template <typename Start>
  error_code perform(Start start) {
    error_code result = asio::error::operation_aborted;
    bool done = false;
    start([&result, &done](error_code ec, auto&&...) {
      result = ec;
      done = true;
    });
    io.restart();
    while (!done && io.run_one() > 0) {
    }
    return result;
  }

  [[nodiscard]] Error failure(const error_code& ec, const std::string& step) const {
    if (interrupted) return {Errc::cancelled, "interrupted", "", ""};
    if (ec == http::error::body_limit) {
      return {Errc::too_large,
              "the coordinator's answer is larger than " + std::to_string(options.body_bytes_max) +
                  " bytes",
              "", ""};
    }
    const std::string why = ec == beast::error::timeout ? "no answer in time" : ec.message();
    return {Errc::coordinator_unreachable, step + " " + options.base_url + ": " + why, "", ""};
  }

  Result<void> open() {
    if (interrupted) return failure({}, "");
    const auto parsed = parse_url(options.base_url);
    if (!parsed) return parsed.error();
    url = *parsed;
    tcp::resolver::results_type addresses;
    // Name resolution has no time limit of its own; a timer stands beside it.
    asio::steady_timer limit(
        io, std::chrono::duration_cast<asio::steady_timer::duration>(options.connect));
    limit.async_wait([this](error_code ec) {
      if (!ec) resolver.cancel();
    });
    error_code ec = perform([&](auto handler) {
      resolver.async_resolve(
          url.host, url.port,
          [&addresses, handler](error_code failed, tcp::resolver::results_type found) mutable {
            addresses = std::move(found);
            handler(failed);
          });
    });
    limit.cancel();
    if (ec) return failure(ec, "can't resolve the host of");
    stream.tcp().expires_after(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(options.connect));
    ec = perform([&](auto handler) { stream.tcp().async_connect(addresses, handler); });
    if (ec) return failure(ec, "can't connect to");
    return url.tls ? shake_hands() : Result<void>(boost::system::in_place_value);
  }

  Result<void> shake_hands() {
    error_code ec = stream.secure(options.ca_file, url.host);
    if (ec) {
      return Error{Errc::key_unreadable,
                   "can't use the CA certificates of " +
                       (options.ca_file.empty() ? "this system" : options.ca_file) + ": " +
                       ec.message(),
                   "", "--ca-file names a file with certificates in PEM form"};
    }
    ec = perform([&](auto handler) { stream.async_handshake(handler); });
    if (!ec) return boost::system::in_place_value;
    if (ec.category() != asio::error::get_ssl_category())
      return failure(ec, "no TLS connection to");
    return Error{Errc::not_trusted,
                 "can't trust the server at " + options.base_url + ": " + ec.message(), "",
                 "--ca-file names the file with the certificate of its authority; the name in the "
                 "address must be the certificate's"};
  }

  void await_traffic() {
    stream.tcp().expires_after(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(options.idle));
  }

  template <typename Body>
  http::request<Body> request(http::verb verb, const std::string& target,
                              const Headers& headers) const {
    http::request<Body> out{verb, url.prefix + target, 11};
    out.set(http::field::host, url.authority);
    out.set(http::field::user_agent, "cupel/" + std::string(kVersion));
    out.set(http::field::connection, "close");
    if (!options.token.empty()) out.set(http::field::authorization, "Bearer " + options.token);
    for (const auto& [name, value] : headers) out.set(name, value);
    return out;
  }

  Result<void> read_header(http::response_parser<http::buffer_body>& parser) {
    parser.header_limit(64 * 1024);
    parser.body_limit(boost::none);
    await_traffic();
    const error_code ec =
        perform([&](auto handler) { http::async_read_header(stream, buffer, parser, handler); });
    if (ec) return failure(ec, "no answer from");
    return boost::system::in_place_value;
  }

  /// The body piece by piece; false in `sink` ends it.
  Result<void> read_body(http::response_parser<http::buffer_body>& parser, const BodySink& sink) {
    std::vector<char> piece(kPieceBytes);
    while (!parser.is_done()) {
      parser.get().body().data = piece.data();
      parser.get().body().size = piece.size();
      await_traffic();
      error_code ec =
          perform([&](auto handler) { http::async_read_some(stream, buffer, parser, handler); });
      if (ec == http::error::need_buffer) ec = {};
      const std::size_t got = piece.size() - parser.get().body().size;
      if (got > 0 && !sink(std::string_view(piece.data(), got)))
        return boost::system::in_place_value;
      if (ec) return failure(ec, "lost");
    }
    return boost::system::in_place_value;
  }

  Result<Response> read_answer() {
    http::response_parser<http::buffer_body> parser;
    if (const auto header = read_header(parser); !header) return header.error();
    Response response;
    response.status = static_cast<int>(parser.get().result_int());
    response.content_type = std::string(parser.get()[http::field::content_type]);
    response.content_range = std::string(parser.get()[http::field::content_range]);
    bool over = false;
    const auto body = read_body(parser, [&](std::string_view bytes) {
      over = response.body.size() + bytes.size() > options.body_bytes_max;
      if (!over) response.body.append(bytes);
      return !over;
    });
    if (over) return failure(http::error::body_limit, "");
    if (!body) return body.error();
    if (response.status < 200 || response.status > 299)
      return error_of_answer(response.status, response.body);
    return response;
  }

  const Options& options;
  asio::io_context io{1};
  EitherStream stream;
  asio::posix::stream_descriptor interrupt;
  tcp::resolver resolver;
  std::optional<asio::steady_timer> timer;
  beast::flat_buffer buffer;
  Url url;
  bool interrupted = false;
};

Client::Client(Options options) : options_(std::move(options)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<Response> Client::send(const std::string& method, const std::string& target,
                              const std::string& body, const std::string& content_type,
                              const Headers& headers) {
  Connection connection(options_);
  if (const auto opened = connection.open(); !opened) return opened.error();
  auto request =
      connection.request<http::string_body>(http::string_to_verb(method), target, headers);
  if (!body.empty() || method == "POST") {
    request.set(http::field::content_type, content_type);
    request.body() = body;
    request.prepare_payload();
  }
  connection.await_traffic();
  const error_code ec = connection.perform(
      [&](auto handler) { http::async_write(connection.stream, request, handler); });
  // A server that refuses early may close before it has read all: its answer still says why.
  auto answer = connection.read_answer();
  if (ec && !answer && answer.error().code == Errc::coordinator_unreachable)
    return connection.failure(ec, "can't send to");
  return answer;
}

namespace {

Result<nlohmann::json> as_json(Result<Response> response) {
  if (!response) return response.error();
  auto json = nlohmann::json::parse(response->body, nullptr, false);
  if (json.is_discarded()) {
    return Error{Errc::protocol_mismatch, "the answer is not JSON: is this a coordinator?",
                 capped_detail(response->body), ""};
  }
  // Spelled out, because the library's type converts to anything.
  return Result<nlohmann::json>(boost::system::in_place_value, std::move(json));
}

}  // namespace

Result<nlohmann::json> Client::get(const std::string& target) {
  return as_json(send("GET", target));
}

Result<nlohmann::json> Client::post(const std::string& target, const std::string& body,
                                    const std::string& content_type, const Headers& headers) {
  return as_json(send("POST", target, body, content_type, headers));
}

Result<nlohmann::json> Client::upload(const std::string& target, const std::filesystem::path& file,
                                      const Headers& headers) {
  Connection connection(options_);
  if (const auto opened = connection.open(); !opened) return opened.error();
  auto request = connection.request<http::file_body>(http::verb::post, target, headers);
  request.set(http::field::content_type, "application/octet-stream");
  error_code ec;
  request.body().open(file.c_str(), beast::file_mode::scan, ec);
  if (ec) return Error{Errc::io_error, "can't read " + file.string() + ": " + ec.message(), "", ""};
  request.prepare_payload();
  http::request_serializer<http::file_body> serializer(request);
  while (!serializer.is_done() && !ec) {
    connection.await_traffic();
    ec = connection.perform(
        [&](auto handler) { http::async_write_some(connection.stream, serializer, handler); });
  }
  auto answer = connection.read_answer();
  if (ec && !answer && answer.error().code == Errc::coordinator_unreachable)
    return connection.failure(ec, "can't send to");
  return as_json(std::move(answer));
}

Result<void> Client::download(const std::string& target, std::uint64_t from, const BodySink& sink,
                              const HeaderSink& head) {
  Connection connection(options_);
  if (const auto opened = connection.open(); !opened) return opened.error();
  Headers headers;
  if (from > 0) headers.emplace_back("Range", "bytes=" + std::to_string(from) + "-");
  auto request = connection.request<http::empty_body>(http::verb::get, target, headers);
  connection.await_traffic();
  const error_code ec = connection.perform(
      [&](auto handler) { http::async_write(connection.stream, request, handler); });
  if (ec) return connection.failure(ec, "can't send to");
  http::response_parser<http::buffer_body> parser;
  if (const auto header = connection.read_header(parser); !header) return header.error();
  const int status = static_cast<int>(parser.get().result_int());
  if (head && status < 300) {
    Headers answered;
    for (const auto& field : parser.get())
      answered.emplace_back(std::string(field.name_string()), std::string(field.value()));
    if (!head(answered)) return boost::system::in_place_value;
  }
  if (status == 416) return boost::system::in_place_value;
  if (status >= 200 && status <= 299) {
    // A server that ignores Range sends everything: what was asked to be left out is left out here.
    std::uint64_t skip = status == 206 ? 0 : from;
    return connection.read_body(parser, [&skip, &sink](std::string_view bytes) {
      const std::size_t cut = std::min<std::size_t>(bytes.size(), skip);
      skip -= cut;
      bytes.remove_prefix(cut);
      return bytes.empty() || sink(bytes);
    });
  }
  std::string body;
  (void)connection.read_body(parser, [&body](std::string_view bytes) {
    body.append(bytes);
    return body.size() < kPieceBytes;
  });
  return error_of_answer(status, body);
}

Result<void> Client::events(const std::string& target, const std::string& last_id,
                            const EventHandler& handler) {
  using Clock = std::chrono::steady_clock;
  SseParser parser(last_id);
  auto last_contact = Clock::now();
  auto delay = std::chrono::milliseconds(200);
  while (true) {
    Connection connection(options_);
    auto result = connection.open();
    bool stopped = false;
    if (result) {
      Headers headers = {{"Accept", "text/event-stream"}};
      if (!parser.last_id().empty()) headers.emplace_back("Last-Event-ID", parser.last_id());
      auto request = connection.request<http::empty_body>(http::verb::get, target, headers);
      connection.await_traffic();
      const error_code ec = connection.perform(
          [&](auto done) { http::async_write(connection.stream, request, done); });
      http::response_parser<http::buffer_body> response;
      result = ec ? Result<void>(connection.failure(ec, "can't send to"))
                  : connection.read_header(response);
      const int status = result ? static_cast<int>(response.get().result_int()) : 0;
      if (result && status != 200 && status != 503) {
        std::string body;
        (void)connection.read_body(response, [&body](std::string_view bytes) {
          body.append(bytes);
          return body.size() < kPieceBytes;
        });
        return error_of_answer(status, body);
      }
      if (result && status == 200) {
        parser.reset();
        result = connection.read_body(response, [&](std::string_view bytes) {
          last_contact = Clock::now();
          delay = std::chrono::milliseconds(200);
          for (const Event& event : parser.feed(bytes)) {
            if (handler(event)) continue;
            stopped = true;
            return false;
          }
          return !parser.overflowed();
        });
      }
    }
    if (stopped) return boost::system::in_place_value;
    if (parser.overflowed()) return Error{Errc::too_large, "an event is larger than 4 MiB", "", ""};
    if (connection.interrupted) return Error{Errc::cancelled, "interrupted", "", ""};
    if (!result && result.error().code != Errc::coordinator_unreachable) return result.error();
    if (Clock::now() - last_contact > options_.reconnect) {
      return result ? Error{Errc::coordinator_unreachable, "the stream of events ended too early",
                            "", ""}
                    : result.error();
    }
    if (pause(delay)) return Error{Errc::cancelled, "interrupted", "", ""};
    delay = std::min(delay * 2, std::chrono::milliseconds(5000));
  }
}

bool Client::pause(Duration duration) {
  Connection connection(options_);
  connection.timer.emplace(connection.io);
  connection.timer->expires_after(
      std::chrono::duration_cast<asio::steady_timer::duration>(duration));
  (void)connection.perform([&](auto handler) { connection.timer->async_wait(handler); });
  return connection.interrupted;
}

}  // namespace cupel::httpclient
