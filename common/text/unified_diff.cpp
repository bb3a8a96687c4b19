#include "common/text/unified_diff.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <utility>

namespace cupel::text {
namespace {

constexpr std::size_t kPathBytesMax = 4096;
constexpr std::size_t kFilesMax = 1000;
constexpr int kNameColumn = 5;  // behind "--- "

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

/// The byte that stands for a letter behind a backslash.
std::optional<char> escaped(char letter) {
  switch (letter) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'v': return '\v';
    case '"':
    case '\\': return letter;
    default: return std::nullopt;
  }
}

/// Undoes git's quoting. Nothing for a malformed one.
std::optional<std::string> unquoted(std::string_view text) {
  // A tab ends a name that is not quoted; what follows is a date.
  if (!text.starts_with('"')) return std::string(text.substr(0, text.find('\t')));
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
    } else if (const auto byte = escaped(text[i])) {
      out += *byte;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

bool number(std::string_view& text, std::size_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// "12,3" or "12" behind `sign`.
bool read_range(std::string_view& text, std::string_view sign, std::size_t& start,
                std::size_t& count) {
  count = 1;
  if (!text.starts_with(sign)) return false;
  text.remove_prefix(sign.size());
  if (!number(text, start)) return false;
  if (!text.starts_with(',')) return true;
  text.remove_prefix(1);
  return number(text, count);
}

class DiffReader {
 public:
  explicit DiffReader(std::string_view diff) : lines_(lines_with_ends(diff)) {}

  std::variant<std::vector<FileDiff>, DiffFault> read() {
    while (at_ < lines_.size() && !fault_) {
      const std::string_view line = without_end(lines_[at_]);
      if (line.starts_with("diff --git ")) {
        begin_git_file(line);
      } else if (line.starts_with("--- ") && next_is("+++ ")) {
        file_header();
      } else if (line.starts_with("@@ -")) {
        hunk();
      } else {
        other(line);
      }
    }
    finish_file();
    if (fault_) return *fault_;
    if (files_.empty()) return DiffFault{0, 0, "the patch changes no file"};
    return std::move(files_);
  }

 private:
  /// One side of the hunk that is read.
  struct Side {
    std::size_t start = 0;
    std::size_t count = 0;  ///< Of the lines that it still has.
    bool ended = false;     ///< Its last line was the file's.
  };

  /// Where the lines that belong to no header stand.
  enum class Place : std::uint8_t { around, in_git_header, behind_names, behind_hunk };

  void fail(std::string text, int column = 1) { fail_at(at_, std::move(text), column); }
  void fail_at(std::size_t at, std::string text, int column = 1) {
    if (!fault_) fault_ = DiffFault{static_cast<int>(at + 1), column, std::move(text)};
  }

  [[nodiscard]] bool next_is(std::string_view start) const {
    return at_ + 1 < lines_.size() && lines_[at_ + 1].starts_with(start);
  }

  void begin_file() {
    finish_file();
    current_.emplace();
    mode_named_ = false;
    prefixed_ = true;
    begun_at_ = at_;
    names_at_ = at_;
  }

  void finish_file() {
    if (!current_ || fault_) return;
    FileDiff file = *std::exchange(current_, std::nullopt);
    if (file.old_path.empty() && file.new_path.empty()) {
      return fail_at(names_at_, "a file without a name");
    }
    for (const std::string* path : {&file.old_path, &file.new_path}) {
      if (path->empty() || is_safe_path(*path)) continue;
      const bool below = named_ && path == &file.new_path;
      fail_at(names_at_ + (below ? 1 : 0), "'" + *path + "' is no path below the root",
              named_ ? kNameColumn : 1);
      return;
    }
    if (file.hunks.empty() && !mode_named_ && !file.old_path.empty() && !file.new_path.empty()) {
      return fail_at(begun_at_, file.path() + ": nothing of it is changed");
    }
    if (!paths_.insert(file.path()).second) {
      return fail_at(begun_at_, file.path() + ": named twice");
    }
    if (files_.size() >= kFilesMax) return fail_at(begun_at_, "more than 1000 files");
    files_.push_back(std::move(file));
  }

  /// "diff --git a/x b/x": names matter only where no ---/+++ lines follow (a mode, an empty file).
  void begin_git_file(std::string_view line) {
    begin_file();
    place_ = Place::in_git_header;
    named_ = false;
    line.remove_prefix(std::string_view("diff --git ").size());
    std::string name;
    if (line.starts_with('"')) {
      const auto first = unquoted(line);
      if (!first) return fail("a malformed name");
      name = *first;
    } else if (!line.empty()) {
      // Both names are equal: "a/N b/N", or "N N" of a diff without prefixes.
      const std::size_t half = (line.size() - 1) / 2;
      name = line.substr(0, half);
      prefixed_ = name != line.substr(line.size() - half);
    }
    const std::string path = prefixed_ && name.starts_with("a/") ? name.substr(2) : name;
    current_->old_path = path;
    current_->new_path = path;
    ++at_;
  }

  void other(std::string_view line) {
    if (place_ == Place::in_git_header) extended(line);
    if (place_ == Place::behind_hunk) behind_hunk(line);
    if (line.starts_with("diff --cc ") || line.starts_with("diff --combined ")) {
      return fail("the diff of a merge is not supported");
    }
    if (line.starts_with("GIT binary patch") ||
        (line.starts_with("Binary files ") && line.ends_with(" differ"))) {
      return fail("binary content is not supported");
    }
    ++at_;
  }

  void extended(std::string_view line) {
    if (line.starts_with("new file mode ")) {
      current_->old_path.clear();
      set_mode(line.substr(14));
    } else if (line.starts_with("deleted file mode ")) {
      current_->new_path.clear();
    } else if (line.starts_with("new mode ")) {
      set_mode(line.substr(9));
    } else if (line.starts_with("rename ") || line.starts_with("copy ")) {
      fail("renames and copies are not supported: make the diff with --no-renames");
    }
  }

  void set_mode(std::string_view mode) {
    mode_named_ = true;
    if (mode == "100755") {
      current_->executable = true;
    } else if (mode == "100644" || mode == "100664") {
      current_->executable = false;
    } else {
      fail("mode " + std::string(mode) + " is no plain file");
    }
  }

  /// A line of a hunk that its header doesn't count would be lost without a word. A mail's "-- "
  /// ends its patch.
  void behind_hunk(std::string_view line) {
    if (line.empty()) return;
    const bool signature = line == "-- " || line == "--";
    if (!signature && (line.front() == ' ' || line.front() == '+' || line.front() == '-')) {
      return fail("a hunk longer than its header says");
    }
    place_ = Place::around;
  }

  void file_header() {
    if (place_ != Place::in_git_header) begin_file();
    place_ = Place::behind_names;
    named_ = true;
    names_at_ = at_;
    const auto old_name = unquoted(without_end(lines_[at_]).substr(4));
    const auto new_name = unquoted(without_end(lines_[at_ + 1]).substr(4));
    if (!old_name || !new_name) {
      return fail_at(at_ + (old_name ? 1 : 0), "a malformed name", kNameColumn);
    }
    name_file(*old_name, *new_name);
    if (!current_->old_path.empty() && !current_->new_path.empty() &&
        current_->old_path != current_->new_path) {
      return fail_at(at_ + 1, "renames are not supported", kNameColumn);
    }
    at_ += 2;
  }

  void name_file(std::string_view old_name, std::string_view new_name) {
    const bool made = old_name == "/dev/null";
    const bool deleted = new_name == "/dev/null";
    // A diff without prefixes may be about a folder "a".
    const bool prefixes = prefixed_ && (made || old_name.starts_with("a/")) &&
                          (deleted || new_name.starts_with("b/"));
    const std::size_t skipped = prefixes ? 2 : 0;
    current_->old_path = made ? std::string_view{} : old_name.substr(skipped);
    current_->new_path = deleted ? std::string_view{} : new_name.substr(skipped);
  }

  void hunk() {
    if (place_ != Place::behind_names && place_ != Place::behind_hunk) {
      return fail("a hunk without '---' and '+++' lines before it");
    }
    std::string_view head = without_end(lines_[at_]).substr(3);
    Hunk hunk;
    hunk.line = static_cast<int>(at_ + 1);
    Side before;
    Side after;
    if (!read_range(head, "-", before.start, before.count) ||
        !read_range(head, " +", after.start, after.count) || !head.starts_with(" @@")) {
      return fail("a malformed hunk header");
    }
    if ((before.count > 0 && before.start == 0) || (after.count > 0 && after.start == 0)) {
      return fail("a hunk that begins at line 0");
    }
    if (before.count > 0 && current_->old_path.empty()) return fail("a new file has no old lines");
    if (after.count > 0 && current_->new_path.empty()) {
      return fail("a deleted file has no new lines");
    }
    hunk.old_start = before.start;
    ++at_;
    while ((before.count > 0 || after.count > 0) && at_ < lines_.size()) {
      if (!hunk_line(hunk, before, after)) return;
    }
    if (before.count > 0 || after.count > 0) return shorter(hunk);
    if (at_ < lines_.size() && lines_[at_].starts_with('\\')) no_line_end(hunk, before, after);
    current_->hunks.push_back(std::move(hunk));
    place_ = Place::behind_hunk;
  }

  void shorter(const Hunk& hunk) {
    fail_at(static_cast<std::size_t>(hunk.line) - 1, "a hunk shorter than its header says");
  }

  /// The next line of a hunk.
  bool hunk_line(Hunk& hunk, Side& before, Side& after) {
    const std::string_view line = lines_[at_];
    // Mail programs strip the blank of an empty context line.
    const bool stripped = line == "\n" || line == "\r\n";
    const char sign = stripped ? ' ' : line.front();
    if (sign == '\\') {
      no_line_end(hunk, before, after);
      return !fault_;
    }
    if (sign != ' ' && sign != '-' && sign != '+') {
      shorter(hunk);
      return false;
    }
    for (Side* const side : {&before, &after}) {
      if (sign == (side == &before ? '+' : '-')) continue;
      if (side->count == 0) fail("a hunk longer than its header says");
      if (side->ended) fail("a line behind the last one of its file");
      if (fault_) return false;
      --side->count;
    }
    std::string text(stripped ? line : line.substr(1));
    // Editors drop the end of the last line; a file without one has a line that says so.
    if (!text.ends_with('\n')) text += '\n';
    hunk.lines.push_back({sign, std::move(text)});
    ++at_;
    return true;
  }

  /// "\ No newline at end of file"
  void no_line_end(Hunk& hunk, Side& before, Side& after) {
    if (hunk.lines.empty()) return fail("'\\' without a line before it");
    DiffLine& last = hunk.lines.back();
    if (last.text.ends_with('\n')) last.text.pop_back();
    before.ended = before.ended || last.sign != '+';
    after.ended = after.ended || last.sign != '-';
    ++at_;
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  std::optional<FileDiff> current_;
  std::size_t begun_at_ = 0;  ///< Of the current file: its first line, and
  std::size_t names_at_ = 0;  ///< that of its names.
  bool named_ = false;        ///< By ---/+++ lines.
  bool prefixed_ = true;      ///< By a/ and b/, unless its names show that they aren't.
  bool mode_named_ = false;
  Place place_ = Place::around;
  std::set<std::string, std::less<>> paths_;
  std::vector<FileDiff> files_;
  std::optional<DiffFault> fault_;
};

}  // namespace

std::vector<std::string_view> lines_with_ends(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end == std::string_view::npos ? end : end + 1));
    text.remove_prefix(lines.back().size());
  }
  return lines;
}

std::variant<std::vector<FileDiff>, DiffFault> read_unified_diff(std::string_view diff) {
  return DiffReader(diff).read();
}

}  // namespace cupel::text
