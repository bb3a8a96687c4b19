#include "tests/bench/engine_overhead/raw_engine.hpp"

#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace cupel::bench {
namespace {

class Connection {
 public:
  explicit Connection(const std::string& path)
      : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    if (fd_ < 0 ||
        ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("connect " + path);
    }
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { ::close(fd_); }

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n <= 0) throw std::runtime_error("write");
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  std::string read_some() const {
    std::array<char, 65536> piece{};
    const ssize_t n = ::read(fd_, piece.data(), piece.size());
    return n <= 0 ? std::string() : std::string(piece.data(), static_cast<std::size_t>(n));
  }
  std::string read_all() const {
    std::string all;
    for (std::string piece = read_some(); !piece.empty(); piece = read_some()) all += piece;
    return all;
  }
  /// Up to the end of the answer's head.
  std::string read_head() const {
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos) {
      const std::string piece = read_some();
      if (piece.empty()) throw std::runtime_error("answer without a head");
      head += piece;
    }
    return head;
  }

 private:
  int fd_;
};

std::string request(const std::string& method, const std::string& path, const std::string& body,
                    const std::string& more = "Connection: close\r\n") {
  return method + " /v1.41" + path + " HTTP/1.1\r\nHost: engine\r\n" + more +
         (body.empty() ? "" : "Content-Type: application/json\r\n") +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string call(const std::string& socket_path, const std::string& method, const std::string& path,
                 const std::string& body = {}) {
  const Connection connection(socket_path);
  connection.write(request(method, path, body));
  std::string answer = connection.read_all();
  if (answer.size() < 12 || answer[9] != '2')
    throw std::runtime_error(method + " " + path + ": " + answer);
  return answer;
}

}  // namespace

void raw_run(const std::string& socket_path, const std::string& name, const std::string& spec,
             const std::string& orders) {
  call(socket_path, "POST", "/containers/create?name=" + name, spec);
  const std::string path = "/containers/" + name;
  {
    const Connection attached(socket_path);
    attached.write(request("POST", path + "/attach?stream=1&stdin=1&stdout=1&stderr=1", {},
                           "Connection: Upgrade\r\nUpgrade: tcp\r\n"));
    attached.read_head();
    call(socket_path, "POST", path + "/start");
    attached.write(orders);
    call(socket_path, "POST", path + "/wait?condition=not-running");
    attached.read_all();
  }
  call(socket_path, "GET", path + "/logs?stdout=1&stderr=1");
  call(socket_path, "GET", path + "/json");
  call(socket_path, "DELETE", path + "?force=1&v=1");
}

}  // namespace cupel::bench
