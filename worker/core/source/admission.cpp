#include "worker/core/source/admission.hpp"

#include "common/gitfmt/config.hpp"

#include <algorithm>

namespace cupel::worker {
namespace {

using gitfmt::TreeEntry;

constexpr std::size_t kLinkNotesMax = 20;
constexpr int kLinkHopsMax = 40;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Case folded by the simple rules of ASCII, Latin-1 supplement, Greek and Cyrillic in UTF-8:
/// enough to see names that a case-insensitive disk would merge, without tables of all of Unicode.
std::string folded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (c == 0xc3 && next >= 0x80 && next <= 0x9e && next != 0x97) {  // À..Þ
      out += text[i++];
      out += static_cast<char>(next + 0x20);
    } else if (c == 0xce && next >= 0x91 && next <= 0x9f) {  // Α..Ο
      out += text[i++];
      out += static_cast<char>(next + 0x20);
    } else if (c == 0xd0 && next >= 0x90 && next <= 0x9f) {  // А..П
      out += text[i++];
      out += static_cast<char>(next + 0x20);
    } else if (c == 0xd0 && next >= 0xa0 && next <= 0xaf) {  // Р..Я
      out += '\xd1';
      out += static_cast<char>(next - 0x20);
      ++i;
    } else {
      out += lower(text[i]);
    }
  }
  return out;
}

/// Code points that HFS+ drops from names: U+200B..U+200F, U+202A..U+202E, U+206A..U+206F, U+FEFF.
std::string without_ignored(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    const auto at = [&](std::size_t k) {
      return i + k < name.size() ? static_cast<unsigned char>(name[i + k]) : 0U;
    };
    const bool ignored = (at(0) == 0xe2 && at(1) == 0x80 &&
                          ((at(2) >= 0x8b && at(2) <= 0x8f) || (at(2) >= 0xaa && at(2) <= 0xae))) ||
                         (at(0) == 0xe2 && at(1) == 0x81 && at(2) >= 0xaa && at(2) <= 0xaf) ||
                         (at(0) == 0xef && at(1) == 0xbb && at(2) == 0xbf);
    if (ignored) {
      i += 3;
    } else {
      out += name[i++];
    }
  }
  return out;
}

/// ".git" as git itself refuses it: any case, with ignored code points, "git~1", trailing dots and
/// blanks, and NTFS streams.
bool is_dot_git(std::string_view name) {
  std::string plain = folded(without_ignored(name));
  if (const auto colon = plain.find(':'); colon != std::string::npos) plain.resize(colon);
  while (!plain.empty() && (plain.back() == '.' || plain.back() == ' ')) plain.pop_back();
  return plain == ".git" || plain == "git~1";
}

std::string name_fault(std::string_view name) {
  if (name.empty()) return "an empty name";
  if (name == "." || name == "..") return "the name '" + std::string(name) + "'";
  if (is_dot_git(name)) return "a .git component";
  if (name.find('\0') != std::string_view::npos) return "a NUL byte in a name";
  return {};
}

bool is_known_mode(std::uint32_t mode) {
  // 100664 is what git wrote in 2005; it still means a plain file.
  return mode == gitfmt::kModeFile || mode == gitfmt::kModeExecutable || mode == 0100664 ||
         mode == gitfmt::kModeLink || mode == gitfmt::kModeSubmodule;
}

std::string octal(std::uint32_t mode) {
  std::string text;
  for (; mode != 0; mode /= 8) text.insert(text.begin(), static_cast<char>('0' + mode % 8));
  return text.empty() ? "0" : text;
}

SourceRefusal malformed(const std::string& path, const std::string& what) {
  return refusal(Reason::malformed_tree, FindingKind::acquire_error,
                 "malformed_tree: " + shown_path(path) + ": " + what);
}

SourceRefusal too_long(const std::string& path, const std::string& what) {
  return refusal(Reason::path_too_long, FindingKind::limit,
                 "path too long: " + shown_path(path) + " (" + what + ")");
}

SourceRefusal too_large(const std::string& what) {
  return refusal(Reason::snapshot_too_large, FindingKind::limit, "snapshot_too_large: " + what);
}

std::optional<SourceRefusal> check_names(const TreeEntry& entry, const SnapshotLimits& limits) {
  const std::string& path = entry.path;
  if (path.size() > limits.path_bytes) {
    return too_long(path, "more than " + std::to_string(limits.path_bytes) + " bytes");
  }
  std::size_t depth = 0;
  for (std::size_t at = 0; at <= path.size(); ++depth) {
    const auto end = std::min(path.find('/', at), path.size());
    const std::string_view name = std::string_view(path).substr(at, end - at);
    if (auto fault = name_fault(name); !fault.empty()) return malformed(path, fault);
    if (name.size() > limits.component_bytes) {
      return too_long(path,
                      "a name of more than " + std::to_string(limits.component_bytes) + " bytes");
    }
    at = end + 1;
  }
  if (depth > limits.depth) {
    return too_long(path, "more than " + std::to_string(limits.depth) + " folders deep");
  }
  if (!is_known_mode(entry.mode)) return malformed(path, "mode " + octal(entry.mode));
  return std::nullopt;
}

/// Every path and every folder on the way to it, by folded name: two spellings of one name collide.
class Collisions {
 public:
  std::optional<SourceRefusal> add(const TreeEntry& entry) {
    for (std::size_t at = 0; at < entry.path.size();) {
      const auto end = std::min(entry.path.find('/', at), entry.path.size());
      const std::string_view so_far = std::string_view(entry.path).substr(0, end);
      const bool is_folder = end < entry.path.size();
      const auto [it, fresh] =
          seen_.try_emplace(folded(so_far), Seen{std::string(so_far), is_folder});
      if (!fresh && it->second.path != so_far) {
        return malformed(std::string(so_far),
                         "differs from " + shown_path(it->second.path) + " only in case");
      }
      if (!fresh && !(is_folder && it->second.is_folder)) {
        return malformed(std::string(so_far), "stands in the tree twice");
      }
      at = end + 1;
    }
    return std::nullopt;
  }

 private:
  struct Seen {
    std::string path;
    bool is_folder = false;
  };
  std::map<std::string, Seen> seen_;
};

std::vector<std::string> components(std::string_view path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const auto end = std::min(path.find('/', at), path.size());
    if (end > at) parts.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string path;
  for (const auto& part : parts) path += path.empty() ? part : '/' + part;
  return path;
}

bool is_below(std::string_view path, std::string_view dir) {
  return dir == "." ||
         (path.size() > dir.size() && path.starts_with(dir) && path[dir.size()] == '/');
}

}  // namespace

std::string shown_path(std::string_view path) {
  std::string text;
  for (const char c : path.substr(0, 200)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  // A sequence that is no UTF-8 becomes question marks: reports and stores hold text.
  std::string clean;
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t length = c < 0x80                ? 1
                               : c >= 0xc2 && c < 0xe0 ? 2
                               : c >= 0xe0 && c < 0xf0 ? 3
                               : c >= 0xf0 && c < 0xf5 ? 4
                                                       : 0;
    bool good = length != 0 && i + length <= text.size();
    for (std::size_t k = 1; good && k < length; ++k) {
      good = (static_cast<unsigned char>(text[i + k]) & 0xc0U) == 0x80U;
    }
    if (good) {
      clean.append(text, i, length);
      i += length;
    } else {
      clean += '?';
      ++i;
    }
  }
  return path.size() > 200 ? clean + "..." : clean;
}

std::optional<SourceRefusal> admit(const std::vector<TreeEntry>& entries,
                                   const SnapshotLimits& limits) {
  if (entries.size() > limits.files) {
    return too_large(std::to_string(entries.size()) + " files (limit " +
                     std::to_string(limits.files) + ")");
  }
  Collisions collisions;
  std::uint64_t total = 0;
  for (const TreeEntry& entry : entries) {
    if (auto refused = check_names(entry, limits)) return refused;
    if (auto refused = collisions.add(entry)) return refused;
    if (entry.size > limits.file_bytes) {
      return too_large(shown_path(entry.path) + " has " + std::to_string(entry.size) +
                       " bytes (limit " + std::to_string(limits.file_bytes) + ")");
    }
    if (entry.mode == gitfmt::kModeLink && entry.size > limits.path_bytes) {
      return too_long(entry.path, "the target of the link");
    }
    total += entry.size;
    if (total > limits.bytes) {
      return too_large("more than " + std::to_string(limits.bytes) + " bytes");
    }
  }
  return std::nullopt;
}

bool is_lfs_pointer(std::string_view content) {
  if (content.size() >= kLfsPointerBytesMax) return false;
  const bool version = content.starts_with("version https://git-lfs.github.com/spec/") ||
                       content.starts_with("version https://hawser.github.com/spec/");
  return version && content.find("\noid sha256:") != std::string_view::npos &&
         content.find("\nsize ") != std::string_view::npos;
}

bool link_escapes(const std::string& path, const std::string& target,
                  const std::map<std::string, std::string>& links) {
  std::vector<std::string> at = components(path);
  if (!at.empty()) at.pop_back();
  std::vector<std::string> todo = components(target);
  std::ranges::reverse(todo);
  if (target.starts_with('/')) return true;
  int hops = 0;
  while (!todo.empty()) {
    const std::string part = std::move(todo.back());
    todo.pop_back();
    if (part == ".") continue;
    if (part == "..") {
      if (at.empty()) return true;
      at.pop_back();
      continue;
    }
    at.push_back(part);
    const auto link = links.find(joined(at));
    if (link == links.end()) continue;
    if (link->second.starts_with('/')) return true;
    if (++hops > kLinkHopsMax) return false;  // a loop: the kernel gives up as well
    at.pop_back();
    std::vector<std::string> next = components(link->second);
    todo.insert(todo.end(), next.rbegin(), next.rend());
  }
  return false;
}

std::optional<SourceRefusal> judge_gitmodules(std::string_view text) {
  const auto entries = gitfmt::parse_config(text);
  if (!entries) return std::nullopt;
  for (const auto& entry : *entries) {
    if (entry.section != "submodule") continue;
    const bool bad_url = entry.key == "url" && gitfmt::is_untrusted_submodule_url(entry.value);
    const bool bad_path = entry.key == "path" && entry.value.starts_with('-');
    const bool bad_name = entry.subsection == ".." || entry.subsection.starts_with("../") ||
                          entry.subsection.find("/../") != std::string::npos;
    const bool runs = entry.key == "update" && entry.value.starts_with('!');
    if (bad_url || bad_path || bad_name || runs) {
      return refusal(Reason::submodule_untrusted_url, FindingKind::security,
                     "submodule_untrusted_url: .gitmodules:" + std::to_string(entry.line) + ": " +
                         shown_path(entry.name()) + " = " + shown_path(entry.value),
                     ".gitmodules", entry.line);
    }
  }
  return std::nullopt;
}

std::vector<Finding> link_notes(const SnapshotNotes& notes, const std::string& unit_dir,
                                const std::vector<std::string>& unit_dirs) {
  std::vector<Finding> findings;
  for (const std::string& path : notes.escaping_links) {
    if (!is_below(path, unit_dir)) continue;
    const bool belongs_to_inner_unit =
        std::ranges::any_of(unit_dirs, [&](const std::string& other) {
          return other != "." && other != unit_dir &&
                 (unit_dir == "." || is_below(other, unit_dir)) && is_below(path, other);
        });
    if (belongs_to_inner_unit) continue;
    Finding finding;
    finding.kind = FindingKind::note;
    finding.check = CheckKind::list;
    finding.file = shown_path(path);
    finding.message =
        "symlink_escapes_tree: " + shown_path(path) +
        " points out of the repository; it is kept as a link and never followed on the host";
    findings.push_back(std::move(finding));
    if (findings.size() == kLinkNotesMax) break;
  }
  return findings;
}

}  // namespace cupel::worker
