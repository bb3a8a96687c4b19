#include "worker/core/change/apply_patch.hpp"

#include <algorithm>
#include <utility>

namespace cupel::worker::change {
namespace {

/// The lines of a hunk that must be there.
std::vector<std::string_view> old_lines(const text::Hunk& hunk) {
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
std::optional<std::size_t> place_of(const text::Hunk& hunk,
                                    const std::vector<std::string_view>& content, std::size_t from,
                                    std::ptrdiff_t moved) {
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

std::variant<std::string, PatchFault> apply_hunks(const text::FileDiff& file,
                                                  const std::string& before) {
  const auto content = text::lines_with_ends(before);
  std::string after;
  std::size_t done = 0;
  std::ptrdiff_t moved = 0;
  bool joined = false;
  // Only the last line of a file may have no end: two lines would become one.
  const auto append = [&](std::string_view line) {
    joined = joined || (!after.empty() && !after.ends_with('\n'));
    after += line;
  };
  for (const text::Hunk& hunk : file.hunks) {
    const auto at = place_of(hunk, content, done, moved);
    if (!at) {
      return PatchFault{file.path() + ':' + std::to_string(hunk.old_start) +
                        ": the hunk at patch line " + std::to_string(hunk.line) + " does not fit"};
    }
    moved = static_cast<std::ptrdiff_t>(*at) - static_cast<std::ptrdiff_t>(hunk.old_start) +
            (old_lines(hunk).empty() ? 0 : 1);
    for (; done < *at; ++done) append(content[done]);
    for (const auto& line : hunk.lines) {
      if (line.sign != '-') append(line.text);
      if (line.sign != '+') ++done;
    }
  }
  for (; done < content.size(); ++done) append(content[done]);
  if (joined) return PatchFault{file.path() + ": a line without an end would not be its last"};
  return after;
}

}  // namespace

std::variant<TreeChange, PatchFault> apply_patch(const std::vector<text::FileDiff>& patch,
                                                 const ReadFile& read) {
  TreeChange change;
  for (const text::FileDiff& file : patch) {
    const std::string& path = file.path();
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
