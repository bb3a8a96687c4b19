#include "tests/engine_scenarios/stage.hpp"

#include "common/async/clock.hpp"
#include "common/async/no_throw.hpp"
#include "common/fs/files.hpp"
#include "tests/engine_scenarios/client_calls.hpp"
#include "tests/engine_scenarios/facts.hpp"
#include "tests/engine_scenarios/model.hpp"
#include "tests/engine_scenarios/scripted_engine.hpp"
#include "worker/run/reaper.hpp"
#include "worker/run/run_executor.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <utility>

namespace cupel::scenarios {

namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

constexpr Duration kSettling = std::chrono::seconds(2);
constexpr std::size_t kDifferencesMax = 30;

/// Directories of a run, removed at the end.
class Scratch {
 public:
  Scratch()
      : path_((std::filesystem::temp_directory_path() / ("cupel-scenario-" + fs::random_hex(6)))
                  .string()) {
    for (const char* const name : {"", "/source", "/modcache", "/gocache", "/staging", "/tools"}) {
      ::mkdir((path_ + name).c_str(), 0700);
    }
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

worker::Profile profile_of(const std::string& name) {
  for (const auto profile : {worker::Profile::acquire, worker::Profile::mutate,
                             worker::Profile::execute, worker::Profile::tool}) {
    if (worker::name(profile) == name) return profile;
  }
  return worker::Profile::execute;
}

worker::RunRequest request_of(const RunStep& step, const std::string& scratch) {
  worker::RunRequest request;
  request.profile = profile_of(step.profile);
  request.campaign = CampaignId{1};
  request.task = TaskId{2};
  request.token = Token{3};
  request.command = {"check"};
  request.workdir = ".";
  request.image = kImage;
  request.limit = step.limit;
  request.limits.output_bytes = step.output_bytes;
  request.dump_goroutines = step.dump;
  request.check = CheckKind::custom;
  request.mounts.gocache = scratch + "/gocache";
  if (request.profile != worker::Profile::tool) request.mounts.source = scratch + "/source";
  if (request.profile != worker::Profile::execute) request.mounts.modcache = scratch + "/modcache";
  if (request.profile == worker::Profile::mutate) request.mounts.staging = scratch + "/staging";
  if (request.profile == worker::Profile::tool) request.mounts.tools = scratch + "/tools";
  return request;
}

worker::ExecutorOptions executor_options(const Scenario& scenario) {
  worker::ExecutorOptions options;
  options.context.fleet = FleetId{scenario.worker.fleet};
  options.context.worker = WorkerId{scenario.worker.worker};
  options.context.incarnation = Incarnation{scenario.worker.incarnation};
  options.context.wrapper_path = "/opt/cupel-init";
  options.context.goproxy = "https://proxy.example";
  options.context.gosumdb = "sum.example";
  options.dump_grace = scenario.dump_grace;
  options.wrapper_slack = scenario.wrapper_slack;
  options.times = scenario.times;
  options.mount_budget.reserve_bytes = 0;
  return options;
}

class Stage {
 public:
  explicit Stage(const Scenario& scenario)
      : scenario_(scenario),
        engine_(io_, scratch_.path() + "/engine.sock", scenario.engine, scenario.worker),
        client_(io_.get_executor(), {.socket_path = scratch_.path() + "/engine.sock",
                                     .budgets = scenario.budgets,
                                     .calls_max = scenario.worker.calls_max,
                                     .retry_pause = scenario.retry_pause}),
        executor_(io_.get_executor(), client_, files_, executor_options(scenario)),
        reaper_(
            client_, reaper_options(), [this] { return executor_.live_runs(); }, async::wall_now) {}

  [[nodiscard]] Played play();

 private:
  [[nodiscard]] worker::ReaperOptions reaper_options() const {
    return {.fleet = FleetId{scenario_.worker.fleet},
            .worker = WorkerId{scenario_.worker.worker},
            .incarnation = Incarnation{scenario_.worker.incarnation},
            .grace = scenario_.worker.grace,
            .pass_budget = scenario_.worker.pass_budget,
            .at_once = scenario_.worker.reap_at_once};
  }
  void differ(std::string what) {
    if (played_.differences.size() < kDifferencesMax)
      played_.differences.push_back(std::move(what));
  }
  void spawn(asio::awaitable<void> task, std::shared_ptr<std::size_t> open);
  void check(const Step& step, const Facts& facts, const std::string& which);
  void check_end();

  asio::awaitable<void> drive();
  asio::awaitable<void> perform(const Step* step);
  asio::awaitable<void> perform_runs(const Step* step, RunStep run);
  asio::awaitable<void> one_lane(const Step* step, RunStep run,
                                 std::shared_ptr<std::uint64_t> next);
  asio::awaitable<void> one_run(const Step* step, RunStep run, std::uint64_t number);
  asio::awaitable<void> perform_reaps(const Step* step, ReapStep reap);
  asio::awaitable<void> none_left(std::shared_ptr<std::size_t> open);

  const Scenario& scenario_;
  Scratch scratch_;
  asio::io_context io_{1};
  asio::thread_pool files_{1};
  ScriptedEngine engine_;
  docker::Client client_;
  worker::RunExecutor executor_;
  worker::Reaper reaper_;
  asio::steady_timer lane_ended_{io_, steady_clock::time_point::max()};
  Played played_;
  bool done_ = false;
  int line_ = 0;
};

void Stage::spawn(asio::awaitable<void> task, std::shared_ptr<std::size_t> open) {
  ++*open;
  asio::co_spawn(io_, std::move(task), [this, open](const std::exception_ptr& failure) {
    if (failure) differ("an exception escaped");
    --*open;
    lane_ended_.cancel();
  });
}

asio::awaitable<void> Stage::none_left(std::shared_ptr<std::size_t> open) {
  while (*open > 0) (void)co_await lane_ended_.async_wait(kNoThrow);
}

void Stage::check(const Step& step, const Facts& facts, const std::string& which) {
  for (const auto& [name, wanted] : step.expect) {
    const auto fact = facts.find(name);
    const std::string value = fact == facts.end() ? std::string("unknown") : fact->second;
    if (const auto why = differs(name, wanted, value)) {
      differ(std::to_string(wanted.line) + ":" + std::to_string(wanted.column) + ": " + which +
             ": " + *why);
    }
  }
}

asio::awaitable<void> Stage::one_run(const Step* step, RunStep run, std::uint64_t number) {
  const auto cancel = std::make_shared<worker::CancelToken>();
  asio::steady_timer timer(io_);
  if (run.cancel_after) {
    timer.expires_after(std::chrono::ceil<steady_clock::duration>(*run.cancel_after));
    timer.async_wait([cancel](const boost::system::error_code& ec) {
      if (!ec) cancel->cancel();
    });
  }
  const auto begun = steady_clock::now();
  const worker::RunReport report =
      co_await executor_.run(request_of(run, scratch_.path()), cancel, {});
  Facts facts = facts_of_run(report);
  facts["took"] = seconds_text(steady_clock::now() - begun);
  check(*step, facts,
        run.times == 1 ? "run"
                       : "run " + std::to_string(number) + " of " + std::to_string(run.times));
}

asio::awaitable<void> Stage::one_lane(const Step* step, RunStep run,
                                      std::shared_ptr<std::uint64_t> next) {
  while (*next < run.times) co_await one_run(step, run, ++*next);
}

asio::awaitable<void> Stage::perform_runs(const Step* step, RunStep run) {
  const auto open = std::make_shared<std::size_t>(0);
  const auto next = std::make_shared<std::uint64_t>(0);
  for (std::uint64_t lane = 0; lane < std::min(run.at_once, run.times); ++lane)
    spawn(one_lane(step, run, next), open);
  co_await none_left(open);
}

asio::awaitable<void> Stage::perform_reaps(const Step* step, ReapStep reap) {
  for (std::uint64_t i = 1; i <= reap.times; ++i) {
    const auto begun = steady_clock::now();
    const Result<worker::ReapCounts> counts = co_await reaper_.pass();
    if (counts) executor_.settle(counts->began, counts->runs_left);
    Facts facts = facts_of_reap(counts);
    facts["took"] = seconds_text(steady_clock::now() - begun);
    check(*step, facts,
          reap.times == 1 ? "reap"
                          : "reap " + std::to_string(i) + " of " + std::to_string(reap.times));
  }
}

asio::awaitable<void> Stage::perform(const Step* step) {
  if (const auto* const run = std::get_if<RunStep>(&step->what)) {
    co_await perform_runs(step, *run);
  } else if (const auto* const reap = std::get_if<ReapStep>(&step->what)) {
    co_await perform_reaps(step, *reap);
  } else if (const auto* const call = std::get_if<CallStep>(&step->what)) {
    const auto begun = steady_clock::now();
    Facts facts = co_await make_call(&client_, *call);
    facts["took"] = seconds_text(steady_clock::now() - begun);
    check(*step, facts, "call " + call->name);
  } else if (const auto* const pause = std::get_if<PauseStep>(&step->what)) {
    asio::steady_timer timer(io_, std::chrono::ceil<steady_clock::duration>(pause->time));
    (void)co_await timer.async_wait(kNoThrow);
  } else if (const auto* const set = std::get_if<SetStep>(&step->what)) {
    engine_.apply(set->part);
  }
}

asio::awaitable<void> Stage::drive() {
  const auto background = std::make_shared<std::size_t>(0);
  for (const Step& step : scenario_.drive) {
    line_ = step.line;
    if (step.background) {
      spawn(perform(&step), background);
    } else {
      co_await perform(&step);
    }
  }
  co_await none_left(background);
}

void Stage::check_end() {
  if (!engine_.overlap().empty()) {
    differ("two calls changed one container at the same moment: " + engine_.overlap());
  }
  if (engine_.connections() > 0) {
    differ(std::to_string(engine_.connections()) + " connections to the engine stayed open");
  }
  if (scenario_.calls_checked) {
    if (const auto why = differs(scenario_.calls, engine_.calls())) differ("calls: " + *why);
  }
  for (const CallPattern& pattern : scenario_.never) {
    for (const RecordedCall& call : engine_.calls()) {
      if (matches(pattern, call)) differ("never: " + shown(call.text()) + " was called");
    }
  }
  const Facts facts = {{"containers", std::to_string(engine_.containers())},
                       {"running", std::to_string(engine_.running())},
                       {"parked", std::to_string(executor_.parked_count())},
                       {"unremoved", std::to_string(executor_.unremoved_count())},
                       {"live_runs", std::to_string(executor_.live_runs().size())},
                       {"calls", std::to_string(engine_.calls().size())}};
  for (const auto& [name, wanted] : scenario_.end) {
    if (const auto why = differs(name, wanted, facts.at(name))) {
      differ(std::to_string(wanted.line) + ":" + std::to_string(wanted.column) + ": end: " + *why);
    }
  }
}

Played Stage::play() {
  const auto begun = steady_clock::now();
  asio::co_spawn(io_, drive(), [this](const std::exception_ptr& failure) {
    if (failure) differ("an exception escaped");
    done_ = true;
  });
  const auto limit = begun + std::chrono::ceil<steady_clock::duration>(scenario_.time_limit);
  while (!done_ && steady_clock::now() < limit) io_.run_one_until(limit);
  if (!done_) {
    differ("the step of line " + std::to_string(line_) + " did not end within " +
           seconds_text(scenario_.time_limit) + " s");
  }
  // The engine's side notices closed connections a moment later.
  const auto settled = steady_clock::now() + std::chrono::ceil<steady_clock::duration>(kSettling);
  while (done_ && engine_.connections() > 0 && steady_clock::now() < settled) {
    io_.run_one_for(std::chrono::milliseconds(10));
  }
  check_end();
  engine_.stop();
  io_.poll();
  files_.join();
  played_.took = steady_clock::now() - begun;
  return played_;
}

}  // namespace

Played play_scenario(const Scenario& scenario) {
  return Stage(scenario).play();
}

}  // namespace cupel::scenarios
