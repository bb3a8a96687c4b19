/// A connection in the clear or under TLS, as one asynchronous stream. For client.cpp only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <optional>
#include <string>
#include <utility>

namespace cupel::httpclient {

class EitherStream {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;

  explicit EitherStream(boost::asio::io_context& io) : tcp_(io) {}

  [[nodiscard]] executor_type get_executor() { return tcp_.get_executor(); }
  /// For connecting, time limits and cancelling, which are the same for both.
  [[nodiscard]] boost::beast::tcp_stream& tcp() { return tcp_; }

  /// Before anything is sent: from the handshake on all is encrypted, for a server that proves to
  /// be `host` by a certificate of `ca_file`, or of the system's when that is empty.
  [[nodiscard]] boost::system::error_code secure(const std::string& ca_file,
                                                 const std::string& host) {
    boost::system::error_code failure;
    context_.emplace(boost::asio::ssl::context::tls_client);
    if (ca_file.empty()) {
      context_->set_default_verify_paths(failure);
    } else {
      context_->load_verify_file(ca_file, failure);
    }
    if (failure) return failure;
    context_->set_options(boost::asio::ssl::context::no_tlsv1 |
                          boost::asio::ssl::context::no_tlsv1_1);
    tls_.emplace(tcp_, *context_);
    tls_->set_verify_mode(boost::asio::ssl::verify_peer);
    tls_->set_verify_callback(boost::asio::ssl::host_name_verification(host));
    SSL_set_tlsext_host_name(tls_->native_handle(), host.c_str());
    return {};
  }

  template <typename Handler>
  void async_handshake(Handler handler) {
    tls_->async_handshake(boost::asio::ssl::stream_base::client, std::move(handler));
  }

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) {
      tls_->async_read_some(buffers, std::forward<Handler>(handler));
    } else {
      tcp_.async_read_some(buffers, std::forward<Handler>(handler));
    }
  }

  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) {
      tls_->async_write_some(buffers, std::forward<Handler>(handler));
    } else {
      tcp_.async_write_some(buffers, std::forward<Handler>(handler));
    }
  }

 private:
  boost::beast::tcp_stream tcp_;
  std::optional<boost::asio::ssl::context> context_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> tls_;
};

}  // namespace cupel::httpclient
