/// The gates of a changed manifest: what withholds a patch. Pure. A gate changes no verdict.
#pragma once

#include "common/core/change.hpp"
#include "worker/core/change/build_list.hpp"
#include "worker/core/source/gomod.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::change {

/// What a go.mod without a go line means to the go command, and what acquire writes there.
inline constexpr std::string_view kImpliedGoVersion = "1.16";

/// What a gate compares, of one side.
struct ManifestSide {
  ModFile mod;
  std::string sum;  ///< Content of go.sum; empty where there is none.
  BuildList modules;
};

/// What explains a difference.
struct GateRules {
  std::vector<ModuleTarget> targets;
  std::set<std::string> closure;  ///< closure_of() in the graph of the after side.
  bool may_replace = false;       ///< A campaign of kind replace.
  bool may_raise_go = false;      ///< A campaign of kind go.
};

/// Gate A: the go.mod alone, as it is right after `go get`.
[[nodiscard]] std::vector<GateFinding> gate_a(const ModFile& before, const ModFile& after,
                                              const GateRules& rules);

/// Gate B: gate A, and a direct dependency that became indirect. For the final go.mod.
[[nodiscard]] std::vector<GateFinding> gate_b(const ModFile& before, const ModFile& after,
                                              const GateRules& rules);

/// The build list: every target selected at its very version, nothing that enters or rises outside
/// the closure, nothing that falls. Leaving is fine.
[[nodiscard]] std::vector<GateFinding> gate_build_list(const BuildList& before,
                                                       const BuildList& after,
                                                       const GateRules& rules);

/// go.sum: every added line belongs to a module version of the after side's graph or build list; no
/// line of a module version that stays was changed, or removed unless tidy alone removes it.
/// `before_tidied`: the before side's go.sum after `go mod tidy`, where that was asked.
[[nodiscard]] std::vector<GateFinding> gate_go_sum(
    const ManifestSide& before, const ManifestSide& after, const ModuleGraph& graph,
    const std::optional<std::string>& before_tidied = std::nullopt);

/// True where go.sum lost lines of module versions that stay: what `before_tidied` may explain.
[[nodiscard]] bool lost_sums(const ManifestSide& before, const ManifestSide& after);

/// Sorted, without repetitions, at most 50.
void tidy_gates(std::vector<GateFinding>& gates);

}  // namespace cupel::worker::change
