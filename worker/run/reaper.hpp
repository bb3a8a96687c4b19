/// Removes what crashed or abandoned runs left behind: containers by their labels, and directories
/// that containers wrote.
#pragma once

#include "common/docker/client.hpp"
#include "worker/core/engine/orphans.hpp"
#include "worker/ports/run_port.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace cupel::worker {

struct ReapCounts {
  std::uint64_t listed = 0;   ///< Containers with our fleet's label.
  std::uint64_t removed = 0;  ///< The engine doesn't know them any more: asked after the removal.
  std::uint64_t gone = 0;     ///< Were in the list, and gone at the re-check.
  std::uint64_t spared = 0;   ///< Looked like orphans in the list, and not at the re-check.
  std::uint64_t failed = 0;   ///< Tried again in the next pass.
  std::uint64_t still_there = 0;      ///< Of `failed`: removed by the engine's word, and yet there.
  std::uint64_t left_over = 0;        ///< Of `failed`: not tried, the pass had no time left.
  std::uint64_t removed_foreign = 0;  ///< Of `removed`: another worker's, past deadline and grace.
  TimePoint began{};                  ///< When the pass took what it knew of this process.
  std::set<std::string> runs_left = {};  ///< Runs of the list whose containers were not seen gone.
};

struct ReaperOptions {
  FleetId fleet;
  WorkerId worker;
  Incarnation incarnation;
  Duration grace = std::chrono::minutes(5);
  Duration period = std::chrono::seconds(60);
  Duration pass_budget = std::chrono::seconds(48);  ///< Four fifths of the period.
  std::size_t at_once = 4;  ///< Removals under way together; fewer than the client's calls_max.
};

class Reaper {
 public:
  using LiveRuns = std::function<std::set<std::string>()>;
  using WallClock = std::function<WallTime()>;
  using Observer = std::function<void(const ReapCounts&, const std::optional<Error>&)>;

  Reaper(docker::Client& engine, ReaperOptions options, LiveRuns live_runs, WallClock clock);

  /// One pass within its budget, the oldest first. Errors: what the list call said; removals that
  /// fail are counted.
  [[nodiscard]] boost::asio::awaitable<Result<ReapCounts>> pass();
  /// Passes until cancelled, the first at once.
  [[nodiscard]] boost::asio::awaitable<void> loop(Observer observer);

 private:
  struct Pass;

  [[nodiscard]] ReaperView view() const;
  [[nodiscard]] boost::asio::awaitable<void> reap_some(std::shared_ptr<Pass> pass);
  [[nodiscard]] boost::asio::awaitable<void> reap(Orphan orphan, std::shared_ptr<Pass> pass);

  docker::Client& engine_;
  ReaperOptions options_;
  LiveRuns live_runs_;
  WallClock clock_;
};

/// Empties a directory that containers wrote and removes it: by the host, and what the host can't
/// remove by a container without network (execute profile, `image`), with a limit of its own. Then
/// the host removes the rest. The path must not be in use by a live run.
[[nodiscard]] boost::asio::awaitable<Result<void>> empty_directory(RunPort& runs,
                                                                   boost::asio::thread_pool& files,
                                                                   std::string image,
                                                                   std::string directory);

}  // namespace cupel::worker
