#include "worker/core/source/gomod.hpp"

#include "worker/core/source/gomod_lexer.hpp"
#include "worker/core/source/units.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cupel::worker {
namespace {

using mod::is_blank;
using mod::Line;
using mod::Word;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The major number of "v2.0.0..."; nothing for what is no such version (a branch, a commit).
std::optional<std::uint32_t> major_of(std::string_view version) {
  if (version.size() < 2 || version[0] != 'v') return std::nullopt;
  std::uint32_t major = 0;
  std::size_t i = 1;
  for (; i < version.size() && is_digit(version[i]); ++i) {
    if (major > 1'000'000) return std::nullopt;
    major = major * 10 + static_cast<std::uint32_t>(version[i] - '0');
  }
  if (i == 1 || i == version.size() || version[i] != '.') return std::nullopt;
  return major;
}

/// The major that a module path demands: "/v2" gives 2; nothing where there is no suffix.
std::optional<std::uint32_t> path_major(std::string_view path) {
  const bool gopkg = path.starts_with("gopkg.in/");
  const auto at = path.find_last_of(gopkg ? '.' : '/');
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view tail = path.substr(at + 1);
  if (gopkg && tail.ends_with("-unstable")) tail.remove_suffix(9);
  if (tail.size() < 2 || tail[0] != 'v') return std::nullopt;
  std::uint32_t major = 0;
  for (const char c : tail.substr(1)) {
    if (!is_digit(c) || major > 1'000'000) return std::nullopt;
    major = major * 10 + static_cast<std::uint32_t>(c - '0');
  }
  if (!gopkg && (major < 2 || tail[1] == '0')) return std::nullopt;
  return major;
}

/// What the go command says about a version that its path doesn't allow; empty when they agree.
std::string version_fault(std::string_view path, std::string_view version) {
  const auto major = major_of(version);
  if (!major) return {};
  const auto wanted = path_major(path);
  const std::string got = ", not v" + std::to_string(*major);
  if (!wanted) {
    if (*major < 2 || version.ends_with("+incompatible")) return {};
    return "version \"" + std::string(version) + "\" invalid: should be v0 or v1" + got;
  }
  if (*wanted == *major || (*wanted == 1 && *major == 0) || path.starts_with("gopkg.in/"))
    return {};
  return "version \"" + std::string(version) + "\" invalid: should be v" + std::to_string(*wanted) +
         got;
}

/// Turns lines into directives. `block` is the verb of the parenthesis that is open.
class ModParser {
 public:
  ModParser(std::string_view text, bool is_work) : lexer_(text), is_work_(is_work) {
    if (text.size() > kManifestBytesMax) {
      file_.faults.push_back({{1, 1}, "file of more than 8 MiB"});
      too_large_ = true;
    }
  }

  ModFile parse() {
    if (too_large_) return std::move(file_);
    Line line;
    while (file_.faults.size() < kFaultsMax && lexer_.next(line, file_.faults)) read(line);
    if (!block_.empty() && file_.faults.empty()) {
      file_.faults.push_back({block_place_, "syntax error (unterminated block started at line " +
                                                std::to_string(block_place_.line) + ")"});
    }
    return std::move(file_);
  }

 private:
  static constexpr std::size_t kFaultsMax = 20;
  using Words = std::vector<Word>;

  void fault(ModPlace place, std::string text) { file_.faults.push_back({place, std::move(text)}); }

  void read(Line& line) {
    Words& words = line.words;
    if (!block_.empty()) {
      if (words.size() == 1 && words[0].text == ")") {
        block_.clear();
      } else {
        directive(block_, words, line);
      }
      return;
    }
    const std::string verb = words[0].text;
    if (words.size() >= 2 && words[1].text == "(" && words.size() == 2) {
      if (!known(verb)) fault(line.place, "unknown block type: " + verb);
      block_ = verb;
      block_place_ = line.place;
      return;
    }
    words.erase(words.begin());
    if (words.size() == 2 && words[0].text == "(" && words[1].text == ")")
      return;  // an empty block
    if (!known(verb)) {
      fault(line.place, "unknown directive: " + verb);
      return;
    }
    directive(verb, words, line);
  }

  [[nodiscard]] bool known(std::string_view verb) const {
    static constexpr std::array<std::string_view, 10> kMod = {
        "module",  "go",      "toolchain", "godebug", "require",
        "exclude", "replace", "retract",   "tool",    "ignore"};
    static constexpr std::array<std::string_view, 5> kWork = {"go", "toolchain", "godebug", "use",
                                                              "replace"};
    return is_work_ ? std::ranges::find(kWork, verb) != kWork.end()
                    : std::ranges::find(kMod, verb) != kMod.end();
  }

  void directive(const std::string& verb, const Words& words, const Line& line) {
    if (verb == "module") return module_line(words, line);
    if (verb == "go") return go_line(words, line);
    if (verb == "toolchain") {
      if (words.size() != 1)
        return fault(line.place, "toolchain directive expects exactly one argument");
      file_.toolchain = words[0].text;
      return;
    }
    if (verb == "require") return require_line(words, line);
    if (verb == "replace") return replace_line(words, line);
    if (verb == "use") {
      if (words.size() != 1) return fault(line.place, "usage: use local/dir");
      file_.uses.push_back({words[0].text, line.place});
      return;
    }
    if (verb == "godebug") {
      std::string setting;
      for (const Word& word : words) setting += word.text;
      file_.godebugs.push_back(std::move(setting));
    }
    if (verb == "exclude" && words.size() == 2) {
      file_.excludes.push_back(words[0].text + ' ' + words[1].text);
    }
    if (verb == "retract") {
      std::string versions;
      for (const Word& word : words) versions += word.text;
      file_.retracts.push_back(std::move(versions));
    }
    if (verb == "tool" && words.size() == 1) file_.tools.push_back(words[0].text);
    if (verb == "ignore" && words.size() == 1) file_.ignores.push_back(words[0].text);
    // exclude, retract, godebug: the go command judges them.
  }

  void module_line(const Words& words, const Line& line) {
    if (!file_.module_path.empty()) return fault(line.place, "repeated module statement");
    if (words.size() != 1 || words[0].text.empty()) {
      return fault(line.place, "usage: module module/path");
    }
    file_.module_path = words[0].text;
  }

  void go_line(const Words& words, const Line& line) {
    if (file_.go_version) return fault(line.place, "repeated go statement");
    if (words.size() != 1) return fault(line.place, "go directive expects exactly one argument");
    if (!is_go_version(words[0].text)) {
      return fault(line.place,
                   "invalid go version '" + words[0].text + "': must match format 1.23.0");
    }
    file_.go_version = words[0].text;
  }

  void require_line(const Words& words, const Line& line) {
    if (words.size() != 2) return fault(line.place, "usage: require module/path v1.2.3");
    if (auto bad = version_fault(words[0].text, words[1].text); !bad.empty()) {
      return fault(line.place, "require " + words[0].text + ": " + bad);
    }
    const bool indirect = line.comment == "indirect" || line.comment.starts_with("indirect;");
    file_.requirements.push_back({words[0].text, words[1].text, indirect, line.place});
  }

  void replace_line(const Words& words, const Line& line) {
    const std::size_t arrow = words.size() > 1 && words[1].text == "=>" ? 1 : 2;
    const bool fits =
        words.size() > arrow + 1 && words.size() <= arrow + 3 && words[arrow].text == "=>";
    if (!fits) {
      return fault(line.place,
                   "usage: replace module/path [v1.2.3] => other/module v1.4\n\t or replace "
                   "module/path [v1.2.3] => ../local/directory");
    }
    Replacement replacement;
    replacement.path = words[0].text;
    if (arrow == 2) replacement.version = words[1].text;
    replacement.target = words[arrow + 1].text;
    if (words.size() == arrow + 3) replacement.target_version = words[arrow + 2].text;
    replacement.place = line.place;
    if (replacement.target_version.empty() && !replacement.is_directory()) {
      return fault(line.place,
                   "replacement module without version must be directory path (rooted or starting "
                   "with . or ..)");
    }
    file_.replacements.push_back(std::move(replacement));
  }

  mod::ModLexer lexer_;
  bool is_work_;
  bool too_large_ = false;
  ModFile file_;
  std::string block_;
  ModPlace block_place_;
};

}  // namespace

bool Replacement::is_directory() const {
  return target == "." || target == ".." || target.starts_with("./") || target.starts_with("../") ||
         target.starts_with("/") || target.starts_with(".\\") || target.starts_with("..\\") ||
         (target.size() > 1 && target[1] == ':');
}

ModFile parse_go_mod(std::string_view text) {
  return ModParser(text, false).parse();
}
ModFile parse_go_work(std::string_view text) {
  return ModParser(text, true).parse();
}

std::optional<ModFault> check_go_sum(std::string_view text) {
  if (text.size() > kManifestBytesMax) return ModFault{{1, 1}, "file of more than 8 MiB"};
  std::int32_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    std::size_t fields = 0;
    bool inside = false;
    for (const char c : line) {
      const bool blank = is_blank(c);
      if (!blank && !inside) ++fields;
      inside = !blank;
    }
    if (fields != 0 && fields != 3) {
      return ModFault{{number, 1},
                      "malformed go.sum: wrong number of fields " + std::to_string(fields)};
    }
  }
  return std::nullopt;
}

bool is_go_version(std::string_view text) {
  std::size_t at = 0;
  const auto number = [&] {
    const std::size_t start = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at > start && at - start <= 6 && (at - start == 1 || text[start] != '0');
  };
  if (text.starts_with('0') || !number() || at == text.size() || text[at] != '.') return false;
  ++at;
  if (!number()) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!number()) return false;
  }
  const std::size_t word = at;
  while (at < text.size() && text[at] >= 'a' && text[at] <= 'z') ++at;
  if (at == word) return at == text.size();
  const std::size_t digits = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return at > digits && at == text.size();
}

std::string with_go_line(std::string_view go_mod, std::string_view version) {
  std::string text{go_mod};
  const bool crlf = text.find("\r\n") != std::string::npos;
  const std::string end = crlf ? "\r\n" : "\n";
  if (!text.empty() && text.back() != '\n') text += end;
  return text + end + "go " + std::string(version) + end;
}

std::string absolute_go_work(const ModFile& work, std::string_view work_dir) {
  const auto quoted = [](std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + '"';
  };
  // The go command cleans relative paths only: to it "/src/." is not the directory /src.
  const auto absolute = [&](const std::string& dir) {
    const auto cleaned = dir.starts_with('/') ? std::nullopt : join_beneath(work_dir, dir);
    return quoted(cleaned ? '/' + *cleaned : dir);
  };
  std::string text;
  if (work.go_version) text += "go " + *work.go_version + '\n';
  if (!work.toolchain.empty()) text += "toolchain " + work.toolchain + '\n';
  for (const auto& setting : work.godebugs) text += "godebug " + setting + '\n';
  for (const auto& use : work.uses) text += "use " + absolute(use.dir) + '\n';
  for (const auto& replace : work.replacements) {
    text += "replace " + quoted(replace.path);
    if (!replace.version.empty()) text += ' ' + replace.version;
    text += " => " + (replace.is_directory() ? absolute(replace.target) : quoted(replace.target));
    if (!replace.target_version.empty()) text += ' ' + replace.target_version;
    text += '\n';
  }
  return text;
}

}  // namespace cupel::worker
