#include "coordinator/app/retention.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <future>
#include <utility>

namespace cupel::coordinator {
namespace {

using std::chrono::microseconds;

constexpr std::uint32_t kEventsPerCommit = 5'000;
// A bundle is uploaded before its campaign exists.
constexpr Duration kBeforeCampaign = std::chrono::hours(1);
constexpr Duration kPartialMax = std::chrono::hours(24);

WallTime wall_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<microseconds>(since).count()};
}

WallTime minus(WallTime time, Duration duration) {
  return {time.us - std::chrono::duration_cast<microseconds>(duration).count()};
}

}  // namespace

Retention::Retention(RetentionSettings settings, sql::SqlWriter& writer,
                     std::unique_ptr<sql::SqlReader> reader, fs::ArtifactStore& artifacts,
                     CoordinatorMetrics& metrics)
    : settings_(settings),
      writer_(writer),
      reader_(std::move(reader)),
      artifacts_(artifacts),
      metrics_(metrics),
      thread_([this] { run(); }) {}

Retention::~Retention() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool Retention::stopped() {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void Retention::run() {
  for (;;) {
    pass();
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, settings_.period, [this] { return stop_; })) return;
  }
}

void Retention::pass() {
  const WallTime now = wall_now();
  const auto report = [this](CoordinatorMetrics::Kept what, const Result<void>& done) {
    if (done) return metrics_.retention_passed(what, wall_now());
    spdlog::warn("retention: {}", done.error().text());
    metrics_.retention_failed(what);
  };
  if (settings_.events > Duration::zero()) {
    report(CoordinatorMetrics::Kept::events, expire_events(minus(now, settings_.events)));
  }
  if (!stopped()) report(CoordinatorMetrics::Kept::artifacts, expire_artifacts(now));
}

Result<void> Retention::expire_events(WallTime before) {
  while (!stopped()) {
    auto promise = std::make_shared<std::promise<Result<std::uint64_t>>>();
    auto answer = promise->get_future();
    writer_.expire_events(before, kEventsPerCommit, [promise](Result<std::uint64_t> removed) {
      promise->set_value(std::move(removed));
    });
    const auto removed = answer.get();
    if (!removed) return removed.error();
    metrics_.retention_removed(CoordinatorMetrics::Kept::events, *removed);
    if (*removed < kEventsPerCommit) break;
  }
  return {};
}

Result<void> Retention::expire_artifacts(WallTime now) {
  fs::Expiry expiry;
  expiry.partials_before = minus(now, kPartialMax);
  if (settings_.artifacts > Duration::zero()) {
    const auto needed = reader_->artifacts_needed();
    if (!needed) return needed.error();
    expiry.before = minus(now, settings_.artifacts);
    if (needed->open_since) {
      expiry.before = std::min(expiry.before, minus(*needed->open_since, kBeforeCampaign));
    }
    expiry.keep = needed->always;
  }
  expiry.stop = [this] { return stopped(); };
  const auto expired = artifacts_.expire(expiry);
  if (!expired) return expired.error();
  metrics_.retention_removed(CoordinatorMetrics::Kept::artifacts, expired->removed);
  metrics_.artifacts(expired->kept, expired->kept_bytes);
  if (expired->removed > 0) {
    spdlog::info("retention: {} artifacts removed, {} bytes", expired->removed,
                 expired->removed_bytes);
  }
  return {};
}

}  // namespace cupel::coordinator
