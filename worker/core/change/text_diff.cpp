#include "worker/core/change/text_diff.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cupel::worker::change {
namespace {

constexpr std::size_t kContext = 3;
/// Beyond this many edits the middle is told as one replacement: right, only longer.
constexpr std::ptrdiff_t kEditsMax = 2'000;

using Lines = std::vector<std::string_view>;

/// With their line ends; the last one may lack it.
Lines diff_lines(std::string_view text) {
  Lines lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    const auto next = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(at, next - at));
    at = next;
  }
  return lines;
}

/// Which lines of both sides are kept: pairs of indices, ascending.
struct Kept {
  std::size_t a = 0;
  std::size_t b = 0;
};

/// Myers' greedy algorithm over [a, a_end) and [b, b_end).
std::vector<Kept> common_lines(const Lines& a, const Lines& b) {
  std::size_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  std::size_t tail = 0;
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) {
    ++tail;
  }
  const auto n = static_cast<std::ptrdiff_t>(a.size() - head - tail);
  const auto m = static_cast<std::ptrdiff_t>(b.size() - head - tail);
  const auto limit = std::min(n + m, kEditsMax);
  const auto at = [&](std::ptrdiff_t k) { return static_cast<std::size_t>(k + limit + 1); };
  std::vector<std::ptrdiff_t> furthest(static_cast<std::size_t>(2 * limit + 3), 0);
  std::vector<std::vector<std::ptrdiff_t>> trace;
  const auto equal = [&](std::ptrdiff_t x, std::ptrdiff_t y) {
    return a[head + static_cast<std::size_t>(x)] == b[head + static_cast<std::size_t>(y)];
  };
  bool found = false;
  for (std::ptrdiff_t d = 0; d <= limit && !found; ++d) {
    trace.push_back({furthest.begin() + static_cast<std::ptrdiff_t>(at(-d - 1)),
                     furthest.begin() + static_cast<std::ptrdiff_t>(at(d + 1)) + 1});
    for (std::ptrdiff_t k = -d; k <= d; k += 2) {
      const bool down = k == -d || (k != d && furthest[at(k - 1)] < furthest[at(k + 1)]);
      std::ptrdiff_t x = down ? furthest[at(k + 1)] : furthest[at(k - 1)] + 1;
      while (x < n && x - k < m && equal(x, x - k)) ++x;
      furthest[at(k)] = x;
      if (x >= n && x - k >= m) {
        found = true;
        break;
      }
    }
  }
  std::vector<Kept> middle;
  if (found) {
    std::ptrdiff_t x = n;
    std::ptrdiff_t y = m;
    for (auto d = static_cast<std::ptrdiff_t>(trace.size()) - 1; d >= 0; --d) {
      const auto& row = trace[static_cast<std::size_t>(d)];
      const auto value = [&](std::ptrdiff_t k) { return row[static_cast<std::size_t>(k + d + 1)]; };
      const std::ptrdiff_t k = x - y;
      const bool down = k == -d || (k != d && value(k - 1) < value(k + 1));
      const std::ptrdiff_t from_x = d == 0 ? 0 : (down ? value(k + 1) : value(k - 1));
      const std::ptrdiff_t from_y = d == 0 ? 0 : from_x - (down ? k + 1 : k - 1);
      while (x > from_x && y > from_y && equal(x - 1, y - 1)) {
        --x;
        --y;
        middle.push_back({head + static_cast<std::size_t>(x), head + static_cast<std::size_t>(y)});
      }
      x = from_x;
      y = from_y;
    }
    std::ranges::reverse(middle);
  }
  std::vector<Kept> kept;
  kept.reserve(head + middle.size() + tail);
  for (std::size_t i = 0; i < head; ++i) kept.push_back({i, i});
  kept.insert(kept.end(), middle.begin(), middle.end());
  for (std::size_t i = tail; i > 0; --i) kept.push_back({a.size() - i, b.size() - i});
  return kept;
}

struct Line {
  char sign = ' ';
  std::string_view text;
};

std::string range(std::size_t start, std::size_t count) {
  // An empty side names the line before.
  std::string text = std::to_string(count == 0 ? start : start + 1);
  if (count != 1) text += ',' + std::to_string(count);
  return text;
}

/// Appends the hunks of an edit script.
void append_hunks(const std::vector<Line>& script, std::string& out) {
  std::size_t a = 0;
  std::size_t b = 0;
  for (std::size_t at = 0; at < script.size();) {
    if (script[at].sign == ' ') {
      ++a, ++b, ++at;
      continue;
    }
    const std::size_t lead = std::min({kContext, a, b, at});
    const std::size_t first = at - lead;
    // The hunk ends where more than two contexts of unchanged lines follow.
    std::size_t last = at;
    for (std::size_t i = at; i < script.size() && i - last <= 2 * kContext; ++i) {
      if (script[i].sign != ' ') last = i;
    }
    const std::size_t end = std::min(script.size(), last + 1 + kContext);
    const std::size_t a_start = a - lead;
    const std::size_t b_start = b - lead;
    std::size_t a_count = 0;
    std::size_t b_count = 0;
    for (std::size_t i = first; i < end; ++i) {
      a_count += script[i].sign != '+' ? 1U : 0U;
      b_count += script[i].sign != '-' ? 1U : 0U;
    }
    out += "@@ -" + range(a_start, a_count) + " +" + range(b_start, b_count) + " @@\n";
    for (std::size_t i = first; i < end; ++i) {
      out += script[i].sign;
      out += script[i].text;
      if (!script[i].text.ends_with('\n')) out += "\n\\ No newline at end of file\n";
    }
    a = a_start + a_count;
    b = b_start + b_count;
    at = end;
  }
}

std::string hunks(std::string_view before, std::string_view after) {
  const Lines a = diff_lines(before);
  const Lines b = diff_lines(after);
  std::vector<Line> script;
  std::size_t i = 0;
  std::size_t j = 0;
  const auto flush = [&](std::size_t to_a, std::size_t to_b) {
    for (; i < to_a; ++i) script.push_back({'-', a[i]});
    for (; j < to_b; ++j) script.push_back({'+', b[j]});
  };
  for (const Kept& kept : common_lines(a, b)) {
    flush(kept.a, kept.b);
    script.push_back({' ', a[i]});
    ++i, ++j;
  }
  flush(a.size(), b.size());
  std::string out;
  append_hunks(script, out);
  return out;
}

bool is_binary(const std::optional<std::string>& bytes) {
  return bytes && bytes->find('\0') != std::string::npos;
}

std::string mode(bool executable) {
  return executable ? "100755" : "100644";
}

/// `git` ends a name with blanks by a tab, so that nobody takes what follows for a date.
std::string side_header(const char* sign, const std::string& prefix, const std::string& path) {
  const std::string name = quoted_path(prefix + path);
  const bool blank = name.front() != '"' && name.find(' ') != std::string::npos;
  return std::string(sign) + ' ' + name + (blank ? "\t\n" : "\n");
}

std::string file_diff(const std::string& path, const FileChange& file) {
  std::string out =
      "diff --git " + quoted_path("a/" + path) + ' ' + quoted_path("b/" + path) + '\n';
  if (!file.before) out += "new file mode " + mode(file.executable_after) + '\n';
  if (!file.after) out += "deleted file mode " + mode(file.executable_before) + '\n';
  if (file.before && file.after && file.executable_before != file.executable_after) {
    out += "old mode " + mode(file.executable_before) + "\nnew mode " +
           mode(file.executable_after) + '\n';
  }
  const std::string body = hunks(file.before.value_or(""), file.after.value_or(""));
  if (body.empty()) return out;
  out += file.before ? side_header("---", "a/", path) : "--- /dev/null\n";
  out += file.after ? side_header("+++", "b/", path) : "+++ /dev/null\n";
  return out + body;
}

}  // namespace

std::string quoted_path(const std::string& path) {
  const bool plain = std::ranges::all_of(path, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
  });
  if (plain) return path;
  std::string quoted = "\"";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (byte < 0x20 || byte >= 0x7f) {
      quoted += '\\';
      for (const unsigned shift : {6U, 3U, 0U}) {
        quoted += static_cast<char>('0' + ((byte >> shift) & 7U));
      }
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

Result<std::string> unified_diff(const TreeChange& change) {
  std::string out;
  for (const auto& [path, file] : change) {
    const bool same = file.before == file.after &&
                      (!file.before || file.executable_before == file.executable_after);
    if (same) continue;
    if (is_binary(file.before) || is_binary(file.after)) {
      return Error{Errc::bad_value, "a binary file: " + path, {}, {}};
    }
    out += file_diff(path, file);
    if (out.size() > kDiffBytesMax) {
      return Error{Errc::too_large, "the diff is larger than 16 MiB", {}, {}};
    }
  }
  return out;
}

}  // namespace cupel::worker::change
