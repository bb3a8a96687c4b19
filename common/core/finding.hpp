/// One problem that a check reported.
#pragma once

#include "common/core/outcome.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace cupel {

/// Everything a report says about one problem. Names are cut at 4 KiB, messages at 4 KiB.
struct Finding {
  FindingKind kind = FindingKind::note;
  CheckKind check = CheckKind::test;
  std::string package;    ///< Import path; empty where it has none.
  std::string test;       ///< Test name with subtests; empty where it has none.
  std::string analyzer;   ///< vet analyzer, or scanner's osv id.
  std::string file;       ///< Below the unit's source, without the mount prefix.
  std::int32_t line = 0;  ///< 0 unknown. Never part of the key.
  std::int32_t column = 0;
  /// Further places of the file where vet said the same: equal keys are one finding.
  std::uint32_t more_places = 0;
  std::string message;  ///< As the tool said it, cut; control characters removed.
  std::string
      environment;  ///< A tag such as readonly_source or no_network: probably the sandbox's doing.
  bool inferred = false;  ///< Concluded from what is missing, not said by the tool (rule P10a).
  /// Stable identity inside a unit: kind family, package, test or analyzer+file, message without
  /// line numbers, addresses, durations, temporary names (rule C1).
  std::string key;
  /// The key without what differs between repositories: groups failures over the fleet.
  std::string signature;
};

/// What a message says in one line, for tables and first words: lines that only say where, and
/// those that end in a colon, are followed by the next one (test libraries put what went wrong
/// below the place). Empty only for a blank message.
[[nodiscard]] std::string headline_of(std::string_view message);

}  // namespace cupel
