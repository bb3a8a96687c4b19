#include "worker/downloads/download_filler.hpp"

#include "common/fs/files.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace cupel::worker {

namespace {

constexpr const char* kTrees = "trees";

}  // namespace

Result<std::unique_ptr<DownloadFiller>> DownloadFiller::start(Settings settings,
                                                              Observer observer) {
  auto cache = DownloadCache::open(settings.directory, settings.limits);
  if (!cache) return cache.error();
  if (auto made = fs::ensure_private_dir(settings.directory / kTrees); !made) return made.error();
  return std::unique_ptr<DownloadFiller>(
      new DownloadFiller(std::move(settings), std::move(observer), *std::move(cache)));
}

DownloadFiller::DownloadFiller(Settings settings, Observer observer,
                               std::unique_ptr<DownloadCache> cache)
    : settings_(std::move(settings)),
      observer_(std::move(observer)),
      cache_(std::move(cache)),
      http_(settings_.http, stop_),
      database_({.database = settings_.database,
                 .proxies = settings_.proxies,
                 .directory = settings_.directory / kTrees},
                [this](const std::string& url, std::uint64_t bytes_max) {
                  return http_.get(url, bytes_max);
                }),
      fill_(*cache_, database_, settings_.proxies,
            [this](const std::string& url, std::uint64_t bytes_max) {
              return http_.get(url, bytes_max);
            }),
      thread_([this] { work(); }) {}

DownloadFiller::~DownloadFiller() {
  {
    const std::scoped_lock held(lock_);
    stop_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

bool DownloadFiller::take(std::string modcache, std::shared_ptr<void> keep) {
  {
    const std::scoped_lock held(lock_);
    if (queue_.size() >= kQueueMax) return false;
    queue_.push_back({std::move(modcache), std::move(keep)});
  }
  changed_.notify_all();
  return true;
}

void DownloadFiller::wait_until_idle() {
  std::unique_lock held(lock_);
  changed_.wait(held, [this] { return stop_ || (queue_.empty() && !busy_); });
}

void DownloadFiller::work() {
  std::unique_lock held(lock_);
  for (;;) {
    changed_.wait(held, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    Job job = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    held.unlock();
    const auto space = fs::space_of(settings_.directory);
    if (space && space->bytes_free >= settings_.disk_reserve_bytes) {
      const FillReport report = fill_.fill(job.modcache, stop_);
      for (const Error& error : report.errors) spdlog::warn("download cache: {}", error.text());
      if (observer_) observer_(report, cache_->bytes());
    }
    job = {};
    held.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace cupel::worker
