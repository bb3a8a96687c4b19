/// What a seed of dependencies is a function of, and so the name that it is kept under. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::seeds {

struct DependencyInputs {
  std::string_view recipe;  ///< Of the commands; another one makes other seeds.
  std::string_view image;   ///< Engine image id: toolchain, C compiler, architecture.
  /// The manifests in full: the build list, and the sum of every module that may be compiled. The
  /// go command refuses a module whose content has another sum.
  std::string_view go_mod;
  std::string_view go_sum;
  std::vector<std::string> tags;
  bool race = false;
};

/// 64 hex digits. Equal keys mean equal inputs, field by field.
[[nodiscard]] std::string dependency_key(const DependencyInputs& inputs);

/// Why there is no such seed for a module with this manifest; empty: there can be one.
/// kNothingToSeed is no fault.
inline constexpr std::string_view kNothingToSeed = "the module requires no other";
[[nodiscard]] std::string why_no_dependency_seed(std::string_view go_mod, bool vendored,
                                                 std::string_view workspace);

}  // namespace cupel::worker::seeds
