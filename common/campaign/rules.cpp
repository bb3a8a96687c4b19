#include "common/campaign/grammar.hpp"
#include "common/core/change.hpp"
#include "common/core/digest.hpp"
#include "common/core/limits.hpp"
#include "common/core/outcome.hpp"
#include "common/text/units.hpp"

#include <algorithm>

namespace cupel::campaign {
namespace {

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool only(std::string_view text, std::string_view a, std::string_view b = "",
          std::string_view c = "") {
  return std::ranges::all_of(text, [&](char x) {
    return a.find(x) != std::string_view::npos || b.find(x) != std::string_view::npos ||
           c.find(x) != std::string_view::npos;
  });
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

/// No segment ".." and none empty: the path stays below where it starts.
bool stays_below(std::string_view path) {
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    const std::string_view segment = path.substr(0, end);
    if (segment == ".." || segment.empty()) return false;
    if (end == std::string_view::npos) return true;
    path.remove_prefix(end + 1);
  }
  return true;
}

std::string quoted(std::string_view text) {
  return "\"" + std::string(text.substr(0, 120)) + "\"";
}

std::string slug(std::string_view text, std::size_t bytes_max) {
  if (!text.empty() && text.size() <= bytes_max && only(text, kLower, kDigits, "-")) return "";
  return quoted(text) + " is not 1 to " + std::to_string(bytes_max) + " of a-z, 0-9 and '-'";
}

std::string argument_like(std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max) return "longer than " + std::to_string(bytes_max) + " bytes";
  if (has_control(text)) return "a control character is not allowed here";
  if (text.starts_with('-'))
    return quoted(text) + " begins with '-' and would be read as an option";
  return "";
}

}  // namespace

std::string campaign_name_rule(std::string_view text) {
  return slug(text, 63);
}
std::string check_name_rule(std::string_view text) {
  for (const std::string_view taken : {"list", "build", "vet", "test", "scan", "custom"}) {
    if (text == taken) return quoted(text) + " is the name of a check that Cupel has itself";
  }
  return slug(text, 32);
}

std::string short_text_rule(std::string_view text) {
  if (text.size() > 1024) return "longer than 1024 bytes";
  return has_control(text) ? "a control character is not allowed here" : "";
}

std::string long_text_rule(std::string_view text) {
  if (text.size() > kNameBytesMax) return "longer than 4096 bytes";
  return text.find('\0') == std::string_view::npos ? "" : "a NUL is not allowed here";
}

std::string git_url_rule(std::string_view text) {
  if (text.empty()) return "must not be empty";
  if (const std::string wrong = argument_like(text, kNameBytesMax); !wrong.empty()) return wrong;
  if (text.find(' ') != std::string_view::npos) return quoted(text) + " holds a space";
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) {
    // user@host:path, the form of ssh; a lone path is not a URL.
    const std::size_t colon = text.find(':');
    const bool scp = colon != std::string_view::npos && colon > 0 &&
                     text.substr(0, colon).find('/') == std::string_view::npos;
    if (scp && !text.substr(colon).starts_with("::")) return "";
    return quoted(text) + " is not a URL; for a folder of this machine use 'path:'";
  }
  const std::string_view rest = text.substr(scheme + 3);
  const std::string_view authority = rest.substr(0, rest.find('/'));
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos && authority.substr(0, at).find(':') != std::string_view::npos) {
    return "a password doesn't belong into a campaign file; credentials are files named in the "
           "worker's configuration";
  }
  return authority.empty() && !text.starts_with("file://") ? quoted(text) + " names no host" : "";
}

std::string ref_rule(std::string_view text) {
  if (const std::string wrong = argument_like(text, 1024); !wrong.empty()) return wrong;
  if (text.find("..") != std::string_view::npos || text.find("@{") != std::string_view::npos ||
      text.find_first_of(" ~^:?*[\\") != std::string_view::npos) {
    return quoted(text) + " is not a branch, tag or commit";
  }
  return "";
}

std::string module_rule(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) return quoted(text) + " is not MODULE@VERSION";
  const std::string_view path = text.substr(0, at);
  const std::string_view version = text.substr(at + 1);
  if (path.empty() || path.size() > 1024 || !only(path, kWord, "._~-/", "+") ||
      !stays_below(path) || path.front() == '-' || path.back() == '/') {
    return quoted(path) + " is not a module path";
  }
  if (path.substr(0, path.find('/')).find('.') == std::string_view::npos) {
    return quoted(path) + " is not a published module: its first element has no dot";
  }
  if (version.empty() || version.size() > 256 || !only(version, kWord, ".-+_/") ||
      version.front() == '-') {
    return quoted(version) + " is not a version";
  }
  if (const std::size_t digits = version.find_first_not_of("0123456789");
      digits > 0 && digits != std::string_view::npos && version[digits] == '.') {
    return quoted(version) + " is not a version of a module; write \"v" + std::string(version) +
           "\"";
  }
  return "";
}

std::string module_path_rule(std::string_view text) {
  const bool good = !text.empty() && text.size() <= 1024 && only(text, kWord, "._~-/", "+") &&
                    stays_below(text) && text.front() != '-' && text.back() != '/';
  return good ? "" : quoted(text) + " is not a module path";
}

std::string exact_version_rule(std::string_view text) {
  // "v1.2.3", with a pre-release, a build tag or the form of a pseudo-version behind it.
  std::size_t at = 1;
  int numbers = 0;
  while (numbers < 3 && at < text.size()) {
    const std::size_t end = std::min(text.find_first_not_of(kDigits, at), text.size());
    if (end == at) break;
    ++numbers;
    at = end + (numbers < 3 && end < text.size() && text[end] == '.' ? 1 : 0);
    if (numbers < 3 && at == end) break;
  }
  const bool good = text.size() <= 256 && text.starts_with('v') && numbers == 3 &&
                    (at == text.size() || text[at] == '-' || text[at] == '+') &&
                    only(text, kWord, ".-+");
  return good ? "" : quoted(text) + " is not a version such as v1.2.3";
}

std::string version_query_rule(std::string_view text) {
  if (text == "latest" || text == "minor" || text == "patch") return "";
  return exact_version_rule(text).empty()
             ? ""
             : quoted(text) + " is neither a version such as v1.2.3 nor latest, minor or patch";
}

std::string diff_rule(std::string_view text) {
  return text.size() > kPatchBytesMax ? "a patch of more than 256 KiB" : "";
}

std::string path_rule(std::string_view text) {
  if (text.empty()) return "must not be empty";
  if (text.size() > kNameBytesMax) return "longer than 4096 bytes";
  return has_control(text) ? "a control character is not allowed here" : "";
}

std::string subdir_rule(std::string_view text) {
  if (const std::string wrong = path_rule(text); !wrong.empty()) return wrong;
  if (text == ".") return "";
  if (text.front() == '/' || !stays_below(text))
    return quoted(text) + " is not a folder below the repository's root";
  return "";
}

std::string package_rule(std::string_view text) {
  if (text.empty() || text.size() > 1024 || text.front() == '-' ||
      !only(text, kWord, "._~-/", "+")) {
    return quoted(text) + " is not a package pattern such as ./...";
  }
  return text == ".." || text.starts_with("../") || text.find("/../") != std::string_view::npos
             ? quoted(text) + " leaves the module"
             : "";
}

std::string tag_rule(std::string_view text) {
  const bool ok = !text.empty() && text.size() <= 128 && only(text, kWord, "_.");
  return ok ? "" : quoted(text) + " is not a build tag";
}

std::string image_rule(std::string_view text) {
  if (text == "auto") return "";
  if (text.size() > 2 && text.size() <= 6 && text.starts_with("1.") &&
      only(text.substr(2), kDigits))
    return "";
  const std::size_t at = text.rfind("sha256:");
  const bool named = at != std::string_view::npos && (at == 0 || text[at - 1] == '@') &&
                     text.size() <= 512 && only(text.substr(0, at), kWord, "._-/:@");
  if (named && Digest::parse(text.substr(at + 7))) return "";
  return quoted(text) +
         " is neither auto, a Go minor such as \"1.26\", nor an image by digest (name@sha256:...)";
}

std::string go_pattern_rule(std::string_view text) {
  if (text.size() > kNameBytesMax) return "longer than 4096 bytes";
  return only(text, kWord, "._~-/*?", ",[]")
             ? ""
             : quoted(text) + " is not a list of module path patterns";
}

std::string shuffle_rule(std::string_view text) {
  if (text.empty() || text == "off" || text == "on" || text::parse_integer(text)) return "";
  return quoted(text) + " is neither off, on nor a number";
}

std::string digest_rule(std::string_view text) {
  return Digest::parse(text) ? "" : quoted(text) + " is not a SHA-256 digest";
}

std::string commit_rule(std::string_view text) {
  return text.size() == 40 && only(text, kDigits, "abcdef") ? ""
                                                            : quoted(text) + " is not a commit";
}

std::string refusal_rule(std::string_view text) {
  const auto reason = parse_name<Reason>(text);
  return reason && *reason != Reason::none ? "" : quoted(text) + " is not a reason";
}

std::string finding_rule(std::string_view text) {
  return parse_name<FindingKind>(text) ? "" : quoted(text) + " is not a kind of finding";
}

}  // namespace cupel::campaign
