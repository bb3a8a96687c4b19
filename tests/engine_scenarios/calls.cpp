#include "tests/engine_scenarios/calls.hpp"

#include "tests/engine_scenarios/reader.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <set>

namespace cupel::scenarios {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kShownBytesMax = 200;

std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr ==
            text.data() + i + 3) {
      plain += static_cast<char>(byte);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> all;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    all.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return all;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<std::string> body_differs(const ExpectedCall& expected, const RecordedCall& call) {
  if (expected.body.empty()) return std::nullopt;
  const Json json = Json::parse(call.body, nullptr, false);
  for (const auto& [pointer, wanted] : expected.body) {
    std::string value = "absent";
    if (json.is_structured()) {
      // A pointer is written by a person: one that can't be read points to nothing.
      try {
        const Json::json_pointer where(pointer);
        if (json.contains(where)) value = text_of(json.at(where));
      } catch (const Json::exception&) {
        value = "absent";
      }
    }
    if (auto why = differs("body " + pointer, wanted, value)) return why;
  }
  return std::nullopt;
}

bool takes(const ExpectedCall& expected, const RecordedCall& call) {
  return matches(expected.pattern, call) && !body_differs(expected, call);
}

/// Where a reading of the calls stands: in a group, with what was counted of each of its calls.
struct Place {
  std::size_t group = 0;
  std::vector<std::uint64_t> counts;
  friend auto operator<=>(const Place&, const Place&) = default;
};

class Matcher {
 public:
  explicit Matcher(const std::vector<ExpectedGroup>& expected) : expected_(expected) {
    enter(at(0), places_);
  }

  [[nodiscard]] bool take(const RecordedCall& call) {
    std::set<Place> next;
    for (const Place& place : places_) {
      if (place.group >= expected_.size()) continue;
      const std::vector<ExpectedCall>& calls = expected_[place.group].calls;
      for (std::size_t i = 0; i < calls.size(); ++i) {
        if (place.counts[i] >= calls[i].times_max || !takes(calls[i], call)) continue;
        Place moved = place;
        // Beyond the minimum an open end needs no counting.
        if (moved.counts[i] < calls[i].times_min || calls[i].times_max != UINT64_MAX)
          ++moved.counts[i];
        enter(moved, next);
      }
    }
    if (next.empty()) return false;
    places_ = std::move(next);
    return true;
  }
  [[nodiscard]] bool finished() const {
    return std::ranges::any_of(places_,
                               [&](const Place& place) { return place.group == expected_.size(); });
  }
  /// What could come next, or still must.
  [[nodiscard]] std::string open() const {
    std::set<std::string> all;
    for (const Place& place : places_) {
      if (place.group >= expected_.size()) {
        all.insert("the end");
        continue;
      }
      const std::vector<ExpectedCall>& calls = expected_[place.group].calls;
      for (std::size_t i = 0; i < calls.size(); ++i) {
        if (place.counts[i] >= calls[i].times_max) continue;
        all.insert(calls[i].pattern.text + " (line " + std::to_string(calls[i].line) + ")");
      }
    }
    std::string text;
    for (const std::string& one : all) text += (text.empty() ? "" : " or ") + one;
    return text;
  }
  /// A call of the right path whose body is another: why.
  [[nodiscard]] std::string body_trouble(const RecordedCall& call) const {
    for (const Place& place : places_) {
      if (place.group >= expected_.size()) continue;
      for (const ExpectedCall& one : expected_[place.group].calls) {
        if (!matches(one.pattern, call)) continue;
        if (const auto why = body_differs(one, call)) return "; " + *why;
      }
    }
    return {};
  }

 private:
  [[nodiscard]] Place at(std::size_t group) const {
    return {group, std::vector<std::uint64_t>(
                       group < expected_.size() ? expected_[group].calls.size() : 0)};
  }
  /// The place, and those behind it that nothing keeps from being reached.
  void enter(const Place& place, std::set<Place>& places) const {
    if (!places.insert(place).second || place.group >= expected_.size()) return;
    const std::vector<ExpectedCall>& calls = expected_[place.group].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (place.counts[i] < calls[i].times_min) return;
    }
    enter(at(place.group + 1), places);
  }

  const std::vector<ExpectedGroup>& expected_;
  std::set<Place> places_;
};

}  // namespace

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kShownBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\x%02x", byte);
      out += code.data();
    } else {
      out += c;
    }
  }
  if (text.size() > kShownBytesMax) out += "... (" + std::to_string(text.size()) + " bytes)";
  return out;
}

std::string RecordedCall::text() const {
  std::string all = method + " " + path;
  char mark = '?';
  for (const auto& [key, value] : query) {
    all += mark + key + "=" + value;
    mark = '&';
  }
  return all;
}

RecordedCall recorded_call(std::string method, std::string_view target) {
  RecordedCall call;
  call.method = std::move(method);
  const std::size_t mark = std::min(target.find('?'), target.size());
  std::string_view path = target.substr(0, mark);
  if (path.size() > 2 && path[1] == 'v' && path[2] >= '0' && path[2] <= '9') {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    call.version = std::string(path.substr(2, end - 2));
    path.remove_prefix(end);
  }
  call.path = unescaped(path);
  std::string_view query = target.substr(std::min(mark + 1, target.size()));
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    call.query[unescaped(pair.substr(0, equals))] =
        unescaped(pair.substr(std::min(equals + 1, pair.size())));
  }
  return call;
}

bool matches(const CallPattern& pattern, const RecordedCall& call) {
  if (pattern.method != "*" && pattern.method != call.method) return false;
  const std::vector<std::string> segments = segments_of(call.path);
  std::size_t i = 0;
  for (; i < pattern.segments.size(); ++i) {
    if (pattern.segments[i] == "**") {
      i = segments.size();
      break;
    }
    if (i >= segments.size() || (pattern.segments[i] != "*" && pattern.segments[i] != segments[i]))
      return false;
  }
  if (i != segments.size()) return false;
  return std::ranges::all_of(pattern.query, [&](const auto& wanted) {
    const auto found = call.query.find(wanted.first);
    if (wanted.second == "none") return found == call.query.end();
    return found != call.query.end() && found->second == wanted.second;
  });
}

std::optional<std::string> differs(const std::vector<ExpectedGroup>& expected,
                                   const std::vector<RecordedCall>& calls) {
  Matcher matcher(expected);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (matcher.take(calls[i])) continue;
    return "call " + std::to_string(i + 1) + " is " + shown(calls[i].text()) + ", expected " +
           matcher.open() + matcher.body_trouble(calls[i]);
  }
  if (matcher.finished()) return std::nullopt;
  return "after " + std::to_string(calls.size()) + " calls, still expected " + matcher.open();
}

std::optional<std::string> differs(const std::string& name, const Wanted& wanted,
                                   const std::string& value) {
  const std::string is = name + " is '" + shown(value) + "'";
  if (wanted.is && value != *wanted.is) return is + ", expected '" + shown(*wanted.is) + "'";
  if (wanted.is_not && value == *wanted.is_not) return is + ", which it must not be";
  for (const std::string& part : wanted.contains) {
    if (value.find(part) == std::string::npos)
      return is + ", expected to contain '" + shown(part) + "'";
  }
  for (const std::string& part : wanted.contains_not) {
    if (value.find(part) != std::string::npos)
      return is + ", which must not contain '" + shown(part) + "'";
  }
  if (!wanted.one_of.empty() && std::ranges::find(wanted.one_of, value) == wanted.one_of.end()) {
    std::string all;
    for (const std::string& one : wanted.one_of) all += (all.empty() ? "" : ", ") + one;
    return is + ", expected one of " + all;
  }
  if (!wanted.at_least && !wanted.at_most) return std::nullopt;
  double number = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
  if (parsed.ec != std::errc{} || parsed.ptr != value.data() + value.size())
    return is + ", expected a number";
  if (wanted.at_least && number < *wanted.at_least) {
    return is + ", expected at least " + std::to_string(*wanted.at_least);
  }
  if (wanted.at_most && number > *wanted.at_most)
    return is + ", expected at most " + std::to_string(*wanted.at_most);
  return std::nullopt;
}

}  // namespace cupel::scenarios
