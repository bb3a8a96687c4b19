/// A module proxy on all addresses of this host that counts: one module, and the recorded checksum
/// database behind it.
#pragma once

#include "tests/support/recorded_sumdb.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdint>
#include <ifaddrs.h>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace cupel::test {

class CountingProxy {
 public:
  CountingProxy() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const std::string stem = "/github.com/pkg/errors/@v/";
    for (const char* ending : {"info", "mod", "zip"}) {
      const std::string name = std::string("v0.9.1.") + ending;
      files_[stem + name] = tests::RecordedSumdb::read("module/" + name);
    }
    files_[stem + "list"] = "v0.9.1\n";
    sockaddr_in address{};
    address.sin_family = AF_INET;
    socklen_t length = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(fd_, raw, length) != 0 || ::listen(fd_, 64) != 0 ||
        ::getsockname(fd_, raw, &length) != 0) {
      throw std::runtime_error("no socket for the module proxy");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  CountingProxy(const CountingProxy&) = delete;
  CountingProxy& operator=(const CountingProxy&) = delete;
  ~CountingProxy() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }

  /// As a container on the engine's bridge reaches it.
  [[nodiscard]] std::string url() const { return "http://" + address() + ":" + port_text(); }
  [[nodiscard]] std::string url_for_the_host() const { return "http://127.0.0.1:" + port_text(); }

  /// Paths that were asked for since the last call.
  [[nodiscard]] std::vector<std::string> take_requests() {
    const std::lock_guard held(lock_);
    return std::exchange(requests_, {});
  }

 private:
  [[nodiscard]] std::string port_text() const { return std::to_string(port_); }

  static std::string address() {
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) return "127.0.0.1";
    std::string bridge;
    std::string other;
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
      const std::string name = one->ifa_name;
      char text[INET_ADDRSTRLEN] = {};
      ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text,
                  sizeof text);
      if (name == "docker0") bridge = text;
      if (name != "lo" && other.empty()) other = text;
    }
    ::freeifaddrs(all);
    return bridge.empty() ? other : bridge;
  }

  void serve() {
    for (;;) {
      const int client = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      std::string head;
      char piece[4096];
      while (head.find("\r\n\r\n") == std::string::npos && head.size() < 65536) {
        const ssize_t count = ::read(client, piece, sizeof piece);
        if (count <= 0) break;
        head.append(piece, static_cast<std::size_t>(count));
      }
      std::string said = answer(head);
      for (std::string_view rest = said; !rest.empty();) {
        const ssize_t count = ::send(client, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (count <= 0) break;
        rest.remove_prefix(static_cast<std::size_t>(count));
      }
      ::close(client);
    }
  }

  std::string answer(const std::string& head) {
    const std::size_t begin = head.find(' ') + 1;
    const std::string path = decoded(head.substr(begin, head.find(' ', begin) - begin));
    {
      const std::lock_guard held(lock_);
      requests_.push_back(path);
    }
    const std::string sums = "/sumdb/" + tests::RecordedSumdb::database().verifier.name + "/";
    std::string bytes;
    bool found = path == sums + "supported";
    if (const auto file = files_.find(path); file != files_.end()) {
      bytes = file->second;
    } else if (path.starts_with(sums) && path.find("..") == std::string::npos) {
      bytes = tests::RecordedSumdb::read(path.substr(sums.size()));
    }
    found = found || !bytes.empty();
    return std::string("HTTP/1.1 ") + (found ? "200 OK" : "404 Not Found") +
           "\r\nContent-Length: " + std::to_string(bytes.size()) + "\r\nConnection: close\r\n\r\n" +
           bytes;
  }

  /// "%21" and "%40" as the go command may write "!" and "@".
  static std::string decoded(const std::string& text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '%' && i + 2 < text.size()) {
        plain.push_back(static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)));
        i += 2;
      } else {
        plain.push_back(text[i]);
      }
    }
    return plain;
  }

  std::map<std::string, std::string> files_;
  int fd_;
  std::uint16_t port_ = 0;
  std::mutex lock_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace cupel::test
