/// The worker's side of exit_frames.hpp: frames as values, and what an exit container saw of its
/// network namespace. Pure.
#pragma once

#include "common/core/error.hpp"
#include "worker/core/egress/exit_frames.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::egress {

struct ExitMessage {
  ExitFrame kind = ExitFrame::cut;
  std::uint32_t stream = 0;
  std::string payload = {};
  friend bool operator==(const ExitMessage&, const ExitMessage&) = default;
};

[[nodiscard]] std::string encode_exit(const ExitMessage& message);
[[nodiscard]] ExitMessage give_message(std::uint32_t stream, std::uint32_t bytes);

/// Incremental: any split of the same bytes gives the same messages. Holds at most one frame.
class ExitReader {
 public:
  /// What became whole. Errors: engine_protocol for what no exit container says; nothing that comes
  /// later is read.
  [[nodiscard]] Result<std::vector<ExitMessage>> feed(std::string_view bytes);

 private:
  std::string held_;
  bool broken_ = false;
};

/// What is true of a network namespace, by the program inside it.
struct ExitSeen {
  std::uint16_t port = 0;         ///< Of loopback, where the proxy is reached; 0: none.
  std::string network_namespace;  ///< "net:[4026533321]", as links in /proc name it.
  std::string found;              ///< What leads elsewhere: "interface:eth0,tcp:192.0.2.1"; or "".

  [[nodiscard]] bool enclosed() const { return found.empty(); }
};
/// Errors: engine_protocol.
[[nodiscard]] Result<ExitSeen> parse_exit_seen(std::string_view text);

}  // namespace cupel::worker::egress
