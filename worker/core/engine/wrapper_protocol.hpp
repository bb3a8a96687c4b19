/// What the worker and cupel-init, process 1 of every container, say to one another: orders on the
/// container's stdin, marker lines on both of its output streams. Pure. The wrapper's side is
/// worker/wrapper/orders.hpp.
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker {

struct WrapperOrders {
  struct Digest {
    std::string hex;   ///< SHA-256 of the file.
    std::string path;  ///< In the container.
  };
  struct Mark {
    std::string text;
    std::string path;
  };
  std::string nonce;  ///< Hex, 16 to 64 digits; known to worker and wrapper only.
  Duration limit{};   ///< Everything is killed after it.
  Duration grace{};   ///< From the goroutine dump to the kill.
  bool dump = false;
  std::vector<Digest> digests = {};       ///< Files that must have this content.
  std::vector<Mark> marks = {};           ///< Files that must hold this text.
  std::vector<Mark> links = {};           ///< Symbolic links that must lead to this text.
  std::vector<std::string> present = {};  ///< Paths that must exist.
  /// The only variables that the command sees; empty: all that the wrapper has. At most 128.
  std::vector<std::string> keep = {};
};

/// Errors: too_large, bad_value (a path or text that can't stand in a line).
[[nodiscard]] Result<std::string> encode_orders(const WrapperOrders& orders);
inline constexpr std::string_view kOrderEnd = "end\n";  ///< Dump if ordered, kill after the grace.
inline constexpr std::string_view kOrderKill = "kill\n";  ///< Kill at once.

enum class WrapperEnd : std::uint8_t {
  self,   ///< The command ended.
  limit,  ///< The wrapper's own limit.
  order,  ///< The worker's order.
  eof,    ///< The orders' stream ended: the worker is dead, or the connection is.
  mount,  ///< A mount is not what it should be; nothing ran.
  exec,   ///< The command could not be started.
};

/// The end trailer.
struct WrapperReport {
  WrapperEnd end = WrapperEnd::self;
  std::int32_t exit_code = -1;
  std::int32_t signal = 0;
  std::uint64_t out_bytes = 0;
  std::uint64_t err_bytes = 0;
  std::int64_t oom_kills = -1;     ///< -1: the cgroup could not be read.
  std::int64_t pids_refused = -1;  ///< -1: the cgroup could not be read.
  bool tmp_full = false;
  bool leftover = false;
  std::string what;  ///< The path of a wrong mount, or why the command did not start.
};

/// Takes the marker lines out of one output stream. Incremental: any split of the same bytes gives
/// the same payload. Holds back at most 1 KiB, and nothing when the bytes can't begin a marker.
class MarkerFilter {
 public:
  using Sink = std::function<void(std::string_view payload)>;

  MarkerFilter(const std::string& nonce, Sink sink);
  void feed(std::string_view bytes);
  /// The stream is over: what was held back is payload.
  void finish();
  [[nodiscard]] bool started() const { return started_; }
  [[nodiscard]] const std::optional<WrapperReport>& report() const { return report_; }
  /// Bytes behind the end trailer: not from our wrapper.
  [[nodiscard]] bool bytes_after_end() const { return bytes_after_end_; }

 private:
  void emit(std::string_view payload);
  bool take_marker();

  std::string start_line_;
  std::string end_prefix_;
  Sink sink_;
  std::string held_;  ///< Begins with the marker's first byte, or is empty.
  bool at_begin_ = true;
  bool started_ = false;
  bool bytes_after_end_ = false;
  std::optional<WrapperReport> report_;
};

}  // namespace cupel::worker
