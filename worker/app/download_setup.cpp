#include "worker/app/download_setup.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <utility>

namespace cupel::worker {

std::unique_ptr<DownloadFiller> start_downloads(const Options& options, const GoEnvironment& go,
                                                WorkerMetrics& metrics) {
  if (options.download_cache_bytes_max == 0 || !options.fixture_proxy.empty()) return nullptr;
  const auto without = [](const Error& why) {
    spdlog::warn("no download cache: {}", why.text());
    return nullptr;
  };
  auto database = sumdb::parse_database(go.sumdb);
  if (!database) return without(database.error());
  DownloadFiller::Settings settings;
  settings.limits.bytes_max = options.download_cache_bytes_max;
  settings.directory = std::filesystem::path(options.data_dir) / "downloads";
  settings.database = *std::move(database);
  settings.proxies = sumdb::module_proxies(go.proxy);
  settings.http.ca_bundle = options.ca_bundle;
  settings.http.netrc_file = options.netrc_file;
  settings.disk_reserve_bytes = options.disk_reserve_bytes;
  auto filler = DownloadFiller::start(
      std::move(settings), [&metrics](const FillReport& report, std::uint64_t cache_bytes) {
        metrics.download_cache(report.counts, cache_bytes);
      });
  if (!filler) return without(filler.error());
  return *std::move(filler);
}

}  // namespace cupel::worker
