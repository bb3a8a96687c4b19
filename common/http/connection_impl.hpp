/// The connection itself, for connection.cpp (requests) and connection_write.cpp (answers) only:
/// the one header of ours that shows the library behind the server.
#pragma once

#include "common/async/no_throw.hpp"
#include "common/http/connection.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cupel::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;

inline constexpr std::size_t kPieceBytes = 64 * 1024;

enum class ConnectionState : std::uint8_t { idle, busy, streaming };

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Server::Shared> shared, asio::ip::tcp::socket socket)
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
  asio::awaitable<boost::system::error_code> continue_if_expected(Parser& parser);
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

}  // namespace cupel::http
