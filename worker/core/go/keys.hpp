/// Identity of findings: what makes a finding the same one in another run, and in another
/// repository (rule C1).
#pragma once

#include "common/core/finding.hpp"
#include "common/core/task.hpp"

#include <string>
#include <string_view>

namespace cupel::worker::go {

/// Fills key and signature and cuts names and message to their limits. The key: kind family,
/// package, test, for vet also analyzer, file and normalised message, for notes their first word.
/// The signature: kind family, analyzer and the normalised message without paths and import paths
/// of the unit, so that equal code in two places gives equal signatures.
void identify(Finding& finding, const UnitInfo& unit);

/// The same for what a custom check reported: by check, rule, file and normalised message, whether
/// it is a problem or a remark.
void identify_reported(Finding& finding, const UnitInfo& unit);

/// The normalised message as signatures have it: the first lines that say something, without
/// positions, directories and import paths of the module.
[[nodiscard]] std::string signature_text(std::string_view message, std::string_view module_path);

}  // namespace cupel::worker::go
