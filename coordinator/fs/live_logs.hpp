/// Output of checks that run right now, in memory: a convenience for people who watch, never the
/// record.
#pragma once

#include "common/core/ids.hpp"
#include "common/core/message.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace cupel::coordinator::fs {

struct LiveLogLimits {
  std::size_t stream_bytes_max = 1024 * 1024;  ///< The oldest bytes of a stream give way.
  std::size_t total_bytes_max =
      64 * 1024 * 1024;  ///< The stream that was silent longest gives way.
};

/// Thread-safe.
class LiveLogs {
 public:
  explicit LiveLogs(LiveLogLimits limits = {}) : limits_(limits) {}

  /// Called after each change, outside the lock, on the thread that made it. Set before threads
  /// share the object.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

  /// A gap (lost pieces) or another token starts the stream anew at that offset.
  void add(const LogTail& tail);
  /// The task has ended: its artifacts are the record now.
  void drop(TaskId task);

  struct View {
    std::uint64_t offset = 0;  ///< Of the first byte in the whole stream.
    std::string bytes;
  };
  [[nodiscard]] std::optional<View> read(TaskId task, CheckKind check, Stream stream) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  using Key = std::tuple<std::uint64_t, CheckKind, Stream>;
  struct Entry {
    Token token;
    std::uint64_t offset = 0;
    std::string bytes;
    std::list<Key>::iterator age;
  };
  void erase(std::map<Key, Entry>::iterator entry);
  void take(const LogTail& tail);

  LiveLogLimits limits_;
  std::function<void()> changed_;
  mutable std::mutex mutex_;
  std::map<Key, Entry> streams_;
  std::list<Key> by_age_;  ///< Longest silent first.
  std::size_t total_ = 0;
};

}  // namespace cupel::coordinator::fs
