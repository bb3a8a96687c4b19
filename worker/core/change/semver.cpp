#include "worker/core/change/semver.hpp"

#include <algorithm>
#include <vector>

namespace cupel::worker::change {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit) &&
         (text.size() == 1 || text.front() != '0');
}

bool is_identifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool is_pre_release_text(std::string_view text) {
  return std::ranges::all_of(split(text, '.'), [](std::string_view part) {
    const bool digits = std::ranges::all_of(part, is_digit);
    return digits ? is_number(part) : is_identifier(part);
  });
}

std::strong_ordering compare_numbers(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  return a <=> b;
}

std::strong_ordering compare_pre(std::string_view a, std::string_view b) {
  if (a == b) return std::strong_ordering::equal;
  // A release is above its pre-releases.
  if (a.empty()) return std::strong_ordering::greater;
  if (b.empty()) return std::strong_ordering::less;
  const auto left = split(a, '.');
  const auto right = split(b, '.');
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (left[i] == right[i]) continue;
    const bool left_number = std::ranges::all_of(left[i], is_digit);
    const bool right_number = std::ranges::all_of(right[i], is_digit);
    if (left_number != right_number) {
      return left_number ? std::strong_ordering::less : std::strong_ordering::greater;
    }
    return left_number ? compare_numbers(left[i], right[i]) : left[i] <=> right[i];
  }
  return left.size() <=> right.size();
}

std::strong_ordering compare_parsed(const SemVersion& a, const SemVersion& b) {
  if (const auto order = compare_numbers(a.major, b.major); order != 0) return order;
  if (const auto order = compare_numbers(a.minor, b.minor); order != 0) return order;
  if (const auto order = compare_numbers(a.patch, b.patch); order != 0) return order;
  return compare_pre(a.pre, b.pre);
}

/// "1.21rc2" as {1, 21, "", "rc2"}.
struct GoLine {
  std::string major;
  std::string minor;
  std::string patch;
  std::string kind;
  std::string number;
};

GoLine parse_go_line(std::string_view text) {
  GoLine line;
  const auto digits = [&] {
    std::string out;
    while (!text.empty() && is_digit(text.front())) {
      out += text.front();
      text.remove_prefix(1);
    }
    return out;
  };
  line.major = digits();
  if (text.starts_with('.')) text.remove_prefix(1), line.minor = digits();
  if (text.starts_with('.')) text.remove_prefix(1), line.patch = digits();
  while (!text.empty() && !is_digit(text.front())) {
    line.kind += text.front();
    text.remove_prefix(1);
  }
  line.number = digits();
  return line;
}

}  // namespace

std::optional<SemVersion> parse_version(std::string_view text) {
  if (!text.starts_with('v') || text.size() > 256) return std::nullopt;
  text.remove_prefix(1);
  SemVersion version;
  if (const auto plus = text.find('+'); plus != std::string_view::npos) {
    version.build = text.substr(plus + 1);
    if (version.build != "incompatible") return std::nullopt;
    text = text.substr(0, plus);
  }
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    version.pre = text.substr(dash + 1);
    if (!is_pre_release_text(version.pre)) return std::nullopt;
    text = text.substr(0, dash);
  }
  const auto numbers = split(text, '.');
  if (numbers.size() != 3 || !std::ranges::all_of(numbers, is_number)) return std::nullopt;
  version.major = numbers[0];
  version.minor = numbers[1];
  version.patch = numbers[2];
  return version;
}

std::strong_ordering compare_versions(std::string_view a, std::string_view b) {
  const auto left = parse_version(a);
  const auto right = parse_version(b);
  if (!left || !right) return left.has_value() <=> right.has_value();
  return compare_parsed(*left, *right);
}

bool is_pseudo_version(std::string_view version) {
  const auto parsed = parse_version(version);
  if (!parsed || parsed->pre.empty()) return false;
  // vX.0.0-TIME-HASH, vX.Y.Z-pre.0.TIME-HASH, vX.Y.Z-0.TIME-HASH
  const auto hash_at = parsed->pre.rfind('-');
  if (hash_at == std::string::npos || parsed->pre.size() - hash_at - 1 != 12) return false;
  const std::string_view hash = std::string_view(parsed->pre).substr(hash_at + 1);
  const bool hex =
      std::ranges::all_of(hash, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); });
  std::string_view time = std::string_view(parsed->pre).substr(0, hash_at);
  if (const auto dot = time.rfind('.'); dot != std::string_view::npos) {
    const std::string_view before = time.substr(0, dot);
    if (before != "0" && !before.ends_with(".0")) return false;
    time = time.substr(dot + 1);
  }
  return hex && time.size() == 14 && std::ranges::all_of(time, is_digit);
}

bool is_pre_release(std::string_view version) {
  const auto parsed = parse_version(version);
  return parsed && !parsed->pre.empty();
}

Step step_between(std::string_view from, std::string_view to) {
  const auto a = parse_version(from);
  const auto b = parse_version(to);
  if (!a || !b || compare_parsed(*b, *a) <= 0) return Step::none;
  if (a->major != b->major) return Step::major;
  if (a->minor != b->minor) return Step::minor;
  return Step::patch;
}

std::string_view name(Step step) {
  switch (step) {
    case Step::none: return "none";
    case Step::patch: return "patch";
    case Step::minor: return "minor";
    case Step::major: return "major";
  }
  return "none";
}

std::optional<std::string> next_major_path(std::string_view module, std::string_view version) {
  if (module.starts_with("gopkg.in/")) return std::nullopt;
  const auto slash = module.rfind('/');
  if (slash != std::string_view::npos) {
    const std::string_view tail = module.substr(slash + 1);
    if (tail.size() >= 2 && tail.size() <= 5 && tail.front() == 'v' && is_number(tail.substr(1)) &&
        tail != "v0" && tail != "v1") {
      const int major = std::stoi(std::string(tail.substr(1)));
      return std::string(module.substr(0, slash)) + "/v" + std::to_string(major + 1);
    }
  }
  const auto parsed = parse_version(version);
  // A +incompatible module goes on at the major after its own.
  if (parsed && parsed->build == "incompatible" && parsed->major.size() <= 4) {
    return std::string(module) + "/v" + std::to_string(std::stoi(parsed->major) + 1);
  }
  return std::string(module) + "/v2";
}

std::strong_ordering compare_go_versions(std::string_view a, std::string_view b) {
  const GoLine left = parse_go_line(a);
  const GoLine right = parse_go_line(b);
  if (const auto order = compare_numbers(left.major, right.major); order != 0) return order;
  if (const auto order = compare_numbers(left.minor, right.minor); order != 0) return order;
  // "1.21" < "1.21rc1" < "1.21.0": the language version comes before its releases.
  const auto rank = [](const GoLine& line) {
    return line.patch.empty() && line.kind.empty() ? 0 : !line.kind.empty() ? 1 : 2;
  };
  if (const auto order = rank(left) <=> rank(right); order != 0) return order;
  if (const auto order = compare_numbers(left.patch, right.patch); order != 0) return order;
  if (const auto order = left.kind <=> right.kind; order != 0) return order;
  return compare_numbers(left.number, right.number);
}

}  // namespace cupel::worker::change
