#include "worker/core/go/keys.hpp"

#include "common/core/limits.hpp"
#include "worker/core/go/text.hpp"

#include <algorithm>

namespace cupel::worker::go {
namespace {

constexpr std::size_t kSignatureBytes = 400;
constexpr std::size_t kSignatureLines = 5;

std::string_view family(FindingKind kind) {
  switch (kind) {
    case FindingKind::build_failure:
    case FindingKind::build_failure_dependent:
    case FindingKind::setup_failure: return "build";
    case FindingKind::test_failure:
    case FindingKind::test_failure_derived:
    case FindingKind::test_timeout:
    case FindingKind::test_unfinished: return "test";
    case FindingKind::package_failure:
    case FindingKind::package_unfinished:
    case FindingKind::io_incomplete: return "package";
    default: return name(kind);
  }
}

/// '|' separates the parts of a key.
std::string escaped(std::string_view part) {
  std::string out;
  for (const char c : part) {
    if (c == '|') {
      out += "%7C";
    } else if (c == '%') {
      out += "%25";
    } else {
      out += c;
    }
  }
  return out;
}

std::string first_word(std::string_view text) {
  return std::string(text.substr(0, text.find_first_of(" :\n")));
}

bool is_path_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '/' || c == '~' || c == '.' || c == '+';
}

/// A token that is a path loses its directories; an import path of the module becomes "~".
std::string without_places(std::string_view line, std::string_view module_path) {
  std::string out;
  std::size_t at = 0;
  while (at < line.size()) {
    if (!is_path_char(line[at])) {
      out += line[at++];
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && is_path_char(line[end])) ++end;
    std::string_view token = line.substr(at, end - at);
    at = end;
    const bool own = !module_path.empty() && token.starts_with(module_path) &&
                     (token.size() == module_path.size() || token[module_path.size()] == '/' ||
                      token[module_path.size()] == '.');
    const auto slash = token.rfind('/');
    if (own) {
      // "example.com/m/a/b.Name" keeps ".Name".
      const std::string_view rest = token.substr(module_path.size());
      const auto dot =
          rest.find('.', rest.rfind('/') == std::string_view::npos ? 0 : rest.rfind('/'));
      out += '~';
      if (dot != std::string_view::npos) out += rest.substr(dot);
    } else if (slash != std::string_view::npos && slash + 1 < token.size() &&
               token.find(".go", slash) != std::string_view::npos) {
      out += token.substr(slash + 1);
    } else {
      out += token;
    }
  }
  return out;
}

std::string_view without_location(std::string_view line) {
  // "p_test.go: text" -> "text": which file it was is a place.
  const auto colon = line.find(": ");
  if (colon != std::string_view::npos &&
      line.substr(0, colon).find(' ') == std::string_view::npos &&
      line.substr(0, colon).find('.') != std::string_view::npos) {
    const std::string_view file = line.substr(0, colon);
    for (const std::string_view suffix : {".go", ".s", ".c", ".h", ".cc", ".cpp", ".y"}) {
      if (file.ends_with(suffix)) return trim(line.substr(colon + 2));
    }
  }
  return line;
}

}  // namespace

std::string signature_text(std::string_view message, std::string_view module_path) {
  const std::string normal = normalise(cut(message, kMessageBytesMax));
  std::string out;
  std::size_t kept = 0;
  for (const std::string_view raw : lines_of(normal)) {
    const std::string_view line = without_location(trim(raw));
    if (line.empty()) continue;
    if (line.starts_with("goroutine ?")) break;  // Frames are places.
    if (kept++ == kSignatureLines) break;
    if (!out.empty()) out += '\n';
    out += without_places(line, module_path);
    if (out.size() > kSignatureBytes) break;
  }
  out.resize(cut(out, kSignatureBytes).size());
  return out;
}

void identify(Finding& finding, const UnitInfo& unit) {
  finding.package = clean_name(finding.package);
  finding.test = clean_name(finding.test);
  finding.analyzer = clean_name(finding.analyzer);
  finding.file = clean_name(finding.file);
  finding.message = clean(finding.message, kMessageBytesMax);

  const std::string_view group = family(finding.kind);
  finding.key = std::string(group) + "|" + escaped(finding.package);
  const std::string text = signature_text(finding.message, unit.module_path);
  if (finding.kind == FindingKind::vet) {
    finding.key += "|" + escaped(finding.analyzer) + "|" + escaped(finding.file) + "|" +
                   escaped(normalise(finding.message));
  } else {
    finding.key += "|" + escaped(finding.test);
  }
  if (finding.kind == FindingKind::note) finding.key += "|" + escaped(first_word(finding.message));
  const bool custom =
      finding.check == CheckKind::custom && finding.kind == FindingKind::package_failure;
  if (custom) finding.key = "custom|" + escaped(finding.test);
  finding.key.resize(cut(finding.key, kNameBytesMax).size());

  finding.signature = std::string(group) + "|" + escaped(finding.analyzer) + "|";
  finding.signature += text.empty() ? escaped(finding.test) : escaped(text);
  finding.signature.resize(cut(finding.signature, kNameBytesMax).size());
}

void identify_reported(Finding& finding, const UnitInfo& unit) {
  identify(finding, unit);
  finding.key = "custom|" + escaped(finding.analyzer) + "|" + escaped(finding.file) + "|" +
                escaped(normalise(finding.message));
  finding.key.resize(cut(finding.key, kNameBytesMax).size());
  finding.signature = "custom|" + escaped(finding.analyzer) + "|" +
                      escaped(signature_text(finding.message, unit.module_path));
  finding.signature.resize(cut(finding.signature, kNameBytesMax).size());
}

}  // namespace cupel::worker::go
