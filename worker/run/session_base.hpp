/// What every run has, whatever carries it out: who asked for its end, what went wrong, the parts
/// that work beside it, the watch over its mounts, and the reading of the wrapper's last word. Also
/// the shield between a run and its caller. Internal to the engines of runs.
#pragma once

#include "common/fs/growth_watch.hpp"
#include "worker/core/engine/wrapper_protocol.hpp"
#include "worker/ports/run_port.hpp"
#include "worker/run/run_marks.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace cupel::worker {

/// How an engine says what all of them can meet.
struct SessionWords {
  std::string place;  ///< "the container", "the sandbox"
  std::string where;  ///< Behind "than this host"; may be empty.
  Error lost_stdin;   ///< The wrapper's input ended though nobody here closed it.
};

class SessionBase : public std::enable_shared_from_this<SessionBase> {
 public:
  struct Means {
    boost::asio::any_io_executor executor;
    boost::asio::thread_pool* files = nullptr;  ///< Where blocking directory walks happen.
    fs::GrowthBudget mount_budget;              ///< Of all rw mounts of the run together.
    Duration watch_period{};
  };

  SessionBase(Means means, RunRequest request);
  SessionBase(const SessionBase&) = delete;
  SessionBase& operator=(const SessionBase&) = delete;
  virtual ~SessionBase() = default;

  /// Ends the run early; the first reason wins.
  void ask(EndedBy reason);
  [[nodiscard]] RunReport take_report() { return std::move(report_); }

 protected:
  /// 128 + SIGKILL, as an engine names it.
  static constexpr std::int32_t kKilledCode = 128 + 9;

  /// The first error is the run's; later ones are notes.
  void fail(Error error);
  void note(const Error& error);
  void wake() { wake_.cancel(); }
  /// Until then, or until wake().
  [[nodiscard]] boost::asio::awaitable<void> sleep_until(TimePoint time);
  /// Runs beside the session, which must wait in join_parts(): nothing outlives it.
  void spawn(boost::asio::awaitable<void> task, boost::asio::cancellation_slot slot = {});
  [[nodiscard]] boost::asio::awaitable<void> join_parts();
  /// Asks for the end of the run when its mounts outgrow their budget; until stop_watch().
  [[nodiscard]] boost::asio::awaitable<void> watch_mounts();
  void stop_watch();
  /// Orders without the checks of mounts, which RunMarks::place() adds.
  [[nodiscard]] WrapperOrders orders(Duration wrapper_slack, Duration dump_grace) const;
  /// True where the end that was asked for begins with a dump of goroutines.
  [[nodiscard]] bool dumps() const;
  /// Who ended it, by the wrapper's trailer.
  void judge_trailer(const WrapperReport& end, const SessionWords& words);

  Means means_;
  RunRequest request_;
  std::string nonce_;
  RunMarks marks_;
  RunReport report_;
  TimePoint started_at_{};
  std::optional<EndedBy> asked_;
  bool closing_ = false;  ///< Nothing watches any more.

 private:
  boost::asio::steady_timer wake_;
  boost::asio::steady_timer next_look_;  ///< At the mounts.
  std::size_t parts_ = 0;
};

/// A run on its way, through one session or several.
struct Course {
  std::shared_ptr<SessionBase> session = {};  ///< The one that drives now.
  std::optional<EndedBy> asked = {};
  RunReport report = {};
  bool finished = false;

  void ask(EndedBy reason) {
    if (!asked) asked = reason;
    if (session) session->ask(reason);
  }
  /// `next` drives from now on, and is told what was asked for before.
  void hand_over(std::shared_ptr<SessionBase> next) {
    session = std::move(next);
    if (asked) session->ask(*asked);
  }
};

/// Drives a course to its end, cleanup included, whatever becomes of the caller: its cancellation,
/// like the token's, ends the command.
[[nodiscard]] boost::asio::awaitable<void> drive_shielded(boost::asio::any_io_executor executor,
                                                          std::shared_ptr<Course> course,
                                                          std::shared_ptr<CancelToken> cancel,
                                                          boost::asio::awaitable<void> drive);

}  // namespace cupel::worker
