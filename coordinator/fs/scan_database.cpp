#include "coordinator/fs/scan_database.hpp"

#include "common/vulndb_io/take.hpp"

#include <cstdlib>
#include <utility>

namespace cupel::coordinator::fs {
namespace {

constexpr auto kFresh = std::chrono::minutes(15);

vulndb::FetchSettings fetch_settings() {
  vulndb::FetchSettings settings;
  if (const char* bundle = std::getenv("SSL_CERT_FILE")) settings.ca_bundle = bundle;
  return settings;
}

}  // namespace

Result<void> ScanDatabase::fill(campaign::ScanPlan& plan) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (latest_ && now - taken_ < kFresh && artifacts_.size(latest_->artifact)) {
    plan.snapshot = latest_;
    return {};
  }
  const auto taken = vulndb::take_snapshot(place_, {}, fetch_settings());
  if (const auto* problem = std::get_if<vulndb::Problem>(&taken)) {
    plan.problem = problem->reason;
    plan.message = capped_detail(problem->message);
    return {};
  }
  const auto& database = std::get<vulndb::Database>(taken);
  const std::string tar = vulndb::to_tar(database);
  const Digest digest = sha256(tar);
  if (!artifacts_.size(digest)) {
    auto upload = artifacts_.upload(digest);
    if (!upload) return upload.error();
    if (auto written = (*upload)->write(tar); !written) return written;
    if (auto finished = (*upload)->finish(); !finished) return finished.error();
  }
  latest_ = campaign::ScanSnapshot{digest, database.id, database.time};
  taken_ = now;
  plan.snapshot = latest_;
  return {};
}

}  // namespace cupel::coordinator::fs
