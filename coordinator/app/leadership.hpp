/// Whether this coordinator leads the fleet: a thread that tries for the leader's seat and keeps
/// it.
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"
#include "coordinator/sql/seat.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace cupel::coordinator {

class Leadership {
 public:
  /// Called on the thread of this object; they only post.
  struct Told {
    std::function<void(std::string why)> waiting;  ///< Why it doesn't lead, when that changes.
    std::function<void(sql::Leader)> elected;
    std::function<void(Error)> lost;  ///< Not after give_up().
  };
  Leadership(sql::StoreLocation database, sql::SeatSettings settings, Told told);
  /// Gives the seat up at once: everything that wrote in its name must have ended.
  ~Leadership();
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  /// For certain nobody else leads right now. By a clock that goes on while this process, or its
  /// host, stands still. Any thread.
  [[nodiscard]] bool certain() const;
  /// Lets the seat go, and tries again after a pause: what the leader needs failed. Any thread.
  void give_up();

 private:
  void run();
  void try_for_it();
  void lead(const sql::Leader& leader, std::int64_t since_ns);
  void wait(Duration time);
  void tell_waiting(std::string why);
  void set_seat(std::unique_ptr<sql::Seat> seat);
  void cut();

  const sql::StoreLocation database_;
  const sql::SeatSettings settings_;
  const Told told_;
  std::string last_why_;
  std::atomic<std::int64_t> certain_until_ns_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  // Guarded by mutex_:
  std::unique_ptr<sql::Seat> seat_;  ///< Replaced by the thread alone.
  bool stop_ = false;
  bool give_up_ = false;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace cupel::coordinator
