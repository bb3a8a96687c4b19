/// What the API says about a campaign, as the report writers and tables use it. Nothing here trusts
/// the shape of the JSON: a missing or odd member is empty.
#pragma once

#include "common/core/outcome.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::cli {

using nlohmann::json;

struct ReportData {
  json campaign;              ///< Summary of docs/api.md.
  json document;              ///< Canonical JSON of the campaign file; null where it isn't known.
  std::vector<json> results;  ///< Units of docs/api.md, in any order.
};

/// A member, null where it is missing.
[[nodiscard]] const json& member(const json& object, std::string_view key);
/// A member as text: a string as it is, a number as written, else "".
[[nodiscard]] std::string text_of(const json& object, std::string_view key);
[[nodiscard]] double number_of(const json& object, std::string_view key, double fallback = 0);
[[nodiscard]] bool flag_of(const json& object, std::string_view key);
/// A member that is an array; else an empty one.
[[nodiscard]] const json& list_of(const json& object, std::string_view key);

/// How a unit is called: the repository, and the folder below it where it is not the root.
[[nodiscard]] std::string unit_name(const json& unit);
/// The verdict's word, "open" while there is none.
[[nodiscard]] std::string verdict_of(const json& unit);

/// Verdict and number of units, in the order of the enum, "open" last; zeros left out. Counted from
/// the results, so the sum is their number.
[[nodiscard]] std::vector<std::pair<std::string, std::size_t>> count_verdicts(
    const std::vector<json>& results);
/// The unit's message without the name of its reason, which stands beside it.
[[nodiscard]] std::string message_of(const json& unit);
/// What a unit may be: a verdict, or "open" while it has none.
[[nodiscard]] std::vector<std::string> verdict_words();
/// "12 units = 10 passing + 2 failing".
[[nodiscard]] std::string sum_line(const std::vector<json>& results);

/// Units ordered for people: failing, inconclusive, refused, cancelled, open, the others; then by
/// name.
[[nodiscard]] std::vector<const json*> in_reading_order(const std::vector<json>& results);

/// The first lines of a text without control characters: at most 20, and 2,000 bytes.
[[nodiscard]] std::string excerpt_of(std::string_view text);

/// First line of text, without control characters, at most `columns` wide.
[[nodiscard]] std::string first_line(std::string_view text, std::size_t columns);

}  // namespace cupel::cli
