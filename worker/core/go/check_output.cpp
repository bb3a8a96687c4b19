#include "worker/core/go/check_output.hpp"

#include "worker/core/go/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace cupel::worker::go {
namespace {

using nlohmann::json;

constexpr std::size_t kMessageBytes = 2048;
constexpr std::size_t kRuleBytes = 120;
constexpr std::size_t kNestingMax = 64;
constexpr std::string_view kSarifVersion = "2.1.0";

bool is_rule(std::string_view text) {
  return !text.empty() && text.size() <= kRuleBytes &&
         std::ranges::none_of(text, [](char c) { return c == ' ' || c == '\t'; });
}

/// "message (rule)" and "message [rule]".
void split_rule(Reported& one) {
  const std::string_view text = one.message;
  if (text.size() < 4) return;
  const char close = text.back();
  if (close != ')' && close != ']') return;
  const std::size_t open = text.rfind(close == ')' ? '(' : '[');
  if (open == std::string_view::npos || open < 2 || text[open - 1] != ' ') return;
  const std::string_view rule = text.substr(open + 1, text.size() - open - 2);
  if (!is_rule(rule)) return;
  one.rule = rule;
  one.message = std::string(trim(text.substr(0, open)));
}

void keep(CheckOutput& out, Reported one) {
  if (out.all.size() == kReportedMax) {
    out.truncated = true;
  } else {
    out.all.push_back(std::move(one));
  }
}

const json& member(const json& object, const char* name) {
  static const json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

std::string text_member(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::int32_t number_of(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_number_integer()) return 0;
  const auto number = value.get<std::int64_t>();
  return number > 0 && number <= INT32_MAX ? static_cast<std::int32_t>(number) : 0;
}

/// "file:///src/a/b.go" and relative references; %20 stays as it is.
std::string path_of(std::string uri) {
  constexpr std::string_view kFile = "file://";
  if (uri.starts_with(kFile)) uri.erase(0, kFile.size());
  return uri;
}

bool is_suppressed(const json& result) {
  const json& list = member(result, "suppressions");
  if (!list.is_array()) return false;
  return std::ranges::any_of(list, [](const json& one) {
    const std::string status = text_member(one, "status");
    return status.empty() || status == "accepted";
  });
}

Reported reported(const json& result) {
  Reported one;
  one.rule = text_member(result, "ruleId");
  if (one.rule.empty()) one.rule = text_member(member(result, "rule"), "id");
  one.rule = std::string(cut(one.rule, kRuleBytes));
  one.message = clean(text_member(member(result, "message"), "text"), kMessageBytes);
  const std::string level = text_member(result, "level");
  const std::string kind = text_member(result, "kind");
  one.remark = level == "none" || level == "note" || (!kind.empty() && kind != "fail");
  const json& locations = member(result, "locations");
  if (locations.is_array() && !locations.empty()) {
    const json& place = member(locations.front(), "physicalLocation");
    one.file = path_of(text_member(member(place, "artifactLocation"), "uri"));
    const json& region = member(place, "region");
    one.line = number_of(region, "startLine");
    one.column = number_of(region, "startColumn");
  }
  return one;
}

/// Deep nesting costs the parser nothing and its destructor a stack.
bool nests_too_deeply(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kNestingMax) return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace

CheckOutput read_lines(std::string_view text) {
  CheckOutput out;
  for (const std::string_view line : lines_of(text)) {
    const Position position = split_position(line);
    if (position.line == 0 || trim(position.rest).empty()) continue;
    Reported one;
    one.file = std::string(trim(position.file));
    one.line = position.line;
    one.column = position.column;
    one.message = clean(trim(position.rest), kMessageBytes);
    split_rule(one);
    keep(out, std::move(one));
  }
  return out;
}

std::optional<CheckOutput> read_sarif(std::string_view text) {
  if (nests_too_deeply(text)) return std::nullopt;
  const json document = json::parse(text, nullptr, false);
  if (text_member(document, "version") != kSarifVersion) return std::nullopt;
  const json& runs = member(document, "runs");
  if (!runs.is_array()) return std::nullopt;
  CheckOutput out;
  for (const json& run : runs) {
    const json& results = member(run, "results");
    if (results.is_null()) continue;
    if (!results.is_array()) return std::nullopt;
    for (const json& result : results) {
      if (!result.is_object()) return std::nullopt;
      if (is_suppressed(result) || text_member(result, "baselineState") == "absent") continue;
      keep(out, reported(result));
    }
  }
  return out;
}

}  // namespace cupel::worker::go
