#include "worker/run/reaper.hpp"

#include "common/async/no_throw.hpp"
#include "common/async/task_group.hpp"
#include "worker/core/engine/container_spec.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

namespace cupel::worker {

namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace {}  // namespace

Reaper::Reaper(docker::Client& engine, ReaperOptions options, LiveRuns live_runs, WallClock clock)
    : engine_(engine),
      options_(options),
      live_runs_(std::move(live_runs)),
      clock_(std::move(clock)) {}

ReaperView Reaper::view() const {
  return {.fleet = options_.fleet,
          .worker = options_.worker,
          .incarnation = options_.incarnation,
          .live_runs = live_runs_(),
          .now = clock_(),
          .grace = options_.grace};
}

/// What the parallel removals of one pass share.
struct Reaper::Pass {
  std::deque<Orphan> orphans;
  TimePoint give_up;
  ReapCounts counts;
};

asio::awaitable<void> Reaper::reap(Orphan orphan, std::shared_ptr<Pass> pass) {
  ReapCounts& counts = pass->counts;
  // The list is old by now: a run of ours may have begun, a container may be gone.
  const Result<docker::ContainerState> state = co_await engine_.inspect(orphan.container_id);
  if (!state) {
    if (state.error().code != Errc::not_found) {
      ++counts.failed;
    } else {
      ++counts.gone;
      counts.runs_left.erase(orphan.run_id);
    }
    co_return;
  }
  // Started after the list was made: somebody uses it. The next pass judges it anew.
  const bool runs = may_run(state->status);
  if (!still_orphan(state->labels, view()) || (runs && !may_run(orphan.state))) {
    ++counts.spared;
    co_return;
  }
  // What doesn't run is removed without force, so that a start at this moment is safe from it.
  const Result<void> removed = co_await engine_.remove(orphan.container_id, runs);
  if (!removed) {
    ++(removed.error().code == Errc::conflict ? counts.spared : counts.failed);
    co_return;
  }
  const Result<docker::ContainerState> after = co_await engine_.inspect(orphan.container_id);
  if (after || after.error().code != Errc::not_found) {
    ++counts.failed;
    if (after) ++counts.still_there;
    co_return;
  }
  ++counts.removed;
  counts.runs_left.erase(orphan.run_id);
  if (orphan.reason == OrphanReason::other_past_deadline) ++counts.removed_foreign;
}

asio::awaitable<void> Reaper::reap_some(std::shared_ptr<Pass> pass) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!pass->orphans.empty() && steady_clock::now() < pass->give_up) {
    Orphan orphan = std::move(pass->orphans.front());
    pass->orphans.pop_front();
    co_await reap(std::move(orphan), pass);
  }
}

asio::awaitable<Result<ReapCounts>> Reaper::pass() {
  const auto pass = std::make_shared<Pass>();
  pass->counts.began = steady_clock::now();
  pass->give_up = pass->counts.began + options_.pass_budget;
  const ReaperView before = view();  // the live set first: a run that begins now is not in the list
  std::vector<std::string> labels{std::string(label::kFleet) + "=" + options_.fleet.text()};
  const auto listed = co_await engine_.list(std::move(labels));
  if (!listed) co_return listed.error();
  pass->counts.listed = listed->size();
  for (const docker::ContainerSummary& container : *listed) {
    if (const auto run = container.labels.find(std::string(label::kRun));
        run != container.labels.end()) {
      pass->counts.runs_left.insert(run->second);
    }
  }
  std::ranges::move(find_orphans(*listed, before), std::back_inserter(pass->orphans));

  // One slow removal must not hold up the others, and all of them not the runs.
  async::TaskGroup removals(co_await asio::this_coro::executor,
                            [pass](const std::exception_ptr&) { ++pass->counts.failed; });
  for (std::size_t i = 0; i < options_.at_once; ++i) removals.spawn(reap_some(pass));
  co_await removals.join();
  if (removals.size() > 0) {  // cancelled; what uses this object ends before it does
    pass->orphans.clear();
    removals.cancel();
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await removals.join();
    co_return Error{.code = Errc::cancelled, .what = "reaper: cancelled", .detail = {}, .hint = {}};
  }
  pass->counts.left_over = pass->orphans.size();
  pass->counts.failed += pass->orphans.size();
  co_return std::move(pass->counts);
}

asio::awaitable<void> Reaper::loop(Observer observer) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  co_await asio::this_coro::throw_if_cancelled(false);
  while (true) {
    const Result<ReapCounts> counts = co_await pass();
    const bool cancelled =
        (co_await asio::this_coro::cancellation_state).cancelled() != asio::cancellation_type::none;
    if (cancelled || (!counts && counts.error().code == Errc::cancelled)) co_return;
    if (observer) {
      observer(counts ? *counts : ReapCounts{},
               counts ? std::nullopt : std::optional<Error>(counts.error()));
    }
    timer.expires_after(std::chrono::duration_cast<steady_clock::duration>(options_.period));
    const auto [ec] = co_await timer.async_wait(kNoThrow);
    if (ec) co_return;
  }
}

}  // namespace cupel::worker
