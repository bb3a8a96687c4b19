#include "cli/app/scan_database.hpp"

#include "common/core/digest.hpp"
#include "common/fs/files.hpp"
#include "common/vulndb_io/take.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <utility>

namespace cupel::cli {
namespace {

vulndb::FetchSettings fetch_settings() {
  vulndb::FetchSettings settings;
  if (const char* bundle = std::getenv("SSL_CERT_FILE")) settings.ca_bundle = bundle;
  return settings;
}

}  // namespace

Result<void> upload_database(campaign::ScanPlan& scan, const std::filesystem::path& base,
                             httpclient::Client& client, Console& console) {
  if (scan.settled() || scan.database.empty()) return {};
  const std::string place =
      vulndb::is_url(scan.database) ? scan.database : (base / scan.database).string();
  auto taken = vulndb::take_snapshot(place, {}, fetch_settings());
  if (auto* problem = std::get_if<vulndb::Problem>(&taken)) {
    console.say(problem->message + ": every scan will be inconclusive");
    scan.problem = problem->reason;
    scan.message = capped_detail(problem->message);
    return {};
  }
  const auto& database = std::get<vulndb::Database>(taken);
  const std::string tar = vulndb::to_tar(database);
  const Digest digest = sha256(tar);
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("cupel-vulndb-" + fs::random_hex(8));
  if (auto written = fs::create_file_durably(file, tar, 0600); !written) return written;
  const auto uploaded =
      client.upload("/api/v1/artifacts", file, {{"X-Cupel-Digest", "sha256:" + digest.hex()}});
  (void)fs::remove_tree(file);
  if (!uploaded) return uploaded.error();
  scan.snapshot = campaign::ScanSnapshot{digest, database.id, database.time};
  console.say("vulnerability database of " + database.time + ", " +
              std::to_string(database.entries) + " entries, content " + database.id.substr(0, 16));
  return {};
}

}  // namespace cupel::cli
