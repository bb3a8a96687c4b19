#include "worker/core/source/go_words.hpp"

#include "common/core/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace cupel::worker {
namespace {

constexpr std::size_t kModulesMax = 100'000;
constexpr std::size_t kBlockLinesMax = 6;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <std::size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return has(text, part); });
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    std::string line{text.substr(at, end - at)};
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

/// Progress that says nothing about the end.
bool is_progress(std::string_view line) {
  constexpr std::array<std::string_view, 6> kStarts = {"go: downloading ", "go: extracting ",
                                                       "go: finding ",     "go: added ",
                                                       "go: upgraded ",    "go: found "};
  return line.empty() || line.starts_with("go: warning") ||
         std::ranges::any_of(kStarts,
                             [&](std::string_view start) { return line.starts_with(start); });
}

bool introduces_more(std::string_view line) {
  return line.ends_with(':') && !line.starts_with('\t');
}

/// One complaint a block: a line, what it introduces, and the indented lines that continue it.
std::vector<std::string> blocks_of(std::string_view err) {
  std::vector<std::string> blocks;
  std::size_t lines_in_block = 0;
  bool more = false;
  for (const std::string& line : lines_of(err)) {
    if (is_progress(line)) {
      more = false;
      continue;
    }
    const bool continues =
        !blocks.empty() && (more || line.starts_with('\t') || line.starts_with("  "));
    if (continues) {
      if (++lines_in_block < kBlockLinesMax) blocks.back() += '\n' + line;
      more = more && introduces_more(line);
    } else {
      blocks.push_back(line);
      lines_in_block = 1;
      more = introduces_more(line);
    }
  }
  return blocks;
}

/// The first "module@version" of a text.
std::string module_in(std::string_view text) {
  for (std::size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) {
    const auto is_part = [](char c) {
      return c != ' ' && c != '\t' && c != '\n' && c != ':' && c != '(' && c != ')' && c != '"';
    };
    std::size_t from = at;
    while (from > 0 && is_part(text[from - 1])) --from;
    std::size_t to = at + 1;
    while (to < text.size() && is_part(text[to])) ++to;
    std::string_view found = text.substr(from, to - from);
    if (const auto slash = found.find("/go.mod", at - from); slash != std::string_view::npos) {
      found = found.substr(0, slash);
    }
    const bool url = has(found, "//");
    if (!url && from < at && at + 1 < to && text[at + 1] == 'v') return std::string(found);
  }
  return {};
}

std::string without_prefix(const std::string& text) {
  return text.starts_with("go: ") ? text.substr(4) : text;
}

struct Rule {
  Reason reason;
  FindingKind kind;
};

constexpr std::array<std::string_view, 3> kDiskWords = {"no space left on device",
                                                        "disk quota exceeded", "file too large"};
constexpr std::array<std::string_view, 6> kMissingWords = {"404 Not Found",
                                                           "410 Gone",
                                                           "unknown revision",
                                                           "no matching versions for query",
                                                           "not found: temporarily unavailable",
                                                           "invalid version: unknown revision"};
constexpr std::array<std::string_view, 31> kNetworkWords = {"dial tcp",
                                                            "cupel: refused (",
                                                            "dial udp",
                                                            "i/o timeout",
                                                            "connection refused",
                                                            "connection reset",
                                                            "network is unreachable",
                                                            "no such host",
                                                            "TLS handshake",
                                                            "x509:",
                                                            "unexpected EOF",
                                                            ": EOF",
                                                            "proxyconnect",
                                                            "server misbehaving",
                                                            "context deadline exceeded",
                                                            "Client.Timeout",
                                                            "500 Internal Server Error",
                                                            "502 Bad Gateway",
                                                            "503 Service Unavailable",
                                                            "504 Gateway Timeout",
                                                            "429 Too Many Requests",
                                                            "403 Forbidden",
                                                            "401 Unauthorized",
                                                            "stream error: ",
                                                            "server sent GOAWAY",
                                                            "request canceled",
                                                            "malformed HTTP",
                                                            "broken pipe",
                                                            "no route to host",
                                                            "zip: not a valid zip file",
                                                            "invalid response from proxy"};

/// A proxy that is a directory says it this way.
bool is_missing_file_of_proxy(std::string_view text) {
  return has(text, "reading file://") && has(text, "no such file or directory");
}

/// "reading https://...: 520 ": an answer of a proxy that is neither the file nor "there is none",
/// whatever its number is.
bool is_wrong_status(std::string_view text) {
  constexpr std::string_view kReading = "reading http";
  for (auto at = text.find(kReading); at != std::string_view::npos; at = text.find(kReading, at)) {
    at += kReading.size();
    const auto colon = text.find(": ", at);
    if (colon == std::string_view::npos) return false;
    const std::string_view said = text.substr(colon + 2, 4);
    const bool number = said.size() >= 3 && std::ranges::all_of(said.substr(0, 3), [](char c) {
                          return c >= '0' && c <= '9';
                        });
    const bool ends = said.size() < 4 || said[3] == ' ' || said[3] == '\n';
    if (number && ends && said.substr(0, 3) != "404" && said.substr(0, 3) != "410") return true;
  }
  return false;
}

bool is_missing(std::string_view text) {
  return has_any(text, kMissingWords) || is_missing_file_of_proxy(text);
}

Rule dependency_or_own(std::string_view block, Reason reason) {
  // "ex.test/dep@v1.0.0: parsing go.mod: ..." is about somebody else's manifest.
  const bool own = module_in(block).empty() || has(block, "errors parsing go.");
  return {reason, own ? FindingKind::manifest_error : FindingKind::acquire_error};
}

/// The order is the rule: what is surely said comes before what may only be a consequence.
std::optional<Rule> rule_for(std::string_view block) {
  if (has(block, "checksum mismatch") || has(block, "SECURITY ERROR")) {
    return Rule{Reason::checksum_mismatch, FindingKind::security};
  }
  if (has_any(block, kDiskWords)) return Rule{Reason::resource_disk, FindingKind::resource_limit};
  if (has(block, "module declares its path as")) {
    return Rule{Reason::module_path_mismatch, FindingKind::acquire_error};
  }
  // The image is new enough: go.work is behind its own members.
  if (has(block, "but go.work lists go ") || has(block, "multiple times in workspace")) {
    return Rule{Reason::bad_go_work, FindingKind::manifest_error};
  }
  if (has(block, "requires go >= ")) {
    return Rule{Reason::requires_newer_toolchain, FindingKind::environment};
  }
  const bool malformed = has(block, "errors parsing go.");
  if (has(block, "toolchain not available") || has(block, "cannot find \"go") ||
      (has(block, "invalid toolchain") && !malformed)) {
    return Rule{Reason::unsupported_toolchain, FindingKind::environment};
  }
  if (has(block, "malformed go.sum") || has(block, "malformed go.work.sum")) {
    return Rule{Reason::bad_go_sum, FindingKind::manifest_error};
  }
  if (has(block, "go.work file") || has(block, "errors parsing go.work") ||
      has(block, "error loading go.work") || has(block, "go.work:")) {
    return Rule{Reason::bad_go_work, FindingKind::manifest_error};
  }
  if (has(block, "replacement directory ") || has(block, "(replaced by .")) {
    return Rule{Reason::bad_go_mod, FindingKind::manifest_error};
  }
  // A broken line of go.mod may have been found out by asking the proxy: the line comes first.
  if (has(block, "errors parsing go.mod") && has_any(block, kNetworkWords)) {
    return Rule{Reason::upstream, FindingKind::acquire_error};
  }
  if (has(block, "errors parsing go.mod") || has(block, "error loading go.mod") ||
      has(block, "error reading go.mod") || has(block, "parsing go.mod") ||
      has(block, "unknown godebug") || has(block, "missing module declaration") ||
      has(block, "must match major version") || has(block, ", not v")) {
    return dependency_or_own(block, Reason::bad_go_mod);
  }
  // Without "M@V: " it is the path that go.mod gives its own module.
  if (has(block, "malformed module path") && module_in(block).empty()) {
    return Rule{Reason::bad_go_mod, FindingKind::manifest_error};
  }
  if (has(block, "disallowed version string") || has(block, "invalid module version") ||
      has(block, "malformed module path") || has(block, "malformed import path") ||
      has(block, "can't request version")) {
    return Rule{Reason::bad_version_query, FindingKind::acquire_error};
  }
  if (is_missing(block)) return Rule{Reason::module_not_found, FindingKind::acquire_error};
  if (has_any(block, kNetworkWords) || is_wrong_status(block) || has(block, "GOPROXY list")) {
    return Rule{Reason::upstream, FindingKind::acquire_error};
  }
  return std::nullopt;
}

/// The finding keeps the lines as they were said; the message of a refusal is one line.
std::string on_one_line(const std::string& text) {
  std::string line;
  for (const std::string& part : lines_of(text)) {
    const auto from = part.find_first_not_of(" \t");
    if (from == std::string::npos) continue;
    line += (line.empty() ? "" : line.ends_with(':') ? " " : "; ") + part.substr(from);
  }
  return line;
}

SourceRefusal answer(const Rule& rule, const std::string& block) {
  std::string message = capped_detail(without_prefix(block));
  SourceRefusal refused = refusal(rule.reason, rule.kind, message);
  // What is wrong with the repository's own manifest is no module's fault.
  if (rule.kind != FindingKind::manifest_error) refused.findings.front().package = module_in(block);
  refused.message = on_one_line(refused.message);
  return refused;
}

std::vector<std::string> complaints(std::string_view err,
                                    const std::vector<DownloadedModule>& modules) {
  std::vector<std::string> all = blocks_of(err);
  for (const DownloadedModule& module : modules) {
    if (module.error.empty()) continue;
    const std::string name = module.path + (module.version.empty() ? "" : '@' + module.version);
    const bool named = has(module.error, name) || module.path.empty();
    all.push_back(named ? module.error : name + ": " + module.error);
  }
  return all;
}

}  // namespace

Result<std::vector<DownloadedModule>> parse_download_json(std::string_view out) {
  std::vector<DownloadedModule> modules;
  const auto malformed = [] {
    return Error{Errc::bad_value, "go mod download -json printed something else", {}, {}};
  };
  // Objects follow one another without a separator, so their ends are found by counting braces.
  std::size_t depth = 0;
  std::size_t start = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < out.size(); ++at) {
    const char c = out[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') {
      if (depth == 0) return malformed();
      quoted = true;
    } else if (c == '{') {
      if (depth++ == 0) start = at;
    } else if (c == '}') {
      if (depth == 0) return malformed();
      if (--depth != 0) continue;
      const auto json = nlohmann::json::parse(out.substr(start, at + 1 - start), nullptr, false);
      if (!json.is_object() || modules.size() >= kModulesMax) return malformed();
      const auto text = [&](const char* key) {
        const auto it = json.find(key);
        return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
      };
      modules.push_back(
          {text("Path"), text("Version"), text("Error"), text("Zip"), text("GoMod"), text("Sum")});
    } else if (depth == 0 && c != ' ' && c != '\n' && c != '\r' && c != '\t') {
      return malformed();
    }
  }
  if (depth != 0 || quoted) return malformed();
  return modules;
}

SourceRefusal judge_go_failure(std::string_view err, const std::vector<DownloadedModule>& modules) {
  const auto all = complaints(err, modules);
  // A conclusive complaint outweighs a missing answer of the network beside it.
  std::optional<SourceRefusal> best;
  bool best_is_refused = false;
  for (const std::string& block : all) {
    const auto rule = rule_for(block);
    if (!rule) continue;
    const bool refused = class_of(rule->reason) == Outcome::refused;
    if (best && (best_is_refused || !refused)) continue;
    best = answer(*rule, block);
    best_is_refused = refused;
  }
  if (best) return *std::move(best);
  const std::string first = all.empty() ? "the go command failed without a word" : all.front();
  return answer({Reason::acquire_incomplete, FindingKind::acquire_error}, first);
}

bool only_missing_modules(std::string_view err, const std::vector<DownloadedModule>& modules) {
  bool any = false;
  for (const std::string& block : complaints(err, modules)) {
    const auto rule = rule_for(block);
    if (!rule || rule->reason != Reason::module_not_found) return false;
    any = true;
  }
  return any;
}

}  // namespace cupel::worker
