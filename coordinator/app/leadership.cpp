#include "coordinator/app/leadership.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <ctime>
#include <utility>

namespace cupel::coordinator {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPoll{400};
constexpr milliseconds kPollSoon{50};
constexpr milliseconds kRetry{1'000};  // after a failure: of the database, or of what rests on it
constexpr milliseconds kResign{2'000};
constexpr int kRenewalsPerLease = 5;
// Two clocks may differ in speed, and a message takes its time.
constexpr int kCertainTenths = 9;

// Not CLOCK_MONOTONIC: that stands still while a host is suspended, and the database goes on.
std::int64_t boot_now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

Leadership::Leadership(sql::StoreLocation database, sql::SeatSettings settings, Told told)
    : database_(std::move(database)),
      settings_(std::move(settings)),
      told_(std::move(told)),
      thread_([this] { run(); }) {}

Leadership::~Leadership() {
  certain_until_ns_ = 0;
  {
    std::unique_lock lock(mutex_);
    stop_ = true;
    wake_.notify_all();
    if (!wake_.wait_for(lock, kResign, [this] { return ended_; }) && seat_) seat_->cut();
  }
  thread_.join();
}

bool Leadership::certain() const {
  return boot_now_ns() < certain_until_ns_;
}

void Leadership::give_up() {
  certain_until_ns_ = 0;
  const std::lock_guard lock(mutex_);
  give_up_ = true;
  wake_.notify_all();
  // It may hang in a call: the lock must be free soon, and it goes with the connection.
  if (seat_) seat_->cut();
}

void Leadership::wait(Duration time) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, time, [this] { return stop_ || give_up_; });
}

void Leadership::tell_waiting(std::string why) {
  if (why == last_why_) return;
  last_why_ = why;
  told_.waiting(std::move(why));
}

void Leadership::set_seat(std::unique_ptr<sql::Seat> seat) {
  {
    const std::lock_guard lock(mutex_);
    std::swap(seat_, seat);
  }
  seat.reset();  // may speak with the server
}

void Leadership::run() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      give_up_ = false;
      if (stop_) break;
    }
    try_for_it();
  }
  set_seat(nullptr);
  const std::lock_guard lock(mutex_);
  ended_ = true;
  wake_.notify_all();
}

void Leadership::try_for_it() {
  const auto failed = [this](const Error& error) {
    set_seat(nullptr);
    if (error.what + error.detail != last_why_) {
      spdlog::warn("{}", error.text());
      last_why_ = error.what + error.detail;
      told_.waiting(error.what);
    }
    wait(kRetry);
  };
  if (!seat_) {
    auto opened = sql::Seat::open(database_, settings_);
    if (!opened) return failed(opened.error());
    set_seat(std::move(*opened));
  }
  const std::int64_t since = boot_now_ns();
  const auto tried = seat_->try_take();
  if (!tried) return failed(tried.error());
  if (tried->taken) return lead(*tried->taken, since);
  tell_waiting(tried->holder.empty() ? "standby: another coordinator leads"
                                     : "standby: coordinator " + tried->holder + " leads");
  wait(tried->ended_holder ? kPollSoon : kPoll);
}

void Leadership::lead(const sql::Leader& leader, std::int64_t since_ns) {
  const auto certain =
      std::chrono::duration_cast<std::chrono::nanoseconds>(settings_.lease).count() / 10 *
      kCertainTenths;
  last_why_.clear();
  certain_until_ns_ = since_ns + certain;
  told_.elected(leader);
  for (;;) {
    wait(settings_.lease / kRenewalsPerLease);
    {
      const std::lock_guard lock(mutex_);
      if (stop_ || give_up_) break;
    }
    const std::int64_t asked = boot_now_ns();
    const auto renewed = seat_->renew();
    if (!renewed) {
      certain_until_ns_ = 0;
      bool wanted = false;
      {
        const std::lock_guard lock(mutex_);
        wanted = !stop_ && !give_up_;
      }
      if (wanted) told_.lost(renewed.error());
      break;
    }
    certain_until_ns_ = asked + certain;
  }
  certain_until_ns_ = 0;
  set_seat(nullptr);
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, kRetry, [this] { return stop_; });
}

}  // namespace cupel::coordinator
