/// A wire between a peer and a daemon that a test has in its hand: it remembers what went through,
/// cuts after a number of bytes, or stops reading one way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace cupel::coordinator {

/// A connection to a port of this host; -1 where it is refused.
[[nodiscard]] int connect_loopback(std::uint16_t port);
/// The port of "tcp://127.0.0.1:7401" or "127.0.0.1:7401".
[[nodiscard]] std::uint16_t port_of(const std::string& endpoint);

class TcpRelay {
 public:
  explicit TcpRelay(std::uint16_t target);
  ~TcpRelay();
  TcpRelay(const TcpRelay&) = delete;
  TcpRelay& operator=(const TcpRelay&) = delete;

  [[nodiscard]] std::string endpoint() const { return "tcp://127.0.0.1:" + std::to_string(port_); }
  /// Both directions end once a connection has sent that many bytes to the daemon. For connections
  /// that begin afterwards.
  void cut_after(std::size_t bytes) { cut_after_ = bytes; }
  /// Reads no more of what daemons answer.
  void stall_answers() { stalled_ = true; }
  /// What the first connection has sent to the daemon so far.
  [[nodiscard]] std::string recorded() const;
  [[nodiscard]] std::size_t connections() const { return accepted_; }
  [[nodiscard]] std::size_t cuts() const { return cuts_; }

 private:
  struct Pair {
    int client;
    int daemon;
    std::size_t left;
    bool first;
  };
  void serve();
  void accept_one();
  bool move(Pair& pair, bool from_client);

  int listener_;
  int wake_[2] = {-1, -1};
  std::uint16_t port_ = 0;
  std::uint16_t target_;
  std::atomic<std::size_t> cut_after_{SIZE_MAX};
  std::atomic<bool> stalled_{false};
  std::atomic<std::size_t> accepted_{0};
  std::atomic<std::size_t> cuts_{0};
  mutable std::mutex mutex_;
  std::string recorded_;
  std::vector<Pair> pairs_;  // the thread's
  std::thread thread_;
};

}  // namespace cupel::coordinator
