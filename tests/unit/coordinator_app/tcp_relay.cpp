#include "tests/unit/coordinator_app/tcp_relay.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace cupel::coordinator {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

}  // namespace

int connect_loopback(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

std::uint16_t port_of(const std::string& endpoint) {
  return static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
}

TcpRelay::TcpRelay(std::uint16_t target)
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), target_(target) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::pipe(wake_) != 0) {
    throw std::runtime_error("no relay");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

TcpRelay::~TcpRelay() {
  ::close(wake_[1]);
  thread_.join();
  ::close(wake_[0]);
  ::close(listener_);
  for (const Pair& pair : pairs_) {
    ::close(pair.client);
    ::close(pair.daemon);
  }
}

std::string TcpRelay::recorded() const {
  const std::lock_guard lock(mutex_);
  return recorded_;
}

void TcpRelay::accept_one() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  const int daemon = connect_loopback(target_);
  if (daemon < 0) {
    ::close(client);
    return;
  }
  pairs_.push_back({client, daemon, cut_after_, accepted_ == 0});
  ++accepted_;
}

// False when the pair is at its end.
bool TcpRelay::move(Pair& pair, bool from_client) {
  std::array<char, 65536> piece{};
  const std::size_t most = from_client ? std::min(piece.size(), pair.left) : piece.size();
  const ssize_t n = ::recv(from_client ? pair.client : pair.daemon, piece.data(), most, 0);
  if (n <= 0) return false;
  const auto size = static_cast<std::size_t>(n);
  if (from_client && pair.first) {
    const std::lock_guard lock(mutex_);
    recorded_.append(piece.data(), size);
  }
  const int to = from_client ? pair.daemon : pair.client;
  for (std::size_t sent = 0; sent < size;) {
    const ssize_t m = ::send(to, piece.data() + sent, size - sent, MSG_NOSIGNAL);
    if (m <= 0) return false;
    sent += static_cast<std::size_t>(m);
  }
  if (from_client) pair.left -= size;
  if (pair.left > 0) return true;
  ++cuts_;
  return false;
}

void TcpRelay::serve() {
  for (;;) {
    std::vector<pollfd> fds = {{wake_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Pair& pair : pairs_) {
      fds.push_back({pair.client, POLLIN, 0});
      fds.push_back({stalled_ ? -1 : pair.daemon, POLLIN, 0});
    }
    // The time bound is for stall_answers, which doesn't wake this thread.
    if (::poll(fds.data(), fds.size(), 50) < 0) continue;
    if (fds[0].revents != 0) return;
    std::vector<Pair> kept;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      Pair& pair = pairs_[i];
      const bool alive = (fds[2 + 2 * i].revents == 0 || move(pair, true)) &&
                         (fds[3 + 2 * i].revents == 0 || move(pair, false));
      if (alive) {
        kept.push_back(pair);
      } else {
        ::close(pair.client);
        ::close(pair.daemon);
      }
    }
    pairs_ = std::move(kept);
    if (fds[1].revents != 0) accept_one();
  }
}

}  // namespace cupel::coordinator
