/// The seed with an image's standard library: which program of ours has it compiled, and how.
#pragma once

#include "worker/run/seed_commands.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::worker {

/// Grows when the commands, the program or the environment of seed runs change: older seeds are not
/// used then.
inline constexpr std::string_view kStandardRecipe = "r4";

[[nodiscard]] std::vector<std::pair<std::string, std::string>> standard_seed_program();
/// Standard library for build and test, then the facts that go vet and go test keep of it. Facts
/// belong to the flags that vet was called with, so those are the flags of the check vet.
[[nodiscard]] std::vector<SeedCommand> standard_seed_commands();

}  // namespace cupel::worker
