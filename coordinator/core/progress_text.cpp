// Progress as the text that the store keeps, and back.
#include "coordinator/core/compare/facts_json.hpp"
#include "coordinator/core/recipe.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace cupel::coordinator::planner {
namespace {

using nlohmann::json;

json probe_json(const ProbeRun& probe) {
  if (probe.run) return compare::to_json(*probe.run);
  return probe.unchanged ? "unchanged" : "unresolved";
}

}  // namespace

std::string progress_text(const Progress& progress) {
  json out = {{"book", compare::to_json(progress.book)}};
  if (!progress.before_tree.empty()) out["before_tree"] = progress.before_tree;
  if (progress.modules_done) out["modules"] = true;
  if (progress.modules_after_done) out["modules_after"] = true;
  if (progress.sample) out["sample"] = true;
  if (progress.asked_baseline) out["asked_baseline"] = true;
  if (progress.confirmation != Confirmation::undecided) {
    out["elsewhere"] = progress.confirmation == Confirmation::elsewhere;
  }
  if (progress.reused) {
    out["reused"] = {{"campaign", progress.reused->campaign.text()},
                     {"unit", progress.reused->unit.text()},
                     {"at_us", progress.reused->at.us}};
  }
  if (progress.probe_changed) out["probe_changed"] = true;
  if (progress.probe_modules) out["probe_modules"] = true;
  for (const ProbeRun& probe : progress.probes) out["probes"].push_back(probe_json(probe));
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Progress progress_from_text(const std::string& text) {
  Progress progress;
  const json in = json::parse(text, nullptr, false);
  if (!in.is_object()) return progress;
  const auto flag = [&in](const char* key) {
    const auto found = in.find(key);
    return found != in.end() && found->is_boolean() && found->get<bool>();
  };
  if (const auto book = in.find("book"); book != in.end()) {
    progress.book = compare::book_from_json(*book);
  }
  if (const auto tree = in.find("before_tree"); tree != in.end() && tree->is_string()) {
    progress.before_tree = tree->get<std::string>();
  }
  progress.modules_done = flag("modules");
  progress.modules_after_done = flag("modules_after");
  progress.sample = flag("sample");
  progress.asked_baseline = flag("asked_baseline");
  if (in.contains("elsewhere")) {
    progress.confirmation = flag("elsewhere") ? Confirmation::elsewhere : Confirmation::here;
  }
  if (const auto reused = in.find("reused"); reused != in.end() && reused->is_object()) {
    progress.reused =
        Reused{CampaignId::parse(reused->value("campaign", "")).value_or(CampaignId{}),
               UnitId::parse(reused->value("unit", "")).value_or(UnitId{}),
               {reused->value("at_us", std::int64_t{0})}};
  }
  progress.probe_changed = flag("probe_changed");
  progress.probe_modules = flag("probe_modules");
  const auto probes = in.find("probes");
  if (probes == in.end() || !probes->is_array()) return progress;
  for (const json& one : *probes) {
    ProbeRun probe;
    probe.unchanged = one == "unchanged";
    probe.unresolved = one == "unresolved";
    if (one.is_object()) probe.run = compare::run_from_json(one, progress.book.marks.size());
    progress.probes.push_back(std::move(probe));
  }
  return progress;
}

}  // namespace cupel::coordinator::planner
