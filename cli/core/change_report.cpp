#include "cli/core/change_report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace cupel::cli {
namespace {

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

const json& comparison_of(const json& unit) {
  return member(unit, "comparison");
}

}  // namespace

bool has_change(const ReportData& data) {
  const json& change = member(data.document, "change");
  if (change.is_object()) return !change.contains("none");
  return std::ranges::any_of(data.results,
                             [](const json& unit) { return comparison_of(unit).is_object(); });
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
