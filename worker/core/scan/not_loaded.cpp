#include "worker/core/scan/not_loaded.hpp"

#include "worker/core/change/semver.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace cupel::worker::scan {
namespace {

using nlohmann::json;

std::string text_or_empty(const json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& list_of(const json& object, const char* member) {
  static const json kEmpty = json::array();
  if (!object.is_object()) return kEmpty;
  const auto found = object.find(member);
  return found != object.end() && found->is_array() ? *found : kEmpty;
}

void add_ranges(ModuleAdvisory& advisory, const json& affected) {
  for (const json& range : list_of(affected, "ranges")) {
    AffectedRange open;
    bool has_open = false;
    for (const json& event : list_of(range, "events")) {
      if (!event.is_object()) continue;
      if (const std::string from = text_or_empty(event, "introduced"); !from.empty()) {
        open = {from, {}};
        has_open = true;
      } else if (const std::string to = text_or_empty(event, "fixed"); !to.empty() && has_open) {
        open.fixed = to;
        advisory.ranges.push_back(std::exchange(open, {}));
        has_open = false;
      }
    }
    if (has_open) advisory.ranges.push_back(std::move(open));
  }
}

}  // namespace

std::vector<ModuleAdvisory> advisories_about(std::string_view module, std::string_view osv_json) {
  const json entry = json::parse(osv_json, nullptr, false);
  if (!entry.is_object() || !text_or_empty(entry, "withdrawn").empty()) return {};
  std::vector<ModuleAdvisory> all;
  for (const json& affected : list_of(entry, "affected")) {
    const auto package = affected.is_object() ? affected.find("package") : affected.end();
    if (!affected.is_object() || package == affected.end() || !package->is_object()) continue;
    if (text_or_empty(*package, "name") != module) continue;
    ModuleAdvisory one{text_or_empty(entry, "id"), {}};
    add_ranges(one, affected);
    all.push_back(std::move(one));
  }
  return all;
}

bool is_affected(const ModuleAdvisory& advisory, std::string_view version) {
  if (!change::parse_version(version) || advisory.ranges.empty()) return true;
  // A database writes versions without the "v".
  const auto before = [version](const std::string& bound) {
    return change::compare_versions(version, "v" + bound) < 0;
  };
  const auto is_version = [](const std::string& bound) {
    return change::parse_version("v" + bound).has_value();
  };
  return std::ranges::any_of(advisory.ranges, [&](const AffectedRange& range) {
    if (is_version(range.introduced) && before(range.introduced)) return false;
    return range.fixed.empty() || !is_version(range.fixed) || before(range.fixed);
  });
}

std::vector<std::string> not_loaded_notes(const std::vector<Required>& required,
                                          const std::vector<ScannedModule>& scanned,
                                          const Advisories& advisories) {
  std::vector<std::string> notes;
  for (const Required& one : required) {
    if (one.replaced_by_folder) {
      notes.push_back("replaced_not_scanned: " + one.path + ": " + one.replaced_by);
      continue;
    }
    // A scan lists a replaced module by the name of its replacement or by its own.
    const bool seen = std::ranges::any_of(scanned, [&](const ScannedModule& module) {
      return module.path == one.path || module.path == one.replaced_by;
    });
    if (seen) continue;
    const std::string& path = one.replaced_by.empty() ? one.path : one.replaced_by;
    const auto known = advisories.find(path);
    if (known == advisories.end()) continue;
    std::vector<std::string> ids;
    for (const ModuleAdvisory& advisory : known->second) {
      if (is_affected(advisory, one.version)) ids.push_back(advisory.osv);
    }
    if (ids.empty()) continue;
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    std::string note = "required_not_loaded: " + path + "@" + one.version + ": ";
    for (std::size_t i = 0; i < std::min<std::size_t>(ids.size(), 10); ++i) {
      note += (i == 0 ? "" : ", ") + ids[i];
    }
    if (ids.size() > 10) note += ", and " + std::to_string(ids.size() - 10) + " more";
    notes.push_back(std::move(note));
  }
  std::ranges::sort(notes);
  if (notes.size() > kNotLoadedNotesMax) notes.resize(kNotLoadedNotesMax);
  return notes;
}

}  // namespace cupel::worker::scan
