#include "worker/core/change/apply_patch.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace cupel::worker::change {
namespace {

constexpr std::size_t kPathBytesMax = 4096;
constexpr std::size_t kFilesMax = 1000;

std::vector<std::string_view> whole_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    const auto next = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(at, next - at));
    at = next;
  }
  return lines;
}

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > kPathBytesMax || path.front() == '/' ||
      path.find('\0') != std::string_view::npos) {
    return false;
  }
  while (true) {
    const auto slash = path.find('/');
    std::string part(path.substr(0, slash));
    std::ranges::transform(part, part.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (part.empty() || part == "." || part == ".." || part == ".git") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

/// Undoes git's quoting. Nothing for a malformed one.
std::optional<std::string> unquoted(std::string_view text) {
  if (!text.starts_with('"')) {
    // A tab ends the name; what follows is a date.
    return std::string(text.substr(0, text.find('\t')));
  }
  std::string out;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') return out;
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i >= text.size()) return std::nullopt;
    if (text[i] >= '0' && text[i] <= '3' && i + 2 < text.size()) {
      unsigned byte = 0;
      for (int digit = 0; digit < 3; ++digit, ++i) {
        if (text[i] < '0' || text[i] > '7') return std::nullopt;
        byte = byte * 8 + static_cast<unsigned>(text[i] - '0');
      }
      --i;
      out += static_cast<char>(byte);
    } else {
      switch (text[i]) {
        case 'n': out += '\n'; break;
        case 't': out += '\t'; break;
        case 'r': out += '\r'; break;
        case 'a': out += '\a'; break;
        case 'b': out += '\b'; break;
        case 'f': out += '\f'; break;
        case 'v': out += '\v'; break;
        case '"':
        case '\\': out += text[i]; break;
        default: return std::nullopt;
      }
    }
  }
  return std::nullopt;
}

class PatchParser {
 public:
  explicit PatchParser(std::string_view diff) : lines_(whole_lines(diff)) {}

  std::variant<std::vector<FilePatch>, PatchFault> parse() {
    while (at_ < lines_.size() && !fault_) {
      const std::string_view line = without_end(lines_[at_]);
      if (line.starts_with("diff --git ")) {
        begin_git_file(line);
      } else if (line.starts_with("--- ") && next_is("+++ ")) {
        file_header();
      } else if (line.starts_with("@@ ") && current_) {
        hunk();
      } else {
        extended(line);
      }
    }
    finish_file();
    if (fault_) return *fault_;
    if (files_.empty()) return PatchFault{"the patch changes no file"};
    return std::move(files_);
  }

 private:
  void fail(const std::string& text) {
    if (!fault_) fault_ = PatchFault{"patch line " + std::to_string(at_ + 1) + ": " + text};
  }

  [[nodiscard]] bool next_is(std::string_view start) const {
    return at_ + 1 < lines_.size() && lines_[at_ + 1].starts_with(start);
  }

  void finish_file() {
    if (!current_ || fault_) return;
    FilePatch file = *std::exchange(current_, std::nullopt);
    headers_seen_ = false;
    for (const std::string* path : {&file.old_path, &file.new_path}) {
      if (!path->empty() && !is_safe_path(*path))
        return fail("'" + *path + "' is no path below the root");
    }
    if (file.old_path.empty() && file.new_path.empty()) return fail("a file without a name");
    if (files_.size() >= kFilesMax) return fail("more than 1000 files");
    files_.push_back(std::move(file));
  }

  /// "diff --git a/x b/x": names matter only where no ---/+++ lines follow (a mode, an empty file).
  void begin_git_file(std::string_view line) {
    finish_file();
    current_.emplace();
    git_ = true;
    line.remove_prefix(std::string_view("diff --git ").size());
    std::string name;
    if (line.starts_with('"')) {
      const auto first = unquoted(line);
      if (!first) return fail("a malformed name");
      name = *first;
    } else {
      // Both names are equal: "a/N b/N".
      name = line.substr(0, (line.size() - 1) / 2);
    }
    const std::string path = name.starts_with("a/") ? name.substr(2) : name;
    current_->old_path = path;
    current_->new_path = path;
    ++at_;
  }

  void extended(std::string_view line) {
    if (current_ && git_ && !headers_seen_) {
      if (line.starts_with("new file mode ")) {
        current_->old_path.clear();
        set_mode(line.substr(14));
      } else if (line.starts_with("deleted file mode ")) {
        current_->new_path.clear();
      } else if (line.starts_with("new mode ")) {
        set_mode(line.substr(9));
      } else if (line.starts_with("rename ") || line.starts_with("copy ")) {
        return fail("renames and copies are not supported: make the diff with --no-renames");
      } else if (line.starts_with("GIT binary patch") || line.starts_with("Binary files ")) {
        return fail("binary content");
      }
    }
    ++at_;  // text around the diff, index lines
  }

  void set_mode(std::string_view mode) {
    if (mode == "100755") {
      current_->executable = true;
    } else if (mode == "100644" || mode == "100664") {
      current_->executable = false;
    } else {
      fail("mode " + std::string(mode) + " is no plain file");
    }
  }

  void file_header() {
    if (headers_seen_ || !current_) {
      finish_file();
      current_.emplace();
      git_ = false;
    }
    headers_seen_ = true;
    const auto old_name = unquoted(without_end(lines_[at_]).substr(4));
    const auto new_name = unquoted(without_end(lines_[at_ + 1]).substr(4));
    if (!old_name || !new_name) return fail("a malformed name");
    const auto path = [](const std::string& name, std::string_view prefix) {
      if (name == "/dev/null") return std::string();
      return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    };
    current_->old_path = path(*old_name, "a/");
    current_->new_path = path(*new_name, "b/");
    if (!current_->old_path.empty() && !current_->new_path.empty() &&
        current_->old_path != current_->new_path) {
      return fail("renames are not supported");
    }
    at_ += 2;
  }

  static bool number(std::string_view& text, std::size_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end == text.data()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  }

  /// "12,3" or "12".
  static bool read_range(std::string_view& text, std::size_t& start, std::size_t& count) {
    count = 1;
    if (!number(text, start)) return false;
    if (!text.starts_with(',')) return true;
    text.remove_prefix(1);
    return number(text, count);
  }

  void hunk() {
    std::string_view head = without_end(lines_[at_]).substr(3);
    Hunk hunk;
    hunk.line = static_cast<std::int32_t>(at_ + 1);
    std::size_t old_count = 0;
    std::size_t new_start = 0;
    std::size_t new_count = 0;
    const bool fits = head.starts_with('-') && (head.remove_prefix(1), true) &&
                      read_range(head, hunk.old_start, old_count) && head.starts_with(" +") &&
                      (head.remove_prefix(2), true) && read_range(head, new_start, new_count) &&
                      head.starts_with(" @@");
    if (!fits) return fail("a malformed hunk header");
    ++at_;
    while ((old_count > 0 || new_count > 0) && at_ < lines_.size()) {
      std::string_view line = lines_[at_];
      // Mail programs strip the blank of an empty context line.
      const char sign = line == "\n" || line == "\r\n" ? ' ' : line.front();
      if (sign == '\\') {
        no_line_end(hunk);
        ++at_;
        continue;
      }
      if (sign != ' ' && sign != '-' && sign != '+') return fail("a malformed hunk");
      const bool takes_old = sign != '+';
      const bool takes_new = sign != '-';
      if ((takes_old && old_count == 0) || (takes_new && new_count == 0)) {
        return fail("a hunk longer than its header says");
      }
      old_count -= takes_old ? 1U : 0U;
      new_count -= takes_new ? 1U : 0U;
      const bool stripped = line.front() != sign;
      hunk.lines.push_back({sign, std::string(stripped ? line : line.substr(1))});
      ++at_;
    }
    if (old_count > 0 || new_count > 0) return fail("a hunk shorter than its header says");
    if (at_ < lines_.size() && lines_[at_].starts_with('\\')) {
      no_line_end(hunk);
      ++at_;
    }
    current_->hunks.push_back(std::move(hunk));
  }

  static void no_line_end(Hunk& hunk) {
    if (hunk.lines.empty()) return;
    std::string& text = hunk.lines.back().text;
    if (text.ends_with('\n')) text.pop_back();
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  std::optional<FilePatch> current_;
  bool git_ = false;
  bool headers_seen_ = false;
  std::vector<FilePatch> files_;
  std::optional<PatchFault> fault_;
};

/// The lines of a hunk that must be there.
std::vector<std::string_view> old_lines(const Hunk& hunk) {
  std::vector<std::string_view> lines;
  for (const auto& line : hunk.lines) {
    if (line.sign != '+') lines.push_back(line.text);
  }
  return lines;
}

bool fits_at(const std::vector<std::string_view>& content, std::size_t at,
             const std::vector<std::string_view>& wanted) {
  if (at > content.size() || wanted.size() > content.size() - at) return false;
  return std::equal(wanted.begin(), wanted.end(),
                    content.begin() + static_cast<std::ptrdiff_t>(at));
}

/// Where the hunk goes, not before `from`; nothing when it fits nowhere or, away from its place, in
/// more than one.
std::optional<std::size_t> place_of(const Hunk& hunk, const std::vector<std::string_view>& content,
                                    std::size_t from, std::ptrdiff_t moved) {
  const auto wanted = old_lines(hunk);
  const auto named = static_cast<std::ptrdiff_t>(hunk.old_start) - (wanted.empty() ? 0 : 1) + moved;
  if (named >= static_cast<std::ptrdiff_t>(from) &&
      fits_at(content, static_cast<std::size_t>(named), wanted)) {
    return static_cast<std::size_t>(named);
  }
  if (wanted.empty()) return std::nullopt;
  std::optional<std::size_t> found;
  for (std::size_t at = from; at + wanted.size() <= content.size(); ++at) {
    if (!fits_at(content, at, wanted)) continue;
    if (found) return std::nullopt;
    found = at;
  }
  return found;
}

std::variant<std::string, PatchFault> apply_hunks(const FilePatch& file,
                                                  const std::string& before) {
  const auto content = whole_lines(before);
  std::string after;
  std::size_t done = 0;
  std::ptrdiff_t moved = 0;
  for (const Hunk& hunk : file.hunks) {
    const auto at = place_of(hunk, content, done, moved);
    if (!at) {
      return PatchFault{(file.old_path.empty() ? file.new_path : file.old_path) + ':' +
                        std::to_string(hunk.old_start) + ": the hunk at patch line " +
                        std::to_string(hunk.line) + " does not fit"};
    }
    moved = static_cast<std::ptrdiff_t>(*at) - static_cast<std::ptrdiff_t>(hunk.old_start) +
            (old_lines(hunk).empty() ? 0 : 1);
    for (; done < *at; ++done) after += content[done];
    for (const auto& line : hunk.lines) {
      if (line.sign != '-') after += line.text;
      if (line.sign != '+') ++done;
    }
  }
  for (; done < content.size(); ++done) after += content[done];
  return after;
}

}  // namespace

std::variant<std::vector<FilePatch>, PatchFault> parse_patch(std::string_view diff) {
  return PatchParser(diff).parse();
}

std::variant<TreeChange, PatchFault> apply_patch(const std::vector<FilePatch>& patch,
                                                 const ReadFile& read) {
  TreeChange change;
  for (const FilePatch& file : patch) {
    const std::string& path = file.new_path.empty() ? file.old_path : file.new_path;
    if (change.contains(path)) return PatchFault{path + ": named twice"};
    FileChange made;
    const auto there = read(path);
    if (there && there->link) return PatchFault{path + ": is a link"};
    if (file.old_path.empty()) {
      if (there) return PatchFault{path + ": the patch makes it, but it exists"};
    } else {
      if (!there) return PatchFault{path + ": no such file"};
      made.before = there->content;
      made.executable_before = there->executable;
    }
    auto applied = apply_hunks(file, made.before.value_or(""));
    if (auto* fault = std::get_if<PatchFault>(&applied)) return std::move(*fault);
    std::string& after = std::get<std::string>(applied);
    if (file.new_path.empty()) {
      if (!after.empty()) return PatchFault{path + ": the patch deletes it, but lines remain"};
    } else {
      made.after = std::move(after);
      made.executable_after = file.executable.value_or(made.executable_before);
    }
    change.emplace(path, std::move(made));
  }
  return change;
}

}  // namespace cupel::worker::change
