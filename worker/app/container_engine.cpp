// Runs in containers of an engine with Docker's interface.
#include "common/async/clock.hpp"
#include "common/docker/client.hpp"
#include "common/engine/confinement.hpp"
#include "common/fs/files.hpp"
#include "worker/app/egress_setup.hpp"
#include "worker/app/go_environment.hpp"
#include "worker/app/run_engine.hpp"
#include "worker/core/engine/seccomp.hpp"
#include "worker/run/reaper.hpp"
#include "worker/run/run_executor.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>

namespace cupel::worker {

namespace asio = boost::asio;

namespace {

images::EngineImage engine_image(const engine::ImageFacts& facts) {
  return {.id = facts.id,
          .repo_digests = facts.digests,
          .labels = std::vector<std::pair<std::string, std::string>>(facts.labels.begin(),
                                                                     facts.labels.end())};
}

class ContainerEngine final : public RunEngine {
 public:
  explicit ContainerEngine(RunEngineParts parts)
      : parts_(parts),
        engine_(parts.loop.get_executor(),
                docker::ClientOptions{
                    .socket_path = parts.options.engine_socket,
                    .budgets = parts.options.engine_budgets,
                    .observer = [&metrics = parts.metrics](const docker::CallObservation& call) {
                      metrics.engine_call(call);
                    }}) {}

  asio::awaitable<Result<void>> open(Membership membership) override;
  RunPort& runs() override { return *executor_; }
  std::string text() const override { return text_; }
  bool runs_own_nothing() const override { return true; }
  asio::awaitable<Result<void>> sweep(FleetId earlier_fleet) override;
  asio::awaitable<Result<void>> prepare_network() override;
  asio::awaitable<Result<std::vector<images::EngineImage>>> images() override;
  asio::awaitable<Result<void>> alive() override { co_return co_await engine_.ping(); }
  asio::awaitable<void> keep_clean(std::function<void()> changed) override;
  asio::awaitable<void> observe() override;
  std::string why_not_enforced() const override {
    return gate_->enforced() ? std::string() : gate_->why_not();
  }
  asio::awaitable<std::optional<Duration>> upstream_pause() override {
    return gate_->upstream_pause();
  }
  std::size_t unremoved_count() const override { return executor_->unremoved_count(); }
  asio::awaitable<void> stop() override;

 private:
  Result<void> make_parts(Membership membership, const GoEnvironment& go, engine::Quirks quirks,
                          std::uint32_t engine_cpus);

  RunEngineParts parts_;
  docker::Client engine_;
  std::string text_;
  ReaperOptions reaping_;
  std::unique_ptr<egress::Gate> gate_;
  std::unique_ptr<RunExecutor> executor_;
  std::unique_ptr<Reaper> reaper_;
};

asio::awaitable<Result<void>> ContainerEngine::open(Membership membership) {
  auto version = co_await engine_.negotiate();
  if (!version) co_return version.error();
  auto info = co_await engine_.info();
  if (!info) co_return info.error();
  const engine::Confinement confinement = engine::confinement_of(*info);
  if (const auto confined = engine::check_confined(confinement); !confined) {
    co_return confined.error();
  }
  if (const auto limits = engine::check_limits(*info); !limits) co_return limits.error();
  for (const auto& [profile, runtime] : parts_.options.runtimes) {
    const auto known = engine::check_runtime(*version, *info, runtime);
    if (!known) co_return known.error();
  }
  if (executor_) co_return Result<void>();
  text_ = version->name + " " + version->version + ", api " + version->api.text() + ", " +
          info->default_runtime;
  for (const auto& [profile, runtime] : parts_.options.runtimes)
    text_ += ", " + std::string(name(profile)) + " in " + runtime;
  text_ += ", " + confinement.text();
  const auto go = go_environment(parts_.options);
  if (!go) co_return go.error();
  co_return make_parts(membership, *go, engine::quirks_of(*version), info->cpus);
}

Result<void> ContainerEngine::make_parts(Membership membership, const GoEnvironment& go,
                                         engine::Quirks quirks, std::uint32_t engine_cpus) {
  const Options& options = parts_.options;
  auto netrc = credentials_for_runs(options);
  if (!netrc) return netrc.error();
  auto certificates = certificates_for_runs(options);
  if (!certificates) return certificates.error();
  ExecutorOptions executor;
  executor.context.fleet = membership.fleet;
  executor.context.worker = membership.worker;
  executor.context.incarnation = membership.incarnation;
  executor.context.wrapper_path = options.wrapper;
  executor.context.goproxy = go.proxy;
  executor.context.gosumdb = go.sumdb;
  executor.context.ca_bundle = *std::move(certificates);
  executor.context.netrc = *std::move(netrc);
  executor.context.proxy_environment = go.proxy_environment;
  executor.context.runtimes = options.runtimes;
  if (quirks.seccomp_by_file) {
    executor.context.seccomp_file = options.data_dir + "/seccomp.json";
    const auto written =
        fs::write_file_durably(executor.context.seccomp_file, seccomp_profile(), 0444);
    if (!written) return written.error();
  }
  executor.context.quirks = std::move(quirks);
  executor.context.engine_cpus = engine_cpus;
  auto gate =
      make_gate(parts_.loop.get_executor(), engine_, options, go, executor.context, parts_.metrics);
  if (!gate) return gate.error();
  gate_ = *std::move(gate);
  executor.post_run = options.post_run;
  executor.egress = gate_.get();
  executor.mount_budget = mount_budget(options);
  executor_ = std::make_unique<RunExecutor>(
      parts_.loop.get_executor(), engine_, parts_.files, std::move(executor),
      [&metrics = parts_.metrics](const RunObservation& run) { metrics.run_ended(run); });
  reaping_.fleet = membership.fleet;
  reaping_.worker = membership.worker;
  reaping_.incarnation = membership.incarnation;
  reaping_.grace = options.reap_grace;
  reaping_.period = options.reap_period;
  reaping_.pass_budget = options.reap_period * 4 / 5;
  reaper_ = std::make_unique<Reaper>(
      engine_, reaping_,
      [runs = executor_.get(), gate = gate_.get()] {
        std::set<std::string> live = runs->live_runs();
        live.insert(gate->exits().begin(), gate->exits().end());
        return live;
      },
      async::wall_now);
  return {};
}

/// An engine that can't list must not keep a worker from its tasks: the reaper's loop goes on
/// trying.
asio::awaitable<Result<void>> ContainerEngine::sweep(FleetId earlier_fleet) {
  if (auto reaped = co_await reaper_->pass(); !reaped)
    spdlog::warn("reaper: {}", reaped.error().text());
  if (!earlier_fleet || earlier_fleet == reaping_.fleet) co_return Result<void>();
  ReaperOptions before = reaping_;
  before.fleet = earlier_fleet;
  Reaper old(engine_, before, [] { return std::set<std::string>(); }, async::wall_now);
  if (auto reaped = co_await old.pass(); !reaped) co_return reaped.error();
  co_return Result<void>();
}

asio::awaitable<Result<void>> ContainerEngine::prepare_network() {
  Result<void> ready = co_await gate_->prepare();
  parts_.metrics.egress_enforced(gate_->enforced());
  co_return ready;
}

asio::awaitable<Result<std::vector<images::EngineImage>>> ContainerEngine::images() {
  auto listed = co_await engine_.image_list({});
  if (!listed) co_return listed.error();
  std::vector<images::EngineImage> all;
  for (const engine::ImageFacts& facts : *listed) all.push_back(engine_image(facts));
  co_return all;
}

asio::awaitable<void> ContainerEngine::keep_clean(std::function<void()> changed) {
  Reaper::Observer seen = [this, changed = std::move(changed)](const ReapCounts& counts,
                                                               const std::optional<Error>& error) {
    parts_.metrics.reaper_pass(counts, error.has_value(), async::wall_now());
    if (error) {
      spdlog::warn("reaper: {}", error->text());
    } else {
      executor_->settle(counts.began, counts.runs_left);
      changed();
    }
    if (counts.still_there > 0)
      spdlog::error("reaper: {} containers are there though the engine said that it removed them",
                    counts.still_there);
    if (counts.removed > 0)
      spdlog::info("reaper: {} containers removed, {} seen gone", counts.removed, counts.gone);
  };
  co_await reaper_->loop(std::move(seen));
}

asio::awaitable<void> ContainerEngine::observe() {
  parts_.metrics.egress_enforced(gate_->enforced());
  parts_.metrics.upstream_paused((co_await gate_->upstream_pause()).has_value());
  parts_.metrics.containers_running(executor_->live_runs().size());
  parts_.metrics.containers_unremoved(executor_->unremoved_count());
}

asio::awaitable<void> ContainerEngine::stop() {
  if (!executor_) co_return;
  co_await executor_->join();
  co_await gate_->stop();
}

}  // namespace

std::unique_ptr<RunEngine> make_container_engine(RunEngineParts parts) {
  return std::make_unique<ContainerEngine>(parts);
}

}  // namespace cupel::worker
