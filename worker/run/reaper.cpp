#include "worker/run/reaper.hpp"

#include "worker/core/engine/container_spec.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cupel::worker {

namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace {

constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);

}  // namespace

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

asio::awaitable<void> Reaper::reap(Orphan orphan, std::shared_ptr<ReapCounts> counts) {
  // The list is old by now: a run of ours may have begun, a container may be gone.
  const Result<docker::ContainerState> state = co_await engine_.inspect(orphan.container_id);
  if (!state) {
    ++(state.error().code == Errc::not_found ? counts->gone : counts->failed);
    co_return;
  }
  if (!still_orphan(state->labels, view())) {
    ++counts->spared;
    co_return;
  }
  const Result<void> removed = co_await engine_.remove(orphan.container_id);
  if (!removed) {
    ++counts->failed;
    co_return;
  }
  ++counts->removed;
  if (orphan.reason == OrphanReason::other_past_deadline) ++counts->removed_foreign;
}

asio::awaitable<Result<ReapCounts>> Reaper::pass() {
  const TimePoint give_up = steady_clock::now() + options_.pass_budget;
  const ReaperView before = view();  // the live set first: a run that begins now is not in the list
  std::vector<std::string> labels{std::string(label::kFleet) + "=" + options_.fleet.text()};
  const auto listed = co_await engine_.list(std::move(labels));
  if (!listed) co_return listed.error();
  const auto counts = std::make_shared<ReapCounts>();
  counts->listed = listed->size();
  for (const Orphan& orphan : find_orphans(*listed, before)) {
    if (steady_clock::now() >= give_up) {
      ++counts->failed;
      continue;
    }
    co_await reap(orphan, counts);
  }
  co_return *counts;
}

asio::awaitable<void> Reaper::loop(Observer observer) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  co_await asio::this_coro::throw_if_cancelled(false);
  while (true) {
    const Result<ReapCounts> counts = co_await pass();
    const bool cancelled =
        (co_await asio::this_coro::cancellation_state).cancelled() != asio::cancellation_type::none;
    if (cancelled) co_return;
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
