/// What a person can do about a reason. Pure.
#pragma once

#include "common/core/outcome.hpp"

#include <string_view>

namespace cupel::cli {

/// One sentence; empty where the reason leaves nothing to do but to look at the repository.
[[nodiscard]] std::string_view next_step(Reason reason);

}  // namespace cupel::cli
