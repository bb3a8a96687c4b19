#include "worker/app/run_engine.hpp"

#include "common/fs/files.hpp"
#include "worker/app/egress_setup.hpp"

#include <algorithm>

namespace cupel::worker {

namespace {

constexpr std::uint64_t kCertificatesBytesMax = 16ull << 20;  // Debian's are 220 KiB

}  // namespace

std::unique_ptr<RunEngine> make_run_engine(RunEngineParts parts) {
  return parts.options.engine == kEngineBubblewrap ? make_bubblewrap_engine(parts)
                                                   : make_container_engine(parts);
}

Result<std::string> credentials_for_runs(const Options& options) {
  if (options.netrc_file.empty()) return std::string();
  const auto secret = fs::read_secret(options.netrc_file, kNetrcBytesMax);
  if (!secret) return secret.error();
  const std::string directory = options.data_dir + "/secrets";
  if (auto made = fs::ensure_private_dir(directory); !made) return made.error();
  if (auto written = fs::write_file_durably(directory + "/netrc", *secret, 0444); !written)
    return written.error();
  return directory + "/netrc";
}

Result<std::string> certificates_for_runs(const Options& options, const std::string& system_file) {
  if (!options.ca_bundle.empty()) return options.ca_bundle;
  const auto certificates = fs::read_file(system_file, kCertificatesBytesMax);
  if (!certificates) {
    if (certificates.error().code == Errc::not_found) return std::string();
    return certificates.error();
  }
  std::string file = options.data_dir + "/ca-certificates.crt";
  if (auto written = fs::write_file_durably(file, *certificates, 0444); !written)
    return written.error();
  return file;
}

fs::GrowthBudget mount_budget(const Options& options) {
  return {.bytes = std::max(options.gocache_bytes_max, options.modcache_bytes_max),
          .inodes = std::max(options.gocache_inodes_max, options.modcache_inodes_max),
          .reserve_bytes = options.disk_reserve_bytes / 2};
}

}  // namespace cupel::worker
