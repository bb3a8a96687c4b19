// What a scenario expects: facts of a step and of the end, and the calls that are made.
#include "tests/engine_scenarios/read_parts.hpp"

#include <charconv>
#include <utility>

namespace cupel::scenarios {

namespace {

using text::Node;

double seconds_of(Duration time) {
  return std::chrono::duration<double>(time).count();
}

/// A number, or a time as seconds.
double as_amount(Reader& reader, const Node& node, const std::string& what) {
  if (const auto time = node.is_scalar() ? parse_time(node.scalar) : std::nullopt) {
    return seconds_of(*time * reader.slower());
  }
  double number = 0;
  if (node.is_scalar()) {
    const char* const end = node.scalar.data() + node.scalar.size();
    const auto parsed = std::from_chars(node.scalar.data(), end, number);
    if (parsed.ec == std::errc{} && parsed.ptr == end) return number;
  }
  reader.fault(node, what + ": must be a number or a time such as 2s");
  return 0;
}

Wanted read_one_wanted(Reader& reader, const Node& node, const std::string& what) {
  Wanted wanted{.line = node.line, .column = node.column};
  if (!node.is_map() || node.find("hex") != nullptr || node.find("repeat") != nullptr) {
    wanted.is = node.is_null() ? std::string() : reader.as_bytes(node, what);
    return wanted;
  }
  if (!reader.keys(node, what,
                   {"is", "not", "contains", "contains_not", "one_of", "at_least", "at_most"})) {
    return wanted;
  }
  if (node.entries.empty()) reader.fault(node, what + ": says nothing");
  if (const Node* const is = node.find("is")) wanted.is = reader.as_bytes(*is, what + ".is");
  if (const Node* const is_not = node.find("not"))
    wanted.is_not = reader.as_bytes(*is_not, what + ".not");
  if (const Node* const all = node.find("contains"))
    wanted.contains = reader.as_texts(*all, what + ".contains");
  if (const Node* const all = node.find("contains_not")) {
    wanted.contains_not = reader.as_texts(*all, what + ".contains_not");
  }
  if (const Node* const all = node.find("one_of"))
    wanted.one_of = reader.as_texts(*all, what + ".one_of");
  if (const Node* const least = node.find("at_least"))
    wanted.at_least = as_amount(reader, *least, what + ".at_least");
  if (const Node* const most = node.find("at_most"))
    wanted.at_most = as_amount(reader, *most, what + ".at_most");
  return wanted;
}

/// "2", "1-3", "2+".
void read_call_times(Reader& reader, const Node& node, ExpectedCall& call) {
  const std::string text = reader.as_text(node, "times");
  const auto number = [](std::string_view part) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), value);
    if (part.empty() || parsed.ec != std::errc{} || parsed.ptr != part.data() + part.size())
      return std::nullopt;
    return value;
  };
  std::optional<std::uint64_t> from;
  std::optional<std::uint64_t> to;
  if (text.ends_with('+')) {
    from = number(std::string_view(text).substr(0, text.size() - 1));
    to = UINT64_MAX;
  } else if (const std::size_t dash = text.find('-'); dash != std::string::npos) {
    from = number(std::string_view(text).substr(0, dash));
    to = number(std::string_view(text).substr(dash + 1));
  } else {
    from = to = number(text);
  }
  if (!from || !to || *from > *to || *to == 0) {
    reader.fault(node, "times: must be such as 2, 1-3 or 2+");
    return;
  }
  call.times_min = *from;
  call.times_max = *to;
}

ExpectedCall read_expected_call(Reader& reader, const Node& node) {
  ExpectedCall call;
  call.line = node.line;
  if (node.is_scalar()) {
    call.pattern = read_pattern(reader, node);
    return call;
  }
  if (!reader.keys(node, "expected call", {"call", "times", "optional", "body"})) return call;
  if (const Node* const text = node.find("call")) {
    call.pattern = read_pattern(reader, *text);
  } else {
    reader.fault(node, "expected call: 'call' is missing");
  }
  if (const Node* const times = node.find("times")) read_call_times(reader, *times, call);
  bool optional = false;
  reader.flag(node, "optional", optional);
  if (optional) call.times_min = 0;
  if (const Node* const body = node.find("body")) {
    call.body = read_wanted(reader, *body, "body", nullptr);
    for (const text::Entry& entry : body->entries) {
      if (!entry.key.starts_with('/')) {
        reader.fault(entry.value, "body: '" + entry.key + "' is no JSON pointer",
                     "such as /HostConfig/AutoRemove");
      }
    }
  }
  return call;
}

}  // namespace

WantedFacts read_wanted(Reader& reader, const Node& node, const std::string& what,
                        const std::vector<std::string>* known) {
  WantedFacts wanted;
  if (known != nullptr ? !reader.keys(node, what, *known) : !node.is_map()) {
    if (known == nullptr) reader.fault(node, what + ": must be a map");
    return wanted;
  }
  for (const text::Entry& entry : node.entries) {
    wanted[entry.key] = read_one_wanted(reader, entry.value, what + "." + entry.key);
    if (wanted[entry.key].line == 0 || entry.value.is_null()) {
      wanted[entry.key].line = entry.line;
      wanted[entry.key].column = entry.column;
    }
  }
  return wanted;
}

void read_expected_calls(Reader& reader, const Node& node, Scenario& scenario) {
  if (node.is_scalar() && node.scalar == "any") {
    scenario.calls_checked = false;
    return;
  }
  if (!node.is_list()) {
    reader.fault(node, "calls: must be a list, or the word any");
    return;
  }
  for (const Node& item : node.items) {
    ExpectedGroup group;
    if (const Node* const list = item.find("any_order")) {
      if (!reader.keys(item, "calls", {"any_order"})) continue;
      if (!list->is_list() || list->items.empty())
        reader.fault(*list, "any_order: must be a list of calls");
      for (const Node& one : list->items) group.calls.push_back(read_expected_call(reader, one));
    } else {
      group.calls.push_back(read_expected_call(reader, item));
    }
    scenario.calls.push_back(std::move(group));
  }
}

}  // namespace cupel::scenarios
