/// The leader's seat of a fleet whose coordinators share one database server: at most one of them
/// holds it.
///
/// Three things together, each for what the others can't do:
/// - a session's advisory lock, which the server frees at once when the process that holds it dies;
/// - a lease by the database's clock, in the one row of table `leadership`, which runs out when
/// that
///   process only stands still: then the other one ends its connections, and with them the lock;
/// - the epoch in the same row, raised by each new holder and locked by every transaction of the
///   leader, so that one that wakes up late writes nothing whatever connections it still has.
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"
#include "coordinator/sql/leader.hpp"
#include "coordinator/sql/location.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace cupel::coordinator::sql {

struct SeatSettings {
  std::string instance;  ///< This process, and no other ever; letters and digits.
  std::string name;      ///< For people.
  Duration lease = std::chrono::seconds(5);
  /// A lease that has run out is this long somebody's who is about to renew it.
  Duration grace = std::chrono::seconds(1);
};

/// Blocking, one thread at a time, but for cut().
class Seat {
 public:
  /// Connects. Errors: store_failed, bad_config.
  [[nodiscard]] static Result<std::unique_ptr<Seat>> open(const StoreLocation& database,
                                                          SeatSettings settings);
  /// Gives the seat up, if it is this one's.
  ~Seat();
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  struct Tried {
    std::optional<Leader> taken;  ///< It is ours now, for the lease's time from before the call.
    std::string holder;           ///< Else: whose it is, for people; may be unknown (empty).
    bool ended_holder = false;    ///< The holder's time was over: try again at once.
  };
  /// Call it every half second or so. Errors: store_failed (also of a database that can only be
  /// read): nothing is held then.
  [[nodiscard]] Result<Tried> try_take();
  /// For another lease, from before the call. Errors: lease_lost, store_failed; either way the seat
  /// is lost.
  [[nodiscard]] Result<void> renew();
  /// From any thread: a call that waits for the server fails now.
  void cut();

 private:
  struct Inside;
  explicit Seat(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace cupel::coordinator::sql
