/// What git's words mean after a fetch that failed. Pure.
#pragma once

#include "common/core/refusal.hpp"

#include <string>
#include <string_view>

namespace cupel::worker {

/// `label` is the URL without secrets. What no rule knows is upstream with git's first complaint.
[[nodiscard]] SourceRefusal judge_git_failure(std::string_view err, const std::string& label);

/// The server refuses to give a commit that no branch or tag names.
[[nodiscard]] bool refuses_by_id(std::string_view err);
/// The server answered with a redirection, which is not followed.
[[nodiscard]] bool redirects(std::string_view err);

}  // namespace cupel::worker
