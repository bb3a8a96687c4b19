/// The checks of a validation as command lines and limits. Pure.
#pragma once

#include "common/core/outcome.hpp"
#include "common/core/settings.hpp"
#include "common/core/task.hpp"
#include "common/core/time.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker {

/// One run of a validation, before it is tied to an image and to directories.
struct PlannedCheck {
  CheckKind check = CheckKind::list;
  std::string name;                  ///< Custom check's name, else empty.
  std::vector<std::string> command;  ///< argv; no shell.
  std::string workdir;               ///< Below the snapshot's root; "." = the root.
  RunLimits limits;
  Duration limit{};              ///< Dump and kill after it.
  bool dump_goroutines = false;  ///< The check runs code of the repository: ask it where it hangs.
  bool fresh_gocache = false;    ///< Never sees the validation's own build cache.
};

/// Whether and how a validation scans.
struct WantedScan {
  bool wanted = false;
  bool only = false;          ///< Nothing but the scan.
  std::uint64_t limit_s = 0;  ///< 0 = kScanLimit.
};
inline constexpr Duration kScanLimit = std::chrono::minutes(10);
/// Of each stream of a scan.
inline constexpr std::uint64_t kScanOutputBytes = 64ULL << 20;
/// Where the scanner and the database are in a container.
inline constexpr std::string_view kScannerPath = "/tools/govulncheck";
inline constexpr std::string_view kDatabaseUrl = "file:///vulndb";

/// list, build, vet, test, the scan and the custom checks, in the order in which they run. All of
/// them run whatever failed before. The limits nest (design section 4): go test -timeout T, then T
/// + 75 s for the check; a campaign's check_limit_s replaces the derived limit of every check but
/// the custom ones.
[[nodiscard]] std::vector<PlannedCheck> plan_checks(const UnitInfo& unit,
                                                    const ValidationSettings& settings,
                                                    const WantedScan& scan = {});

}  // namespace cupel::worker
