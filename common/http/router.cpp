#include "common/http/router.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace cupel::http {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10U;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10U;
  return std::nullopt;
}

std::optional<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const auto high = hex_digit(text[i + 1]);
      const auto low = hex_digit(text[i + 2]);
      if (!high || !low) return std::nullopt;
      c = static_cast<char>(*high * 16U + *low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') return std::nullopt;
    out.push_back(c);
  }
  return out;
}

bool is_parameter(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

bool matches(const Route& route, const Target& target, std::map<std::string, std::string>& params) {
  if (route.segments.size() != target.segments.size()) return false;
  std::map<std::string, std::string> found;
  for (std::size_t i = 0; i < route.segments.size(); ++i) {
    const std::string& want = route.segments[i];
    const std::string& have = target.segments[i];
    if (is_parameter(want)) {
      if (have.empty()) return false;
      found[want.substr(1, want.size() - 2)] = have;
    } else if (want != have) {
      return false;
    }
  }
  params = std::move(found);
  return true;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Target> parse_target(std::string_view target) {
  if (target.empty() || target.front() != '/') return std::nullopt;
  Target result;
  const std::size_t question = target.find('?');
  const std::string_view path = target.substr(0, question);
  for (const std::string& part : split(path.substr(1), '/')) {
    auto decoded = decode(part, false);
    if (!decoded) return std::nullopt;
    result.segments.push_back(std::move(*decoded));
  }
  for (const std::string& segment : result.segments) result.path += "/" + segment;
  if (question == std::string_view::npos) return result;
  for (const std::string& pair : split(target.substr(question + 1), '&')) {
    const std::size_t equals = pair.find('=');
    auto key = decode(std::string_view(pair).substr(0, equals), true);
    auto value = equals == std::string::npos
                     ? std::optional<std::string>("")
                     : decode(std::string_view(pair).substr(equals + 1), true);
    if (!key || !value) return std::nullopt;
    if (!key->empty()) result.query.emplace(std::move(*key), std::move(*value));
  }
  return result;
}

void Router::add(Route route) {
  route.segments = split(std::string_view(route.pattern).substr(1), '/');
  routes_.push_back(std::move(route));
}

Router::Match Router::find(std::string_view method, const Target& target) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  Match match;
  std::string allowed;
  for (const Route& route : routes_) {
    if (!matches(route, target, match.params)) continue;
    if (route.method == wanted) {
      match.route = &route;
      return match;
    }
    allowed += allowed.empty() ? route.method : ", " + route.method;
  }
  match.allowed = std::move(allowed);
  return match;
}

RangeAnswer parse_range(std::string_view header, std::uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!header.starts_with(kUnit) || header.find(',') != std::string_view::npos) return {};
  header.remove_prefix(kUnit.size());
  const std::size_t dash = header.find('-');
  if (dash == std::string_view::npos) return {};
  const auto first = number(header.substr(0, dash));
  const auto last = number(header.substr(dash + 1));
  using Kind = RangeAnswer::Kind;
  if (dash == 0) {
    if (!last) return {};
    if (*last == 0 || size == 0) return {Kind::unsatisfiable, {}};
    const std::uint64_t length = std::min(*last, size);
    return {Kind::part, {size - length, length}};
  }
  if (!first || (dash + 1 < header.size() && !last) || (last && *last < *first)) return {};
  if (*first >= size) return {Kind::unsatisfiable, {}};
  const std::uint64_t end = last ? std::min(*last, size - 1) : size - 1;
  return {Kind::part, {*first, end - *first + 1}};
}

}  // namespace cupel::http
