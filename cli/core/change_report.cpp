#include "cli/core/change_report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

namespace cupel::cli {
namespace {

const json& member(const json& object, const char* key) {
  static const json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

const json& comparison_of(const json& unit) {
  return member(unit, "comparison");
}

/// The unit's own finding says more than the comparison, which keeps a message's beginning.
std::string words_of(const json& unit, const json& item) {
  for (const json& finding : list_of(unit, "findings")) {
    const bool same = text_of(finding, "kind") == text_of(item, "kind") &&
                      text_of(finding, "package") == text_of(item, "package") &&
                      text_of(finding, "test") == text_of(item, "test") &&
                      text_of(finding, "message").starts_with(text_of(item, "message"));
    if (same) return text_of(finding, "message");
  }
  return text_of(item, "message");
}

}  // namespace

bool has_change(const ReportData& data) {
  const json& change = member(data.document, "change");
  if (change.is_object()) return !change.contains("none");
  return std::ranges::any_of(data.results,
                             [](const json& unit) { return comparison_of(unit).is_object(); });
}

std::vector<Cause> causes_of(const json& unit) {
  std::vector<Cause> causes;
  std::set<std::string> seen;
  const auto add = [&](std::string name, const json& item) {
    if (name.empty() || !seen.insert(name).second) return;
    causes.push_back({std::move(name), text_of(item, "kind"),
                      first_line(text_of(item, "message"), 200), excerpt_of(words_of(unit, item))});
  };
  for (const json& item : list_of(comparison_of(unit), "introduced")) {
    if (text_of(item, "fate") != "confirmed") continue;
    const json& dependency = member(item, "dependency");
    if (dependency.is_object()) {
      const std::string to = text_of(dependency, "to");
      add("dependency:" + text_of(dependency, "module") + "@" + (to.empty() ? "none" : to), item);
    }
    add(text_of(item, "signature"), item);
  }
  return causes;
}

std::vector<Group> group_by_cause(const std::vector<json>& results) {
  struct Member {
    const json* unit;
    std::vector<Cause> causes;
  };
  std::vector<Member> members;
  std::map<std::string, std::size_t> often;
  for (const json& unit : results) {
    std::vector<Cause> causes = causes_of(unit);
    if (causes.empty()) continue;
    for (const Cause& cause : causes) ++often[cause.name];
    members.push_back({&unit, std::move(causes)});
  }
  std::map<std::string, Group> groups;
  for (const Member& one : members) {
    // The first of equally frequent ones: a dependency stands before the finding that names it.
    const auto best = std::ranges::max_element(
        one.causes,
        [&often](const Cause& a, const Cause& b) { return often[a.name] < often[b.name]; });
    Group& group = groups[best->name];
    if (group.units.empty()) {
      group.kind = best->kind;
      group.message = best->message;
      group.signature = best->name;
      group.excerpt = best->excerpt;
      group.example = unit_name(*one.unit);
    }
    group.units.push_back(unit_name(*one.unit));
  }
  std::vector<Group> ordered;
  for (auto& [name, group] : groups) {
    std::ranges::sort(group.units);
    ordered.push_back(std::move(group));
  }
  return ordered;
}

PatchCounts count_patches(const std::vector<json>& results) {
  PatchCounts counts;
  for (const json& unit : results) {
    const json& patch = member(comparison_of(unit), "patch");
    const std::string state = text_of(patch, "state");
    if (state == "ready") ++counts.ready;
    if (state != "withheld") continue;
    ++counts.withheld;
    for (const json& code : list_of(patch, "codes")) {
      if (code.is_string()) ++counts.codes[code.get<std::string>()];
    }
  }
  return counts;
}

Noise noise_of(const ReportData& data) {
  Noise noise;
  const bool compares = has_change(data);
  for (const json& unit : data.results) {
    const json& comparison = comparison_of(unit);
    if (compares && member(comparison, "before").is_object() &&
        member(comparison, "after").is_object()) {
      ++noise.units;
      if (verdict_of(unit) == "regressed") ++noise.regressed;
    }
    const json& aa = member(comparison, "aa");
    if (!aa.is_object()) continue;
    ++noise.sample.pairs;
    if (!flag_of(aa, "agree")) ++noise.sample.differ;
  }
  const json& confirm = member(data.document, "confirm");
  const auto runs = static_cast<std::uint16_t>(number_of(confirm, "runs", 3));
  const auto need = static_cast<std::uint16_t>(number_of(confirm, "need", runs));
  noise.expectation = expected_false_regressions(noise.sample, noise.units, runs, need);
  return noise;
}

std::string noise_sentence(const Noise& noise) {
  const Expectation& expected = noise.expectation;
  std::string out;
  if (expected.measured) {
    out = "A/A: " + std::to_string(noise.sample.differ) + " of " +
          std::to_string(noise.sample.pairs) +
          " sampled units differ between two runs of the unchanged side.";
  }
  if (noise.units == 0) return out;
  out += std::string(out.empty() ? "" : " ") + "Expected false regressions: " +
         (expected.measured ? number(expected.false_regressed) : "not measured (no A/A sample)") +
         ", at most " + number(expected.bound) + ", among " + std::to_string(noise.units) +
         " compared units; seen: " + std::to_string(noise.regressed) + " regressed.";
  return out;
}

json changes_json(const ReportData& data) {
  const PatchCounts patches = count_patches(data.results);
  const Noise noise = noise_of(data);
  return {{"patches",
           {{"ready", patches.ready}, {"withheld", patches.withheld}, {"codes", patches.codes}}},
          {"noise",
           {{"measured", noise.expectation.measured},
            {"pairs", noise.sample.pairs},
            {"differ", noise.sample.differ},
            {"units", noise.units},
            {"regressed", noise.regressed},
            {"expected_false_regressions", noise.expectation.false_regressed},
            {"bound", noise.expectation.bound}}}};
}

std::string changes_markdown(const ReportData& data) {
  const std::string noise = noise_sentence(noise_of(data));
  if (!has_change(data)) return noise.empty() ? "" : noise + "\n\n";
  const PatchCounts patches = count_patches(data.results);
  std::string out = "## Change\n\nPatches: " + std::to_string(patches.ready) + " ready, " +
                    std::to_string(patches.withheld) + " withheld";
  std::string separator = " (";
  for (const auto& [code, count] : patches.codes) {
    out += separator + std::to_string(count) + " `" + code + "`";
    separator = ", ";
  }
  if (!patches.codes.empty()) out += ")";
  return out + ". " + noise + "\n\n";
}

std::string change_note(const json& unit) {
  constexpr std::size_t kMovesShown = 2;
  std::string out;
  std::size_t targets = 0;
  for (const json& move : list_of(member(comparison_of(unit), "change"), "moved")) {
    if (!flag_of(move, "target") || ++targets > kMovesShown) continue;
    const std::string from = text_of(move, "from");
    out += (out.empty() ? "" : ", ") + text_of(move, "module") + " " +
           (from.empty() ? "" : from + " -> ") + text_of(move, "to");
  }
  if (targets > kMovesShown) out += " and " + std::to_string(targets - kMovesShown) + " more";
  const json& patch = member(comparison_of(unit), "patch");
  const std::string state = text_of(patch, "state");
  if (state != "ready" && state != "withheld") return out;
  out += (out.empty() ? "" : "; ") + std::string("patch ") + state;
  std::string separator = ": ";
  for (const json& code : list_of(patch, "codes")) {
    if (!code.is_string()) continue;
    out += separator + code.get<std::string>();
    separator = ", ";
  }
  return out;
}

std::string hits_text(const json& item) {
  const auto side = [&item](const char* name) {
    const json& counts = member(item, name);
    return text_of(counts, "hits") + " of " + text_of(counts, "runs");
  };
  return side("after") + " runs after, " + side("before") + " before";
}

}  // namespace cupel::cli
