/// The live attempts, and the two sequences that number everything.
#pragma once

#include "common/core/message.hpp"
#include "common/core/task.hpp"
#include "common/core/time.hpp"
#include "coordinator/core/pool.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace cupel::coordinator {

/// A number that was never given out before, over all restarts: numbers are reserved in the store
/// in blocks, and a block's reservation is committed no later than its first use.
class Sequence {
 public:
  Sequence() = default;
  /// `reserved`: the highest number that may have been used before.
  Sequence(std::uint64_t reserved, std::uint64_t block)
      : next_(reserved + 1), reserved_(reserved), block_(block) {}

  [[nodiscard]] std::uint64_t take() {
    if (next_ > reserved_) {
      reserved_ += block_;
      grown_ = true;
    }
    return next_++;
  }
  [[nodiscard]] std::uint64_t reserved() const { return reserved_; }
  /// True once after the reservation grew: it must go into the batch that is being made.
  [[nodiscard]] bool grew() { return std::exchange(grown_, false); }

 private:
  std::uint64_t next_ = 1;
  std::uint64_t reserved_ = 0;
  std::uint64_t block_ = 1;
  bool grown_ = false;
};

/// One live attempt.
struct Attempt {
  TaskId id;
  Token token;
  Handle task = kNoHandle;
  Handle worker = kNoHandle;
  TimePoint expires;
  TimePoint granted;
  TimePoint ends;            ///< No renewal carries it beyond this.
  bool sent = false;         ///< Its commit is done and the lease is on its way.
  bool confirmed = false;    ///< The worker has said that it has it.
  bool recovered = false;    ///< From the store: its worker hasn't said hello yet.
  std::optional<Work> work;  ///< What was sent; for a recovered one what the records say.
};

class LeaseTable {
 public:
  Attempt& add(Attempt attempt) {
    const TaskId id = attempt.id;
    return attempts_[id] = std::move(attempt);
  }
  void remove(TaskId task) { attempts_.erase(task); }
  /// nullptr unless this very token is live.
  [[nodiscard]] Attempt* find(const LiveLease& lease) {
    const auto found = attempts_.find(lease.task);
    return found != attempts_.end() && found->second.token == lease.token ? &found->second
                                                                          : nullptr;
  }
  [[nodiscard]] const Attempt* find(const LiveLease& lease) const {
    const auto found = attempts_.find(lease.task);
    return found != attempts_.end() && found->second.token == lease.token ? &found->second
                                                                          : nullptr;
  }
  [[nodiscard]] Attempt* of_task(TaskId task) {
    const auto found = attempts_.find(task);
    return found == attempts_.end() ? nullptr : &found->second;
  }
  /// In task order, so that the same events give the same actions.
  [[nodiscard]] std::vector<TaskId> expired(TimePoint now) const {
    std::vector<TaskId> ids;
    for (const auto& [id, attempt] : attempts_) {
      if (attempt.expires <= now) ids.push_back(id);
    }
    return ids;
  }
  /// Renewed to the end of what its task may take, in task order.
  [[nodiscard]] std::vector<TaskId> overrun(TimePoint now) const {
    std::vector<TaskId> ids;
    for (const auto& [id, attempt] : attempts_) {
      if (attempt.ends <= now) ids.push_back(id);
    }
    return ids;
  }
  void forgive(Duration stall) {
    for (auto& [id, attempt] : attempts_) {
      attempt.expires += stall;
      attempt.ends += stall;
    }
  }
  [[nodiscard]] std::size_t size() const { return attempts_.size(); }
  [[nodiscard]] const std::map<TaskId, Attempt>& all() const { return attempts_; }

 private:
  std::map<TaskId, Attempt> attempts_;
};

/// Results that were accepted, so that a repetition is acknowledged as such. Bounded: an older one
/// is answered like a foreign one, which makes its worker drop it just the same.
class AcceptedResults {
 public:
  explicit AcceptedResults(std::size_t limit) : limit_(limit) {}
  void add(Token token, Handle worker, std::uint64_t batch);
  /// The batch that recorded it; nothing for a token that was another worker's.
  [[nodiscard]] std::optional<std::uint64_t> find(Token token, Handle worker) const;

 private:
  struct Accepted {
    std::uint64_t batch = 0;
    Handle worker = kNoHandle;
  };
  std::size_t limit_;
  std::unordered_map<std::uint64_t, Accepted> accepted_;
  std::vector<std::uint64_t> ring_;
  std::size_t next_ = 0;
};

}  // namespace cupel::coordinator
