/// Fills the download cache behind the back of the tasks: one thread with a short queue. What
/// doesn't fit into the queue is left to a later run.
#pragma once

#include "common/curl/http_fetch.hpp"
#include "worker/downloads/module_fill.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace cupel::worker {

class DownloadFiller {
 public:
  static constexpr std::size_t kQueueMax = 32;

  struct Settings {
    DownloadLimits limits;
    std::filesystem::path directory;  ///< Of the cache; the signed trees are kept below it as well.
    sumdb::Database database;
    std::vector<sumdb::ModuleProxy> proxies;
    curl::HttpSettings http;
    std::uint64_t disk_reserve_bytes = 0;  ///< With less free space nothing is added.
  };
  /// Called on the filler's thread after each fill, with what the cache holds then.
  using Observer = std::function<void(const FillReport& report, std::uint64_t cache_bytes)>;

  /// Errors: io_error, disk_full.
  [[nodiscard]] static Result<std::unique_ptr<DownloadFiller>> start(Settings settings,
                                                                     Observer observer);
  /// Ends a fill that goes on, within the time of one file.
  ~DownloadFiller();
  DownloadFiller(const DownloadFiller&) = delete;
  DownloadFiller& operator=(const DownloadFiller&) = delete;

  [[nodiscard]] DownloadCache& cache() { return *cache_; }
  /// `keep` holds on to whatever keeps the module cache alive. False: the queue is full.
  bool take(std::string modcache, std::shared_ptr<void> keep);
  /// Waits until everything that was taken is done.
  void wait_until_idle();

 private:
  struct Job {
    std::string modcache;
    std::shared_ptr<void> keep;
  };
  DownloadFiller(Settings settings, Observer observer, std::unique_ptr<DownloadCache> cache);
  void work();

  Settings settings_;
  Observer observer_;
  std::unique_ptr<DownloadCache> cache_;
  std::atomic<bool> stop_ = false;
  curl::HttpFetch http_;
  sumdb::ChecksumDatabase database_;
  ModuleFill fill_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<Job> queue_;
  bool busy_ = false;
  std::thread thread_;  ///< The last: it uses all of the others.
};

}  // namespace cupel::worker
