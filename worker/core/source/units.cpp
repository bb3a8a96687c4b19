#include "worker/core/source/units.hpp"

#include "common/core/limits.hpp"
#include "worker/core/source/admission.hpp"
#include "worker/core/source/gomod.hpp"

#include <algorithm>
#include <charconv>
#include <set>

namespace cupel::worker {
namespace {

using gitfmt::TreeEntry;

std::string_view base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string dir_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : std::string(path.substr(0, slash));
}

std::string in_dir(std::string_view dir, std::string_view name) {
  return dir == "." ? std::string(name) : std::string(dir) + '/' + std::string(name);
}

bool is_in_or_below(std::string_view path, std::string_view dir) {
  return dir == "." || path == dir ||
         (path.size() > dir.size() && path.starts_with(dir) && path[dir.size()] == '/');
}

/// Directories that ./... never enters, so that a go.mod in them is somebody's test data or copy.
bool is_ignored_dir(std::string_view dir) {
  if (dir == ".") return false;
  for (std::size_t at = 0; at < dir.size();) {
    const auto end = std::min(dir.find('/', at), dir.size());
    const std::string_view name = dir.substr(at, end - at);
    if (name == "testdata" || name == "vendor" || name.starts_with('.') || name.starts_with('_')) {
      return true;
    }
    at = end + 1;
  }
  return false;
}

/// Without a go line, and before go 1.14, the go command doesn't look at a vendor folder.
bool uses_vendor(std::string_view go_version) {
  constexpr std::string_view kMajor = "1.";
  if (!go_version.starts_with(kMajor)) return !go_version.empty() && go_version[0] > '1';
  go_version.remove_prefix(kMajor.size());
  int minor = 0;
  std::from_chars(go_version.data(), go_version.data() + go_version.size(), minor);
  return minor >= 14;
}

/// "sub/", "./sub", "/sub" as people write them.
std::string clean_subdir(const std::string& text) {
  std::string_view rest = text;
  while (rest.starts_with('/')) rest.remove_prefix(1);
  return join_beneath(".", rest).value_or(text);
}

void refuse(UnitInfo& unit, const SourceRefusal& why) {
  if (unit.outcome != Outcome::passing) return;
  unit.outcome = class_of(why.reason);
  unit.reason = why.reason;
  unit.findings = why.findings;
}

SourceRefusal manifest_error(Reason reason, const std::string& file, std::int32_t line,
                             const std::string& what) {
  return refusal(reason, FindingKind::manifest_error, what, file, line);
}

std::string at(const std::string& file, std::int32_t line) {
  return file + ':' + std::to_string(line) + ": ";
}

class UnitFinder {
 public:
  explicit UnitFinder(const SourceView& view) : view_(view) {
    for (const TreeEntry& entry : view.entries) by_path_.emplace(entry.path, &entry);
  }

  std::vector<UnitInfo> find() {
    read_workspaces();
    std::vector<UnitInfo> units;
    for (const TreeEntry& entry : view_.entries) {
      if (base_name(entry.path) != "go.mod" || entry.mode == gitfmt::kModeSubmodule) continue;
      const std::string dir = dir_name(entry.path);
      if (!is_ignored_dir(dir)) units.push_back(unit_in(dir, entry));
    }
    std::ranges::sort(units, {}, &UnitInfo::dir);
    return units;
  }

 private:
  struct Workspace {
    std::string path;
    ModFile file;
    std::set<std::string> members;         ///< Directories below the root.
    std::optional<SourceRefusal> broken;   ///< Hits every unit below it, listed or not.
    std::optional<SourceRefusal> refused;  ///< Hits the units that it lists.
    bool vendored = false;
  };

  [[nodiscard]] const TreeEntry* entry(const std::string& path) const {
    const auto it = by_path_.find(path);
    return it == by_path_.end() ? nullptr : it->second;
  }

  [[nodiscard]] bool is_link(const std::string& path) const {
    const TreeEntry* found = entry(path);
    return found != nullptr && found->mode == gitfmt::kModeLink;
  }

  [[nodiscard]] bool is_file(const std::string& path) const {
    const TreeEntry* found = entry(path);
    return found != nullptr && found->mode != gitfmt::kModeLink &&
           found->mode != gitfmt::kModeSubmodule;
  }

  [[nodiscard]] bool is_folder(const std::string& path) const {
    const auto next = by_path_.lower_bound(path + '/');
    return next != by_path_.end() && next->first.starts_with(path + '/');
  }

  /// The gitlink that `path` is or lies in; a snapshot has an empty folder there.
  [[nodiscard]] std::string submodule_of(std::string path) const {
    while (path != ".") {
      const TreeEntry* found = entry(path);
      if (found != nullptr && found->mode == gitfmt::kModeSubmodule) return path;
      path = dir_name(path);
    }
    return {};
  }

  [[nodiscard]] std::string content(const std::string& path) const {
    const auto it = view_.manifests.find(path);
    return it == view_.manifests.end() ? std::string() : it->second;
  }

  /// True when `target`, seen from `dir`, is outside: by its text, or by way of a link of the tree.
  [[nodiscard]] bool leaves(const std::string& dir, const std::string& target) const {
    if (target.starts_with('/') || !join_beneath(dir, target)) return true;
    return link_escapes(in_dir(dir, "go.mod"), target, view_.links);
  }

  static SourceRefusal symlink(const std::string& path) {
    return manifest_error(Reason::manifest_is_symlink, shown_path(path), 0,
                          "manifest_is_symlink: " + shown_path(path) +
                              " is a link; manifests must be files of the repository");
  }

  /// A go.sum that no go command can read, and neither do we.
  [[nodiscard]] std::optional<SourceRefusal> unreadable_sum(const std::string& path) const {
    const TreeEntry* found = entry(path);
    const bool folder = found == nullptr ? is_folder(path) : !is_file(path) && !is_link(path);
    if (!folder && (found == nullptr || found->size <= kManifestBytesMax)) return std::nullopt;
    const std::string what = folder ? ": is a folder; it must be a file" : ": more than 8 MiB";
    return manifest_error(Reason::bad_go_sum, shown_path(path), 0, shown_path(path) + what);
  }

  /// A module that go.mod or go.work takes from a folder of a submodule is not here.
  [[nodiscard]] std::optional<SourceRefusal> in_submodule(const std::string& dir,
                                                          const std::string& shown,
                                                          const std::string& target,
                                                          std::int32_t line) const {
    const std::string submodule = submodule_of(join_beneath(dir, target).value_or("."));
    if (submodule.empty()) return std::nullopt;
    return refusal(Reason::submodule_not_fetched, FindingKind::environment,
                   at(shown, line) + shown_path(target) + " lies in the submodule " +
                       shown_path(submodule) + ", which isn't fetched",
                   shown, line);
  }

  void read_workspaces() {
    for (const TreeEntry& found : view_.entries) {
      if (base_name(found.path) != "go.work" || found.mode == gitfmt::kModeSubmodule) continue;
      const std::string dir = dir_name(found.path);
      if (is_ignored_dir(dir)) continue;
      workspaces_.emplace(dir, read_workspace(dir, found));
    }
  }

  Workspace read_workspace(const std::string& dir, const TreeEntry& found) const {
    Workspace work;
    work.path = found.path;
    if (found.mode == gitfmt::kModeLink) {
      work.broken = symlink(found.path);
      return work;
    }
    if (is_link(in_dir(dir, "go.work.sum"))) work.refused = symlink(in_dir(dir, "go.work.sum"));
    if (!work.refused) work.refused = unreadable_sum(in_dir(dir, "go.work.sum"));
    const std::string shown = shown_path(found.path);
    work.file = parse_go_work(content(found.path));
    if (!work.file.faults.empty()) {
      const ModFault& fault = work.file.faults.front();
      work.broken = manifest_error(Reason::bad_go_work, shown, fault.place.line,
                                   at(shown, fault.place.line) + fault.text);
      return work;
    }
    for (const UseDirective& use : work.file.uses) {
      if (!leaves(dir, use.dir)) {
        work.members.insert(*join_beneath(dir, use.dir));
        if (!work.refused) work.refused = in_submodule(dir, shown, use.dir, use.place.line);
      } else if (!work.refused) {
        work.refused = manifest_error(
            Reason::work_outside_repo, shown, use.place.line,
            at(shown, use.place.line) + "cannot load module " + shown_path(use.dir) +
                " listed in go.work file: the directory lies outside of the repository");
      }
    }
    if (auto outside = replacement_outside(dir, shown, work.file); outside && !work.refused) {
      work.refused = std::move(outside);
    }
    work.vendored = is_vendored(dir, work.file.go_version.value_or("1.18"));
    return work;
  }

  /// As the go command sees it: a vendor folder, whatever is in it, from go 1.14 on. A module's zip
  /// may have the list in it, never what that lists.
  [[nodiscard]] bool is_vendored(const std::string& dir, std::string_view go_version) const {
    return view_.has_vendored_code && is_folder(in_dir(dir, "vendor")) && uses_vendor(go_version);
  }

  [[nodiscard]] std::optional<SourceRefusal> replacement_outside(const std::string& dir,
                                                                 const std::string& shown,
                                                                 const ModFile& file) const {
    for (const Replacement& replace : file.replacements) {
      if (!replace.is_directory() || !leaves(dir, replace.target)) continue;
      return manifest_error(Reason::replace_outside_repo, shown, replace.place.line,
                            at(shown, replace.place.line) + shown_path(replace.path) +
                                ": replacement directory " + shown_path(replace.target) +
                                " does not exist: it lies outside of the repository");
    }
    return std::nullopt;
  }

  /// What no module requires is never read.
  [[nodiscard]] std::optional<SourceRefusal> replacement_not_fetched(const std::string& dir,
                                                                     const std::string& shown,
                                                                     const ModFile& file) const {
    for (const Replacement& replace : file.replacements) {
      const bool required = std::ranges::any_of(
          file.requirements, [&](const Requirement& one) { return one.path == replace.path; });
      if (!required || !replace.is_directory()) continue;
      if (auto absent = in_submodule(dir, shown, replace.target, replace.place.line)) return absent;
    }
    return std::nullopt;
  }

  /// The go command would take the empty folder for what the module needs.
  [[nodiscard]] std::optional<SourceRefusal> vendor_not_fetched(const std::string& dir,
                                                                const ModFile& file) const {
    const std::string vendor = in_dir(dir, "vendor");
    const TreeEntry* found = entry(vendor);
    if (found == nullptr || found->mode != gitfmt::kModeSubmodule || file.requirements.empty() ||
        !uses_vendor(file.go_version.value_or(""))) {
      return std::nullopt;
    }
    return refusal(Reason::submodule_not_fetched, FindingKind::environment,
                   shown_path(vendor) + " is a submodule, which isn't fetched", shown_path(vendor));
  }

  /// The go.work that the go command would find from here: the nearest one upwards.
  [[nodiscard]] const Workspace* nearest_workspace(std::string dir) const {
    while (true) {
      if (const auto it = workspaces_.find(dir); it != workspaces_.end()) return &it->second;
      if (dir == ".") return nullptr;
      dir = dir_name(dir);
    }
  }

  UnitInfo unit_in(const std::string& dir, const TreeEntry& found) const {
    UnitInfo unit;
    unit.dir = dir;
    for (const char* name : {"go.mod", "go.sum", "vendor", "vendor/modules.txt"}) {
      if (is_link(in_dir(dir, name))) refuse(unit, symlink(in_dir(dir, name)));
    }
    if (found.mode == gitfmt::kModeLink) return unit;

    const std::string shown = shown_path(found.path);
    const ModFile file = parse_go_mod(content(found.path));
    unit.module_path = file.module_path;
    unit.go_version = file.go_version.value_or("");
    unit.vendored = is_vendored(dir, unit.go_version);
    if (!file.faults.empty()) {
      const ModFault& fault = file.faults.front();
      refuse(unit, manifest_error(Reason::bad_go_mod, shown, fault.place.line,
                                  at(shown, fault.place.line) + fault.text));
    } else if (file.module_path.empty()) {
      refuse(unit,
             manifest_error(Reason::bad_go_mod, shown, 0, shown + ": missing module declaration"));
    }
    if (const auto absent = vendor_not_fetched(dir, file)) refuse(unit, *absent);
    join_workspace(unit);
    // A vendored unit reads its copies, never the directories that replace names.
    if (!unit.vendored) {
      if (const auto outside = replacement_outside(dir, shown, file)) refuse(unit, *outside);
      if (const auto absent = replacement_not_fetched(dir, shown, file)) refuse(unit, *absent);
      if (const auto sum = unreadable_sum(in_dir(dir, "go.sum"))) refuse(unit, *sum);
    }
    return unit;
  }

  void join_workspace(UnitInfo& unit) const {
    const Workspace* work = nearest_workspace(unit.dir);
    if (work == nullptr) return;
    if (work->broken) refuse(unit, *work->broken);
    if (!work->members.contains(unit.dir)) return;
    unit.workspace = work->path;
    unit.vendored =
        work->vendored;  // in a workspace only the vendor directory beside go.work counts
    if (work->refused) refuse(unit, *work->refused);
  }

  const SourceView& view_;
  std::map<std::string, const TreeEntry*> by_path_;
  std::map<std::string, Workspace> workspaces_;
};

SourceRefusal no_go_mod(const std::string& where) {
  SourceRefusal answer = refusal(Reason::no_go_mod, FindingKind::manifest_error,
                                 "no_go_mod: go.mod file not found in " + where);
  // What every go command says there, as it would stand in the stream.
  Finding pattern;
  pattern.kind = FindingKind::setup_failure;
  pattern.check = CheckKind::list;
  pattern.package = "./...";
  pattern.message =
      "pattern ./...: directory prefix . does not contain main module or its selected dependencies";
  pattern.inferred = true;
  answer.findings.push_back(std::move(pattern));
  return answer;
}

}  // namespace

bool wants_content(std::string_view path) {
  const auto name = base_name(path);
  return name == "go.mod" || name == "go.work" || path == ".gitmodules";
}

std::optional<std::string> join_beneath(std::string_view dir, std::string_view relative) {
  std::vector<std::string_view> parts;
  for (const std::string_view text : {dir, relative}) {
    for (std::size_t at = 0; at < text.size();) {
      const auto end = std::min(text.find('/', at), text.size());
      const std::string_view part = text.substr(at, end - at);
      at = end + 1;
      if (part.empty() || part == ".") continue;
      if (part != "..") {
        parts.push_back(part);
      } else if (parts.empty()) {
        return std::nullopt;
      } else {
        parts.pop_back();
      }
    }
  }
  std::string joined;
  for (const auto part : parts) joined += (joined.empty() ? "" : "/") + std::string(part);
  return joined.empty() ? "." : joined;
}

std::variant<std::vector<UnitInfo>, SourceRefusal> discover_units(
    const SourceView& view, const std::vector<std::string>& subdirs) {
  std::vector<UnitInfo> units = UnitFinder(view).find();
  if (!subdirs.empty()) {
    std::vector<std::string> wanted;
    wanted.reserve(subdirs.size());
    for (const auto& subdir : subdirs) wanted.push_back(clean_subdir(subdir));
    std::erase_if(units, [&](const UnitInfo& unit) {
      return std::ranges::none_of(
          wanted, [&](const std::string& dir) { return is_in_or_below(unit.dir, dir); });
    });
    for (const auto& dir : wanted) {
      if (std::ranges::none_of(units,
                               [&](const UnitInfo& u) { return is_in_or_below(u.dir, dir); })) {
        return no_go_mod("subdir " + shown_path(dir) + " of the repository");
      }
    }
  }
  if (units.empty()) return no_go_mod("the repository");
  if (units.size() > kUnitsPerRepositoryMax) {
    return refusal(Reason::snapshot_too_large, FindingKind::limit,
                   "snapshot_too_large: " + std::to_string(units.size()) + " units (limit " +
                       std::to_string(kUnitsPerRepositoryMax) +
                       "); name some of them with subdirs");
  }
  return units;
}

}  // namespace cupel::worker
