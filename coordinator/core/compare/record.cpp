#include "coordinator/core/compare/record.hpp"

#include "coordinator/core/compare/facts_json.hpp"
#include "coordinator/core/compare/scan_sides.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace cupel::coordinator::compare {
namespace {

using nlohmann::json;

constexpr std::size_t kItemsMax = 200;  ///< Of each list; the count says how many there were.
constexpr std::size_t kMovedMax = 200;
constexpr std::array<std::string_view, 3> kStates = {"none", "ready", "withheld"};
constexpr std::array<std::string_view, 3> kFates = {"confirmed", "refuted", "open"};

json side_json(const std::vector<Run>& runs) {
  if (runs.empty()) return nullptr;
  const Run& first = runs.front();
  const auto failed = std::ranges::count(runs, Outcome::failing, &Run::outcome);
  const auto counted =
      std::ranges::count_if(runs, [](const Run& run) { return is_conclusive(run); });
  json tasks = json::array();
  json workers = json::array();
  for (const Run& run : runs) {
    tasks.push_back(run.task.text());
    workers.push_back(run.worker ? json(run.worker.text()) : json());
  }
  return {{"outcome", cupel::name(first.outcome)},
          {"reason", cupel::name(first.reason)},
          {"message", first.message},
          {"task", first.task.text()},
          {"tasks", std::move(tasks)},
          {"workers", std::move(workers)},
          {"runs", runs.size()},
          {"counted", counted},
          {"failed", failed},
          {"packages", first.packages},
          {"tests", first.tests},
          {"tests_not_run", first.tests_not_run},
          {"conditions", to_json(first.conditions)}};
}

json item_json(const Book& book, std::uint32_t index) {
  const Mark& mark = book.marks[index];
  json out = {{"kind", cupel::name(mark.kind)},
              {"check", cupel::name(mark.check)},
              {"key", mark.key},
              {"signature", mark.signature},
              {"package", mark.package},
              {"test", mark.test},
              {"file", mark.file},
              {"line", mark.line},
              {"message", mark.message},
              {"environment", mark.environment},
              {"inferred", mark.inferred}};
  const ModuleMove* move = book.change ? dependency_of(mark, *book.change) : nullptr;
  if (move != nullptr) {
    out["dependency"] = {{"module", move->module}, {"from", move->from}, {"to", move->to}};
  }
  return out;
}

json items_json(const Book& book, const std::vector<Item>& items) {
  json list = json::array();
  for (const Item& item : items) {
    if (list.size() == kItemsMax) break;
    json one = item_json(book, item.mark);
    one["before"] = item.before;
    one["after"] = item.after;
    list.push_back(std::move(one));
  }
  return list;
}

/// The package stands for its findings only where they were others each time.
bool stands_for_findings(const Book& book, const Conclusion& conclusion, const Tally& package) {
  if (package.fate != Fate::confirmed) return false;
  return std::ranges::none_of(conclusion.tallies, [&](const Tally& one) {
    return !one.package && one.what == package.what && one.fate == Fate::confirmed &&
           book.marks[one.mark].package == book.marks[package.mark].package;
  });
}

json tallies_json(const Book& book, const Conclusion& conclusion, Tally::What what) {
  json list = json::array();
  for (const Tally& tally : conclusion.tallies) {
    if (tally.what != what || list.size() == kItemsMax) continue;
    if (tally.package && !stands_for_findings(book, conclusion, tally)) continue;
    json one = item_json(book, tally.mark);
    if (tally.package) one["key"] = tally.identity;
    one["fate"] = kFates.at(static_cast<std::size_t>(tally.fate));
    one["before"] = {{"hits", tally.before_hits}, {"runs", conclusion.before_runs}};
    one["after"] = {{"hits", tally.after_hits}, {"runs", conclusion.after_runs}};
    list.push_back(std::move(one));
  }
  return list;
}

json flakes_json(const Book& book, const Conclusion& conclusion) {
  json list = json::array();
  for (const Flake& flake : conclusion.flakes) {
    if (list.size() == kItemsMax) break;
    json one = item_json(book, flake.mark);
    one["side"] = cupel::name(flake.side);
    one["hits"] = flake.hits;
    one["runs"] = flake.runs;
    list.push_back(std::move(one));
  }
  return list;
}

/// What a reader should know although it is no finding.
json remarks(const Book& book) {
  json list = json::array();
  if (book.before.empty() || book.after.empty()) return list;
  const Run& before = book.before.front();
  const Run& after = book.after.front();
  if (after.outcome == Outcome::passing && before.outcome == Outcome::passing &&
      after.tests < before.tests) {
    list.push_back("tests vanished: " + std::to_string(before.tests) + " ran before, " +
                   std::to_string(after.tests) + " with the change");
  }
  return list;
}

/// Two runs of the unchanged side.
json aa_json(const Book& book) {
  const Run& first = book.before[0];
  const Run& second = book.before[1];
  if (!is_conclusive(first) || !is_conclusive(second)) return nullptr;
  const Difference difference = difference_of(book, first, second);
  // Other words for the same problem are no sign of noise that could become a regression.
  const bool agree = first.outcome == second.outcome && difference.introduced.empty() &&
                     difference.resolved.empty() && difference.not_run.empty();
  return {{"agree", agree}};
}

json change_json(const ChangeNote& note) {
  json out = to_json(note);
  if (out["moved"].size() > kMovedMax) {
    out["moved_total"] = out["moved"].size();
    out["moved"].erase(out["moved"].begin() + static_cast<std::ptrdiff_t>(kMovedMax),
                       out["moved"].end());
  }
  return out;
}

}  // namespace

std::string_view name(PatchState state) {
  return kStates.at(static_cast<std::size_t>(state));
}

PatchState patch_state(Verdict verdict, const Book& book) {
  if (!book.change || book.change->patch == Digest{}) return PatchState::none;
  const bool good = verdict == Verdict::compatible || verdict == Verdict::fixed;
  const bool checked = !book.readiness || book.readiness->good();
  return good && checked && book.change->gates.empty() && scan_gates(book).empty()
             ? PatchState::ready
             : PatchState::withheld;
}

json record_of(const Book& book, Verdict verdict, const Conclusion* conclusion) {
  json out = {{"before", side_json(book.before)}, {"after", side_json(book.after)}};
  if (book.change) out["change"] = change_json(*book.change);
  json codes = json::array();
  const PatchState state = patch_state(verdict, book);
  if (state == PatchState::withheld) {
    // One module may trip a gate several times: the code says that it did.
    const auto add = [&codes](const std::vector<GateFinding>& gates) {
      for (const GateFinding& gate : gates) {
        const json code = cupel::name(gate.gate);
        if (std::ranges::find(codes, code) == codes.end()) codes.push_back(code);
      }
    };
    add(book.change->gates);
    add(scan_gates(book));
    if (book.readiness && !book.readiness->good()) {
      codes.push_back(book.readiness->conclusive ? "readiness_failed" : "readiness_inconclusive");
      add(book.readiness->gates);
    }
    if (codes.empty()) codes.push_back("verdict:" + std::string(cupel::name(verdict)));
  }
  out["patch"] = {{"state", name(state)}, {"codes", std::move(codes)}};
  out["readiness"] = book.readiness ? to_json(*book.readiness) : json();
  out["scan"] = scan_json(book);
  out["remarks"] = remarks(book);
  if (book.before.size() > 1) out["aa"] = aa_json(book);
  if (conclusion == nullptr) return out;
  out["introduced"] = tallies_json(book, *conclusion, Tally::What::introduced);
  out["resolved"] = tallies_json(book, *conclusion, Tally::What::resolved);
  out["altered"] = tallies_json(book, *conclusion, Tally::What::altered);
  out["not_run"] = items_json(book, conclusion->first.not_run);
  out["unchanged"] = items_json(book, conclusion->first.unchanged);
  out["counts"] = {{"introduced", conclusion->first.introduced.size()},
                   {"resolved", conclusion->first.resolved.size()},
                   {"altered", conclusion->first.altered.size()},
                   {"not_run", conclusion->first.not_run.size()},
                   {"unchanged", conclusion->first.unchanged.size()}};
  out["flakes"] = flakes_json(book, *conclusion);
  out["explained"] = conclusion->explained;
  return out;
}

}  // namespace cupel::coordinator::compare
