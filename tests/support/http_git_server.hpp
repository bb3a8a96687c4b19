/// Small servers on loopback for tests of git over HTTP: one that serves repositories with git's
/// own http-backend, and one that accepts and says nothing. Each has a thread of its own.
#pragma once

#include "common/fs/files.hpp"
#include "tests/support/git_fixture.hpp"

#include <arpa/inet.h>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cupel::tests {

/// A listening socket on 127.0.0.1.
class Listener {
 public:
  Listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(fd_, raw, length) != 0 || ::listen(fd_, 64) != 0 ||
        ::getsockname(fd_, raw, &length) != 0) {
      throw std::runtime_error("no socket on loopback");
    }
    port_ = ntohs(address.sin_port);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { ::close(fd_); }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  int fd_;
  std::uint16_t port_ = 0;
};

/// Connections succeed (the kernel accepts them) and nothing ever comes back.
class SilentServer {
 public:
  [[nodiscard]] std::uint16_t port() const { return listener_.port(); }

 private:
  Listener listener_;
};

class HttpGitServer {
 public:
  /// `authorization`: the header's value that /team/ demands ("" = none needed). `redirect_to`:
  /// every request is answered with a redirection there.
  HttpGitServer(std::filesystem::path root, std::string authorization, std::string redirect_to = {})
      : root_(std::move(root)),
        authorization_(std::move(authorization)),
        redirect_to_(std::move(redirect_to)),
        thread_([this] { serve(); }) {}
  HttpGitServer(const HttpGitServer&) = delete;
  HttpGitServer& operator=(const HttpGitServer&) = delete;
  ~HttpGitServer() {
    ::shutdown(listener_.fd(), SHUT_RDWR);
    thread_.join();
  }
  [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
  [[nodiscard]] int requests() const { return requests_; }
  /// Requests that carried credentials although their path does not begin with `prefix`.
  [[nodiscard]] int authorized_outside(const std::string& prefix) const {
    const std::lock_guard lock(mutex_);
    int count = 0;
    for (const auto& path : authorized_) count += path.starts_with(prefix) ? 0 : 1;
    return count;
  }

 private:
  struct Request {
    std::string method, path, query, content_type, authorization, protocol, encoding, body;
  };

  void serve() {
    while (true) {
      const int client = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      Request request;
      if (receive(client, request)) send_all(client, answer(request));
      ::close(client);
    }
  }

  static std::string header(const std::string& head, const std::string& name) {
    const auto at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const auto from = at + name.size() + 4;
    return head.substr(from, head.find("\r\n", from) - from);
  }

  static bool more(int client, std::string& data) {
    char buffer[65536];
    const ssize_t count = ::read(client, buffer, sizeof buffer);
    if (count <= 0) return false;
    data.append(buffer, static_cast<std::size_t>(count));
    return true;
  }

  static bool receive(int client, Request& request) {
    std::string data;
    std::size_t end = 0;
    while ((end = data.find("\r\n\r\n")) == std::string::npos) {
      if (!more(client, data)) return false;
    }
    const std::string head = data.substr(0, end + 2);
    request.body = data.substr(end + 4);
    const std::string length = header(head, "Content-Length");
    while (!length.empty() && request.body.size() < std::stoul(length)) {
      if (!more(client, request.body)) return false;
    }
    request.method = head.substr(0, head.find(' '));
    std::string target = head.substr(request.method.size() + 1);
    target = target.substr(0, target.find(' '));
    request.path = target.substr(0, target.find('?'));
    if (target.find('?') != std::string::npos) request.query = target.substr(target.find('?') + 1);
    request.content_type = header(head, "Content-Type");
    request.authorization = header(head, "Authorization");
    request.protocol = header(head, "Git-Protocol");
    request.encoding = header(head, "Content-Encoding");
    return true;
  }

  std::string answer(const Request& request) {
    ++requests_;
    if (!request.authorization.empty()) {
      const std::lock_guard lock(mutex_);
      authorized_.push_back(request.path);
    }
    if (!redirect_to_.empty()) {
      return "HTTP/1.1 302 Found\r\nLocation: " + redirect_to_ + request.path + "?" +
             request.query + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    }
    if (!authorization_.empty() && request.authorization != authorization_) {
      return "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: "
             "0\r\n"
             "Connection: close\r\n\r\n";
    }
    return backend(request);
  }

  std::string backend(const Request& request) const {
    const std::string scratch =
        (std::filesystem::temp_directory_path() / ("cupel-http-" + fs::random_hex(8))).string();
    std::ofstream(scratch, std::ios::binary) << request.body;
    const std::string command =
        "env -i PATH=/usr/bin:/bin GIT_PROJECT_ROOT='" + root_.string() +
        "' GIT_HTTP_EXPORT_ALL=1 REQUEST_METHOD=" + request.method + " PATH_INFO='" + request.path +
        "' QUERY_STRING='" + request.query + "' CONTENT_TYPE='" + request.content_type +
        "' GIT_PROTOCOL='" + request.protocol + "' HTTP_CONTENT_ENCODING='" + request.encoding +
        "' GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'"
        " CONTENT_LENGTH=" +
        std::to_string(request.body.size()) + " git http-backend < '" + scratch + "' 2>/dev/null";
    std::string out;
    if (std::FILE* pipe = ::popen(command.c_str(), "r")) {
      char buffer[65536];
      while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
        out.append(buffer, count);
      ::pclose(pipe);
    }
    std::filesystem::remove(scratch);
    std::string status = "200 OK";
    if (out.starts_with("Status: ")) status = out.substr(8, out.find("\r\n") - 8);
    return "HTTP/1.1 " + status + "\r\nConnection: close\r\n" + out;
  }

  static void send_all(int client, const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t count = ::send(client, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (count <= 0) return;
      at += static_cast<std::size_t>(count);
    }
  }

  Listener listener_;
  std::filesystem::path root_;
  std::string authorization_;
  std::string redirect_to_;
  std::atomic<int> requests_{0};
  mutable std::mutex mutex_;
  std::vector<std::string> authorized_;
  std::thread thread_;
};

}  // namespace cupel::tests
