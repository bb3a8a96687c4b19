// Runs in sandboxes of bubblewrap, on a machine without an engine.
#include "common/async/with_budget.hpp"
#include "common/bubblewrap/image_store.hpp"
#include "worker/app/go_environment.hpp"
#include "worker/app/run_engine.hpp"
#include "worker/bubblewrap/bubblewrap_runs.hpp"
#include "worker/run/offload.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace cupel::worker {

namespace asio = boost::asio;

namespace {

constexpr const char* kNoEgress = "bubblewrap has the host's network or none";

class BubblewrapEngine final : public RunEngine {
 public:
  explicit BubblewrapEngine(RunEngineParts parts) : parts_(parts) {}

  asio::awaitable<Result<void>> open(Membership membership) override;
  RunPort& runs() override { return *runs_; }
  std::string text() const override { return text_; }
  bool runs_own_nothing() const override { return foreign_user_; }
  asio::awaitable<Result<void>> sweep(FleetId /*earlier_fleet*/) override {
    co_return Result<void>();  // runs died with the process that made them; groups went at open()
  }
  asio::awaitable<Result<void>> prepare_network() override;
  asio::awaitable<Result<std::vector<images::EngineImage>>> images() override;
  asio::awaitable<Result<void>> alive() override;
  asio::awaitable<void> keep_clean(std::function<void()> changed) override;
  asio::awaitable<void> observe() override;
  std::string why_not_enforced() const override { return kNoEgress; }
  asio::awaitable<std::optional<Duration>> upstream_pause() override { co_return std::nullopt; }
  std::size_t unremoved_count() const override { return runs_->unremoved_count(); }
  asio::awaitable<void> stop() override;

 private:
  RunEngineParts parts_;
  std::string text_;
  bool foreign_user_ = false;
  std::unique_ptr<BubblewrapRuns> runs_;
};

asio::awaitable<Result<void>> BubblewrapEngine::open(Membership membership) {
  if (runs_) co_return Result<void>();
  const auto go = go_environment(parts_.options);
  if (!go) co_return go.error();
  auto netrc = credentials_for_runs(parts_.options);
  if (!netrc) co_return netrc.error();
  auto certificates = certificates_for_runs(parts_.options);
  if (!certificates) co_return certificates.error();
  auto look = [label = "cupel-" + membership.worker.text()] {
    return std::make_shared<Result<BubblewrapHost>>(look_at_host(label));
  };
  const std::shared_ptr<Result<BubblewrapHost>> host =
      co_await offload(parts_.files, std::move(look));
  if (!*host) co_return host->error();
  text_ = (*host)->text();
  foreign_user_ = (*host)->machine.run_as.has_value();
  spdlog::info("runs in {}", text_);
  BubblewrapOptions options;
  options.context.fleet = membership.fleet;
  options.context.worker = membership.worker;
  options.context.incarnation = membership.incarnation;
  options.context.wrapper_path = parts_.options.wrapper;
  options.context.goproxy = go->proxy;
  options.context.gosumdb = go->sumdb;
  options.context.ca_bundle = *std::move(certificates);
  options.context.netrc = *std::move(netrc);
  options.context.proxy_environment = go->proxy_environment;
  options.image_dir = parts_.options.image_dir;
  options.mount_budget = mount_budget(parts_.options);
  runs_ = std::make_unique<BubblewrapRuns>(
      parts_.loop.get_executor(), parts_.files, *std::move(*host), std::move(options),
      [&metrics = parts_.metrics](const RunObservation& run) { metrics.run_ended(run); });
  co_return Result<void>();
}

asio::awaitable<Result<void>> BubblewrapEngine::prepare_network() {
  parts_.metrics.egress_enforced(false);
  if (parts_.options.egress != "enforced") co_return Result<void>();
  co_return Error{Errc::unsafe_sandbox,
                  "egress is to be enforced, and " + std::string(kNoEgress),
                  {},
                  "set egress to configured, or engine to docker"};
}

asio::awaitable<Result<std::vector<images::EngineImage>>> BubblewrapEngine::images() {
  auto list = [dir = parts_.options.image_dir] { return bubblewrap::list_images(dir); };
  co_return co_await offload(parts_.files, std::move(list));
}

asio::awaitable<Result<void>> BubblewrapEngine::alive() {
  const auto program = bubblewrap::find_bwrap();
  if (!program) co_return program.error();
  co_return Result<void>();
}

asio::awaitable<void> BubblewrapEngine::keep_clean(std::function<void()> changed) {
  for (;;) {
    const bool on = co_await async::sleep_for(parts_.options.reap_period);
    if (!on) co_return;
    const std::size_t before = runs_->unremoved_count();
    runs_->settle();
    if (runs_->unremoved_count() != before) changed();
  }
}

asio::awaitable<void> BubblewrapEngine::observe() {
  parts_.metrics.containers_running(runs_->live_runs().size());
  parts_.metrics.containers_unremoved(runs_->unremoved_count());
  co_return;
}

asio::awaitable<void> BubblewrapEngine::stop() {
  if (runs_) co_await runs_->join();
}

}  // namespace

std::unique_ptr<RunEngine> make_bubblewrap_engine(RunEngineParts parts) {
  return std::make_unique<BubblewrapEngine>(parts);
}

}  // namespace cupel::worker
