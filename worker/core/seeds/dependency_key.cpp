#include "worker/core/seeds/dependency_key.hpp"

#include "common/core/digest.hpp"
#include "worker/core/source/gomod.hpp"

#include <algorithm>

namespace cupel::worker::seeds {
namespace {

/// With its length before it, so that no two lists of fields are one text.
void add(Sha256& hash, std::string_view field) {
  hash.update(std::to_string(field.size()) + ":");
  hash.update(field);
}

}  // namespace

std::string dependency_key(const DependencyInputs& inputs) {
  Sha256 hash;
  for (const std::string_view field : {inputs.recipe, inputs.image, inputs.go_mod, inputs.go_sum}) {
    add(hash, field);
  }
  add(hash, inputs.race ? "race" : "");
  for (const std::string& tag : inputs.tags) add(hash, tag);
  return hash.finish().hex();
}

std::string why_no_dependency_seed(std::string_view go_mod, bool vendored,
                                   std::string_view workspace) {
  if (vendored) return "a vendored module's dependencies are part of the repository";
  if (!workspace.empty()) return "a workspace's modules are part of the repository";
  const ModFile manifest = parse_go_mod(go_mod);
  if (!manifest.faults.empty()) return "go.mod can't be read";
  if (std::ranges::any_of(manifest.replacements, &Replacement::is_directory)) {
    return "a directory of the repository replaces a module";
  }
  if (manifest.requirements.empty()) return std::string(kNothingToSeed);
  return {};
}

}  // namespace cupel::worker::seeds
