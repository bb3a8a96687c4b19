/// The checks of a validation as command lines and limits. Pure.
#pragma once

#include "common/core/outcome.hpp"
#include "common/core/settings.hpp"
#include "common/core/task.hpp"
#include "common/core/time.hpp"

#include <cstdint>
#include <string>
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

/// list, build, vet, test and the custom checks, in the order in which they run. All of them run
/// whatever failed before. The limits nest (design section 4): go test -timeout T, then T + 75 s
/// for the check; a campaign's check_limit_s replaces the derived limit of every check but the
/// custom ones.
[[nodiscard]] std::vector<PlannedCheck> plan_checks(const UnitInfo& unit,
                                                    const ValidationSettings& settings);

}  // namespace cupel::worker
