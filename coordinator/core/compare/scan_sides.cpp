#include "coordinator/core/compare/scan_sides.hpp"

#include "common/core/scan_compare.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace cupel::coordinator::compare {
namespace {

using nlohmann::json;

constexpr std::size_t kListedMax = 200;
constexpr std::size_t kNamedMax = 5;

json list_json(const std::vector<Vulnerability>& all) {
  json list = json::array();
  for (const Vulnerability& one : all) {
    if (list.size() == kListedMax) break;
    list.push_back({{"osv", one.osv},
                    {"module", one.module},
                    {"found_version", one.found_version},
                    {"fixed_version", one.fixed_version},
                    {"level", cupel::name(one.level)},
                    {"package", one.package},
                    {"symbol", one.symbol},
                    {"summary", one.summary}});
  }
  return list;
}

std::string named(const std::vector<Vulnerability>& all) {
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), kNamedMax); ++i) {
    text += (i == 0 ? "" : ", ") + all[i].osv + " " + all[i].module;
  }
  if (all.size() > kNamedMax) text += ", and " + std::to_string(all.size() - kNamedMax) + " more";
  return text;
}

/// Advisories of a module that was upgraded because of them.
std::vector<Vulnerability> unresolved(const ScanDifference& difference, const ChangeNote& change) {
  std::vector<Vulnerability> left;
  for (const auto* list : {&difference.persisting, &difference.escalated}) {
    for (const Vulnerability& one : *list) {
      const bool target = std::ranges::find(change.resolved, one.module, &ModuleTarget::module) !=
                          change.resolved.end();
      if (target) left.push_back(one);
    }
  }
  return left;
}

}  // namespace

void note_scan(Book& book, Side side, const TaskResult& result) {
  auto& kept = side == Side::before ? book.scan_before : book.scan_after;
  if (result.scan && !kept) kept = result.scan;
}

std::vector<GateFinding> scan_gates(const Book& book) {
  std::vector<GateFinding> gates;
  if (!book.scan_before && !book.scan_after) return gates;
  if (!book.scan_before || !book.scan_after) {
    gates.push_back({Gate::scan_inconclusive, book.scan_before
                                                  ? "the after side has no conclusive scan"
                                                  : "the before side has no conclusive scan"});
    return gates;
  }
  const std::string why = why_incomparable(*book.scan_before, *book.scan_after);
  if (!why.empty()) {
    gates.push_back({Gate::scan_not_bound, why});
    return gates;
  }
  const ScanDifference difference = compare_scans(*book.scan_before, *book.scan_after);
  std::vector<Vulnerability> worse = difference.introduced;
  worse.insert(worse.end(), difference.escalated.begin(), difference.escalated.end());
  if (!worse.empty()) gates.push_back({Gate::advisory_introduced, named(worse)});
  if (book.change) {
    const auto left = unresolved(difference, *book.change);
    if (!left.empty()) gates.push_back({Gate::advisory_not_resolved, named(left)});
  }
  return gates;
}

json scan_json(const Book& book) {
  if (!book.scan_before || !book.scan_after) return nullptr;
  const ScanDifference difference = compare_scans(*book.scan_before, *book.scan_after);
  return {{"resolved", list_json(difference.resolved)},
          {"introduced", list_json(difference.introduced)},
          {"escalated", list_json(difference.escalated)},
          {"persisting", list_json(difference.persisting)}};
}

}  // namespace cupel::coordinator::compare
