#include "worker/scan/unit_facts.hpp"

#include "common/fs/beneath.hpp"
#include "common/fs/files.hpp"
#include "worker/core/source/gomod.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <set>

namespace cupel::worker {
namespace {

using nlohmann::json;

constexpr std::uint64_t kIndexBytesMax = 8ULL << 20;

std::string text_of(const json& object, const char* member) {
  if (!object.is_object()) return {};
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// A replacement of this very version wins over one of all versions.
const Replacement* replacement_of(const ModFile& mod, const Requirement& wanted) {
  const Replacement* best = nullptr;
  for (const Replacement& one : mod.replacements) {
    if (one.path != wanted.path) continue;
    if (one.version == wanted.version) return &one;
    if (one.version.empty()) best = &one;
  }
  return best;
}

}  // namespace

std::vector<scan::Required> read_required(const std::string& source, const std::string& dir) {
  const auto root = fs::open_dir(source);
  if (!root) return {};
  const std::string name = dir.empty() || dir == "." ? "go.mod" : dir + "/go.mod";
  const auto file = fs::open_beneath(*root, name, O_RDONLY | O_NONBLOCK);
  if (!file) return {};
  const auto text = fs::read_all(*file, kManifestBytesMax, name);
  if (!text) return {};
  const ModFile mod = parse_go_mod(*text);
  std::vector<scan::Required> all;
  for (const Requirement& one : mod.requirements) {
    scan::Required required{one.path, one.version, {}, false};
    if (const Replacement* instead = replacement_of(mod, one)) {
      required.replaced_by = instead->target;
      required.replaced_by_folder = instead->is_directory();
      if (!required.replaced_by_folder) required.version = instead->target_version;
    }
    all.push_back(std::move(required));
  }
  return all;
}

scan::Advisories read_advisories(const std::string& database,
                                 const std::vector<scan::Required>& required) {
  std::set<std::string> wanted;
  for (const scan::Required& one : required) {
    wanted.insert(one.replaced_by.empty() ? one.path : one.replaced_by);
  }
  scan::Advisories all;
  const auto index = fs::read_file(database + "/index/modules.json", kIndexBytesMax);
  const json modules = index ? json::parse(*index, nullptr, false) : json();
  if (!modules.is_array()) return all;
  for (const json& module : modules) {
    const std::string path = text_of(module, "path");
    if (!wanted.contains(path)) continue;
    const auto vulns = module.find("vulns");
    if (vulns == module.end() || !vulns->is_array()) continue;
    for (const json& item : *vulns) {
      const auto entry =
          fs::read_file(database + "/ID/" + text_of(item, "id") + ".json", kIndexBytesMax);
      if (!entry) continue;
      auto about = scan::advisories_about(path, *entry);
      std::ranges::move(about, std::back_inserter(all[path]));
    }
  }
  return all;
}

}  // namespace cupel::worker
