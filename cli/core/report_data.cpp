#include "cli/core/report_data.hpp"

#include "common/core/finding.hpp"
#include "common/text/utf8.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace cupel::cli {
namespace {

int reading_rank(const std::string& verdict) {
  constexpr std::array<std::string_view, 7> kOrder = {
      "regressed", "failing", "changed_failure", "inconclusive", "refused", "cancelled", "open"};
  const auto found = std::ranges::find(kOrder, verdict);
  return static_cast<int>(found - kOrder.begin());
}

}  // namespace

const json& member(const json& object, std::string_view key) {
  static const json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(std::string(key));
  return found == object.end() ? kNull : *found;
}

std::string text_of(const json& object, std::string_view key) {
  const json& value = member(object, key);
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? value.dump() : "";
}

double number_of(const json& object, std::string_view key, double fallback) {
  const json& value = member(object, key);
  return value.is_number() ? value.get<double>() : fallback;
}

bool flag_of(const json& object, std::string_view key) {
  const json& value = member(object, key);
  return value.is_boolean() && value.get<bool>();
}

const json& list_of(const json& object, std::string_view key) {
  static const json kEmpty = json::array();
  const json& value = member(object, key);
  return value.is_array() ? value : kEmpty;
}

std::string unit_name(const json& unit) {
  const std::string dir = text_of(unit, "dir");
  std::string name = text_of(unit, "repository");
  if (name.empty()) name = text_of(unit, "module");
  return dir.empty() || dir == "." ? name : name + "/" + dir;
}

std::string verdict_of(const json& unit) {
  const std::string verdict = text_of(unit, "verdict");
  return verdict.empty() ? "open" : verdict;
}

std::vector<std::pair<std::string, std::size_t>> count_verdicts(const std::vector<json>& results) {
  std::map<std::string, std::size_t> counts;
  for (const json& unit : results) ++counts[verdict_of(unit)];
  std::vector<std::pair<std::string, std::size_t>> ordered;
  for (std::size_t i = 0; i < count_of<Verdict>(); ++i) {
    const auto found = counts.find(std::string(name(static_cast<Verdict>(i))));
    if (found == counts.end()) continue;
    ordered.emplace_back(*found);
    counts.erase(found);
  }
  // What is left: open ones, and words of a newer coordinator.
  ordered.insert(ordered.end(), counts.begin(), counts.end());
  return ordered;
}

std::string message_of(const json& unit) {
  std::string message = text_of(unit, "message");
  const std::string prefix = text_of(unit, "reason") + ": ";
  if (message.starts_with(prefix)) message.erase(0, prefix.size());
  return message;
}

std::string sum_line(const std::vector<json>& results) {
  std::string out = std::to_string(results.size()) + (results.size() == 1 ? " unit" : " units");
  std::string_view separator = " = ";
  for (const auto& [verdict, count] : count_verdicts(results)) {
    out += std::string(separator) + std::to_string(count) + " " + verdict;
    separator = " + ";
  }
  return out;
}

std::vector<const json*> in_reading_order(const std::vector<json>& results) {
  std::vector<std::tuple<int, std::string, const json*>> keyed;
  keyed.reserve(results.size());
  for (const json& unit : results)
    keyed.emplace_back(reading_rank(verdict_of(unit)), unit_name(unit), &unit);
  std::ranges::sort(keyed, [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  std::vector<const json*> ordered;
  ordered.reserve(keyed.size());
  for (const auto& entry : keyed) ordered.push_back(std::get<2>(entry));
  return ordered;
}

std::string excerpt_of(std::string_view text) {
  constexpr std::size_t kLines = 20;
  constexpr std::size_t kBytes = 2'000;
  const std::string clean = text::printable(text);
  std::string_view kept = text::cut_to_bytes(clean, kBytes);
  std::size_t end = 0;
  for (std::size_t lines = 0; lines < kLines && end < kept.size(); ++lines) {
    end = std::min(kept.find('\n', end), kept.size() - 1) + 1;
  }
  std::string out(kept.substr(0, end));
  while (out.ends_with('\n')) out.pop_back();
  return out.size() + 1 < clean.size() ? out + "\n…" : out;
}

std::string first_line(std::string_view text, std::size_t columns) {
  std::string line = text::printable(headline_of(text));
  std::ranges::replace(line, '\t', ' ');
  return text::shortened(line, columns);
}

std::vector<std::string> verdict_words() {
  std::vector<std::string> words = {"open"};
  for (std::size_t i = 0; i < count_of<Verdict>(); ++i) {
    words.emplace_back(cupel::name(static_cast<Verdict>(i)));
  }
  return words;
}

}  // namespace cupel::cli
