#include "common/gitfmt/config.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace cupel::gitfmt {
namespace {

constexpr std::size_t kConfigBytesMax = 1024 * 1024;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lowered(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/// Reads the format once from front to back. Every function leaves the position behind what it
/// read.
class ConfigReader {
 public:
  explicit ConfigReader(std::string_view text) : text_(text) {}

  Result<std::vector<ConfigEntry>> read() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (is_space(c)) {
        ++at_;
      } else if (c == '#' || c == ';') {
        skip_line();
      } else if (c == '[') {
        if (!read_section()) return fault();
      } else if (!read_setting()) {
        return fault();
      }
    }
    return std::move(entries_);
  }

 private:
  Error fault() const {
    return {Errc::bad_value, "line " + std::to_string(line_) + " is no git configuration", {}, {}};
  }

  [[nodiscard]] bool more() const { return at_ < text_.size(); }

  void skip_line() {
    while (more() && text_[at_] != '\n') ++at_;
  }

  bool read_section() {
    ++at_;
    section_.clear();
    subsection_.clear();
    while (more() && (is_name_char(text_[at_]) || text_[at_] == '.'))
      section_ += lower(text_[at_++]);
    // The old form [section.sub]: the part behind the dot is the subsection, in lower case.
    if (const auto dot = section_.find('.'); dot != std::string::npos) {
      subsection_ = section_.substr(dot + 1);
      section_.resize(dot);
    }
    while (more() && is_space(text_[at_])) ++at_;
    if (more() && text_[at_] == '"') {
      ++at_;
      while (more() && text_[at_] != '"') {
        if (text_[at_] == '\n') return false;
        if (text_[at_] == '\\' && ++at_ >= text_.size()) return false;
        subsection_ += text_[at_++];
      }
      if (!more()) return false;
      ++at_;
    }
    if (!more() || text_[at_] != ']' || section_.empty()) return false;
    ++at_;
    return true;
  }

  bool read_setting() {
    if (section_.empty() || !is_name_char(text_[at_])) return false;
    ConfigEntry entry{section_, subsection_, {}, {}, true, line_};
    while (more() && is_name_char(text_[at_])) entry.key += lower(text_[at_++]);
    while (more() && is_space(text_[at_])) ++at_;
    if (!more() || text_[at_] == '\n' || text_[at_] == '#' || text_[at_] == ';') {
      entry.has_value = false;
      skip_line();
    } else {
      if (text_[at_] != '=') return false;
      ++at_;
      if (!read_value(entry.value)) return false;
    }
    entries_.push_back(std::move(entry));
    return true;
  }

  bool read_value(std::string& value) {
    bool quoted = false;
    std::size_t keep = 0;  // length without unquoted blanks at the end
    while (more() && is_space(text_[at_])) ++at_;
    for (; more(); ++at_) {
      char c = text_[at_];
      if (c == '\n') {
        if (quoted) return false;
        break;
      }
      if (!quoted && (c == '#' || c == ';')) {
        skip_line();
        break;
      }
      if (c == '"') {
        quoted = !quoted;
        keep = value.size();
        continue;
      }
      if (c == '\\') {
        if (++at_ >= text_.size()) return false;
        if (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
        switch (text_[at_]) {
          case '\n': ++line_; continue;
          case 'n': c = '\n'; break;
          case 't': c = '\t'; break;
          case 'b': c = '\b'; break;
          case '\\':
          case '"': c = text_[at_]; break;
          default: return false;
        }
        value += c;
        keep = value.size();
        continue;
      }
      value += c;
      if (quoted || !is_space(c)) keep = value.size();
    }
    if (quoted) return false;
    value.resize(keep);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::int32_t line_ = 1;
  std::string section_;
  std::string subsection_;
  std::vector<ConfigEntry> entries_;
};

bool is_boolean(const ConfigEntry& entry) {
  constexpr std::array<std::string_view, 9> kWords = {"true", "false", "yes", "no", "on",
                                                      "off",  "0",     "1",   ""};
  return !entry.has_value || std::ranges::find(kWords, lowered(entry.value)) != kWords.end();
}

bool is_standard_lfs_filter(const ConfigEntry& entry) {
  if (entry.subsection != "lfs") return false;
  constexpr std::array<std::string_view, 5> kValues = {
      "git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs smudge --skip -- %f",
      "git-lfs filter-process", "git-lfs filter-process --skip"};
  return std::ranges::find(kValues, entry.value) != kValues.end();
}

/// "ext::sh -c ..." and every other "helper::address".
bool names_a_helper(std::string_view url) {
  const auto at = url.find("::");
  return at != std::string_view::npos && at > 0 &&
         std::ranges::all_of(url.substr(0, at), is_name_char);
}

bool helper_is_a_command(std::string_view value) {
  return value.starts_with('!') || value.find('/') != std::string_view::npos ||
         value.find(' ') != std::string_view::npos;
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::ranges::find(list, word) != list.end();
}

}  // namespace

std::string ConfigEntry::name() const {
  return subsection.empty() ? section + '.' + key : section + '.' + subsection + '.' + key;
}

Result<std::vector<ConfigEntry>> parse_config(std::string_view text) {
  if (text.size() > kConfigBytesMax) {
    return Error{Errc::too_large, "git configuration of more than 1 MiB", {}, {}};
  }
  return ConfigReader(text).read();
}

bool can_execute(const ConfigEntry& entry) {
  const std::string& section = entry.section;
  const std::string& key = entry.key;
  if (section == "include" || section == "includeif") return key == "path";
  if (section == "core") {
    if (key == "fsmonitor") return !is_boolean(entry);
    return one_of(key,
                  {"sshcommand", "gitproxy", "askpass", "pager", "editor", "alternaterefscommand"});
  }
  if (section == "filter") {
    return one_of(key, {"clean", "smudge", "process"}) && !is_standard_lfs_filter(entry);
  }
  if (section == "diff") return one_of(key, {"external", "command", "textconv"});
  if (section == "difftool" || section == "mergetool" || section == "browser" || section == "man") {
    return key == "cmd" || key == "path";
  }
  if (section == "merge") return key == "driver";
  if (section == "credential") return key == "helper" && helper_is_a_command(entry.value);
  if (section == "remote") {
    if (one_of(key, {"uploadpack", "receivepack", "vcs"})) return true;
    return one_of(key, {"url", "pushurl"}) && names_a_helper(entry.value);
  }
  if (section == "url") return names_a_helper(entry.subsection);
  if (section == "gpg") return one_of(key, {"program", "defaultkeycommand"});
  if (section == "sequence") return key == "editor";
  if (section == "pager") return !is_boolean(entry);
  if (section == "uploadpack") return key == "packobjectshook";
  if (section == "interactive") return key == "difffilter";
  if (section == "trailer") return one_of(key, {"command", "cmd"});
  if (section == "submodule") return key == "update" && entry.value.starts_with('!');
  return false;
}

bool is_untrusted_submodule_url(std::string_view url) {
  if (url.empty() || url.starts_with('-')) return true;
  for (const char c : url) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return true;
  }
  if (names_a_helper(url)) return true;
  const std::string low = lowered(url);
  if (const auto at = low.find("://"); at != std::string::npos) {
    if (!one_of(low.substr(0, at), {"https", "http", "ssh", "git", "git+ssh", "ssh+git"}))
      return true;
    return low.size() == at + 3 || low[at + 3] == '-';
  }
  if (low.starts_with("file:")) return true;
  if (low.starts_with("./") || low.starts_with("../")) return false;
  if (low.starts_with('/') || low.starts_with('~') || low.starts_with('\\')) return true;
  // user@host:path or host:path; without a colon it is a path of this machine.
  const auto colon = low.find(':');
  return colon == std::string::npos || colon == 0;
}

}  // namespace cupel::gitfmt
