#include "common/core/scan_compare.hpp"

#include <map>
#include <string_view>
#include <utility>

namespace cupel {
namespace {

using Key = std::pair<std::string_view, std::string_view>;  // module, osv

std::map<Key, const Vulnerability*> by_key(const ScanFacts& scan) {
  std::map<Key, const Vulnerability*> all;
  for (const Vulnerability& one : scan.vulnerabilities) {
    const auto [place, fresh] = all.emplace(Key{one.module, one.osv}, &one);
    if (!fresh && place->second->level < one.level) place->second = &one;
  }
  return all;
}

}  // namespace

std::string why_incomparable(const ScanFacts& before, const ScanFacts& after) {
  if (before.scanner_version != after.scanner_version) return "the scanners differ";
  if (before.database_id != after.database_id || before.database_time != after.database_time) {
    return "the databases differ";
  }
  if (before.go_version != after.go_version) return "the Go versions differ";
  return {};
}

ScanDifference compare_scans(const ScanFacts& before, const ScanFacts& after) {
  const auto old_ones = by_key(before);
  const auto new_ones = by_key(after);
  ScanDifference difference;
  for (const auto& [key, one] : old_ones) {
    if (!new_ones.contains(key)) difference.resolved.push_back(*one);
  }
  for (const auto& [key, one] : new_ones) {
    const auto earlier = old_ones.find(key);
    if (earlier == old_ones.end()) {
      difference.introduced.push_back(*one);
    } else if (earlier->second->level < one->level) {
      difference.escalated.push_back(*one);
    } else {
      difference.persisting.push_back(*one);
    }
  }
  return difference;
}

}  // namespace cupel
