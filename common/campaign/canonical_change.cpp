#include "common/campaign/canonical_parts.hpp"
#include "common/core/overloaded.hpp"
#include "common/text/units.hpp"

#include <chrono>

namespace cupel::campaign {
namespace {

using nlohmann::json;

json upgrade_json(const Upgrade& upgrade) {
  const auto cooldown = std::chrono::seconds(static_cast<std::int64_t>(upgrade.min_age_s));
  return {{"modules", targets_json(upgrade.modules)},
          {"select", std::string(name(upgrade.select))},
          {"cooldown", upgrade.min_age_s == 0 ? "0" : text::format_duration(cooldown)},
          {"allow_major", upgrade.allow_major},
          {"deny", upgrade.deny},
          {"pins", targets_json(upgrade.pins)}};
}

json with_json(const Source& source) {
  return std::visit(
      Overloaded{[](const GitSource& git) { return json{{"git", git.url}, {"ref", git.ref}}; },
                 [](const ModuleSource& module) {
                   return json{{"module", module.path + "@" + module.version}};
                 },
                 [](const BundleSource& bundle) {
                   return json{{"bundle", bundle.artifact.hex()},
                               {"commit", bundle.commit},
                               {"name", bundle.name}};
                 }},
      source);
}

}  // namespace

json targets_json(const std::vector<ModuleTarget>& targets) {
  json list = json::array();
  for (const ModuleTarget& target : targets) {
    list.push_back({{"module", target.module}, {"version", target.version}});
  }
  return list;
}

json change_json(const Campaign& campaign) {
  return std::visit(
      Overloaded{[](const NoChange&) { return json{{"none", json::object()}}; },
                 [](const Upgrade& upgrade) { return json{{"upgrade", upgrade_json(upgrade)}}; },
                 [](const GoVersionChange& go) {
                   return json{{"go",
                                {{"version", go.version},
                                 {"directive", go.raise_directive ? "raise" : "keep"}}}};
                 },
                 [&campaign](const Replace& replace) {
                   json list = json::array();
                   for (const Replacement& one : replace.modules) {
                     list.push_back({{"module", one.module}, {"with", with_json(one.with)}});
                   }
                   for (const LocalReplacement& one : campaign.local_replacements) {
                     list.push_back({{"module", one.module},
                                     {"with", {{"path", one.with.path}, {"ref", one.with.ref}}}});
                   }
                   return json{{"replace", std::move(list)}};
                 },
                 [](const ApplyPatch& patch) { return json{{"patch", {{"diff", patch.diff}}}}; }},
      campaign.change);
}

std::string_view baseline_name(Baseline baseline) {
  switch (baseline) {
    case Baseline::automatic: return "auto";
    case Baseline::always: return "always";
    case Baseline::off: return "off";
  }
  return "auto";
}

}  // namespace cupel::campaign
