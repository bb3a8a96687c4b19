#include "worker/core/change/gomod_edit.hpp"

#include "worker/core/source/gomod.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace cupel::worker::change {
namespace {

std::vector<std::string> own_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    const auto next = end == std::string_view::npos ? text.size() : end + 1;
    lines.emplace_back(text.substr(at, next - at));
    at = next;
  }
  return lines;
}

std::string line_end(std::string_view text) {
  return text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n";
}

}  // namespace

std::string with_go_version(std::string_view go_mod, std::string_view version) {
  const ModFile mod = parse_go_mod(go_mod);
  if (!mod.go_version) return with_go_line(go_mod, version);
  std::string out;
  bool done = false;
  for (std::string line : own_lines(go_mod)) {
    const auto start = line.find_first_not_of(" \t");
    const bool is_go = start != std::string::npos && line.compare(start, 2, "go") == 0 &&
                       start + 2 < line.size() &&
                       (line[start + 2] == ' ' || line[start + 2] == '\t');
    if (is_go && !done) {
      const auto at = line.find(*mod.go_version, start + 2);
      if (at != std::string::npos) {
        line.replace(at, mod.go_version->size(), version);
        done = true;
      }
    }
    out += line;
  }
  return out;
}

std::string with_replacement(std::string_view go_mod, std::string_view module,
                             std::string_view target, std::string_view version) {
  std::set<std::size_t> dropped;
  for (const auto& one : parse_go_mod(go_mod).replacements) {
    if (one.path == module) dropped.insert(static_cast<std::size_t>(one.place.line));
  }
  std::string out;
  std::size_t number = 0;
  for (const std::string& line : own_lines(go_mod)) {
    if (!dropped.contains(++number)) out += line;
  }
  const std::string end = line_end(go_mod);
  if (!out.empty() && out.back() != '\n') out += end;
  out += end + "replace " + std::string(module) + " => " + std::string(target);
  if (!version.empty()) out += ' ' + std::string(version);
  return out + end;
}

}  // namespace cupel::worker::change
