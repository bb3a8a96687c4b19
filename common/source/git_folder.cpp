#include "common/source/git_folder.hpp"

#include "common/fs/beneath.hpp"
#include "common/gitfmt/config.hpp"

#include <algorithm>
#include <fcntl.h>
#include <map>
#include <optional>
#include <set>
#include <sys/stat.h>

namespace cupel::source {
namespace {

namespace stdfs = std::filesystem;
using gitfmt::ObjectId;

constexpr std::uint64_t kConfigBytesMax = 1 << 20;
constexpr std::uint64_t kPackedRefsBytesMax = 64 << 20;
constexpr std::uint64_t kRefBytesMax = 4096;
constexpr int kSymbolicDepthMax = 8;
constexpr std::size_t kConfigFaultsShown = 10;

enum class Kind : std::uint8_t { missing, file, folder, link, other };

Kind kind_of(const stdfs::path& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return Kind::missing;
  if (S_ISREG(info.st_mode)) return Kind::file;
  if (S_ISDIR(info.st_mode)) return Kind::folder;
  return S_ISLNK(info.st_mode) ? Kind::link : Kind::other;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

/// Nothing for a missing file.
Result<std::optional<std::string>> read_below(const stdfs::path& dir, const std::string& relative,
                                              std::uint64_t bytes_max) {
  const auto root = fs::open_dir(dir);
  if (!root) return root.error();
  const auto file = fs::open_beneath(*root, relative, O_RDONLY | O_NONBLOCK);
  if (!file) {
    if (file.error().code == Errc::not_found) return std::optional<std::string>{};
    return file.error();
  }
  auto bytes = fs::read_all(*file, bytes_max, relative);
  if (!bytes) return bytes.error();
  return std::optional(*std::move(bytes));
}

/// True when `path`, with every link resolved, lies in `root` (resolved already).
bool lies_inside(const stdfs::path& path, const stdfs::path& root) {
  std::error_code ec;
  const auto resolved = stdfs::canonical(path, ec);
  if (ec) return false;
  const auto [end, rest] =
      std::mismatch(root.begin(), root.end(), resolved.begin(), resolved.end());
  static_cast<void>(rest);
  return end == root.end();
}

SourceRefusal outside(const std::string& what) {
  return refusal(Reason::gitdir_outside, FindingKind::security, "gitdir_outside: " + what);
}

/// The git folder behind `.git`; nothing where there is none.
Result<std::variant<std::optional<stdfs::path>, SourceRefusal>> find_git_dir(
    const stdfs::path& path, const stdfs::path& root) {
  using Found = std::optional<stdfs::path>;
  const stdfs::path dot_git = path / ".git";
  switch (kind_of(dot_git)) {
    case Kind::folder: return Found(dot_git);
    case Kind::link: return outside(".git is a link; the gitdir it names is not followed");
    case Kind::other: return outside(".git is neither a folder nor a file");
    case Kind::file: {
      auto text = read_below(path, ".git", kRefBytesMax);
      if (!text) return text.error();
      std::string line = trimmed(text->value_or(""));
      constexpr std::string_view kPrefix = "gitdir: ";
      if (!line.starts_with(kPrefix)) return outside(".git is a file without a gitdir line");
      const stdfs::path target = path / line.substr(kPrefix.size());
      if (!lies_inside(target, root)) {
        return outside("the file .git names a gitdir outside of the folder (" +
                       capped_detail(line) + ")");
      }
      return Found(target);
    }
    case Kind::missing: break;
  }
  const bool bare =
      kind_of(path / "HEAD") == Kind::file && kind_of(path / "objects") == Kind::folder &&
      (kind_of(path / "refs") == Kind::folder || kind_of(path / "packed-refs") == Kind::file);
  return bare ? Found(path) : Found();
}

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return text;
}

std::optional<SourceRefusal> judge_format(const gitfmt::ConfigEntry& entry) {
  if (entry.section != "extensions") return std::nullopt;
  const std::string value = lowered(entry.value);
  const auto unsupported = [](const std::string& what) {
    return refusal(Reason::unsupported_object_format, FindingKind::acquire_error,
                   "unsupported_object_format: " + what);
  };
  if (entry.key == "objectformat" && value != "sha1") {
    return unsupported("unknown object format '" + capped_detail(value) + "'");
  }
  if (entry.key == "refstorage" && value != "files") {
    return unsupported("unknown reference format '" + capped_detail(value) + "'");
  }
  return std::nullopt;
}

std::optional<SourceRefusal> judge_config(const std::string& text, const std::string& file) {
  const auto entries = gitfmt::parse_config(text);
  const auto hostile = [&](const std::string& what, std::int32_t line) {
    return refusal(Reason::hostile_git_config, FindingKind::security, "hostile_git_config: " + what,
                   file, line);
  };
  if (!entries) return hostile(file + ": " + entries.error().what, 0);
  SourceRefusal all;
  for (const auto& entry : *entries) {
    if (auto unsupported = judge_format(entry)) return unsupported;
    if (!gitfmt::can_execute(entry)) continue;
    SourceRefusal one = hostile(file + ":" + std::to_string(entry.line) + ": " +
                                    capped_detail(entry.name()) + " can make git run a program",
                                entry.line);
    if (all.findings.empty()) {
      all = std::move(one);
    } else if (all.findings.size() < kConfigFaultsShown) {
      all.findings.push_back(std::move(one.findings.front()));
    }
  }
  if (all.findings.empty()) return std::nullopt;
  return all;
}

Result<std::optional<SourceRefusal>> check_configs(const GitFolder& folder) {
  using Answer = std::optional<SourceRefusal>;
  for (const auto& [dir, file] :
       {std::pair{folder.common_dir, "config"}, std::pair{folder.git_dir, "config.worktree"}}) {
    const auto text = read_below(dir, file, kConfigBytesMax);
    if (!text) {
      if (text.error().code == Errc::io_error) return text.error();
      return Answer(refusal(Reason::hostile_git_config, FindingKind::security,
                            "hostile_git_config: " + std::string(file) + ": " + text.error().what));
    }
    if (!*text) continue;
    if (auto refused = judge_config(**text, std::string(".git/") + file)) return Answer(refused);
  }
  return Answer();
}

/// Fills `folder.alternates`; a refusal for one that leads outside.
Result<std::optional<SourceRefusal>> check_objects(GitFolder& folder, const stdfs::path& root) {
  using Answer = std::optional<SourceRefusal>;
  const auto refused = [](const std::string& what) {
    return Answer(
        refusal(Reason::alternates_outside, FindingKind::security, "alternates_outside: " + what));
  };
  const stdfs::path objects = folder.common_dir / "objects";
  if (kind_of(objects) != Kind::folder)
    return refused("the folder of objects is a link or missing");
  std::vector<stdfs::path> open{objects};
  std::set<stdfs::path> seen{objects};
  while (!open.empty()) {
    const stdfs::path current = open.back();
    open.pop_back();
    for (const char* part : {"info", "pack"}) {
      if (kind_of(current / part) == Kind::link)
        return refused(std::string("objects/") + part + " is a link");
    }
    const auto text = read_below(current, "info/alternates", kConfigBytesMax);
    if (!text) {
      if (text.error().code == Errc::io_error) return text.error();
      return refused(text.error().what);
    }
    const std::string lines = text->value_or("");
    for (std::size_t at = 0; at < lines.size();) {
      const auto end = std::min(lines.find('\n', at), lines.size());
      const std::string line = trimmed(lines.substr(at, end - at));
      at = end + 1;
      if (line.empty() || line.front() == '#') continue;
      const stdfs::path other = (current / line).lexically_normal();
      if (!lies_inside(other, root) || kind_of(other) != Kind::folder) {
        return refused("objects/info/alternates names " + capped_detail(line) +
                       ", which is outside of the folder");
      }
      if (seen.insert(other).second) {
        folder.alternates.push_back(other);
        open.push_back(other);
      }
      if (seen.size() > 16) return refused("more than 16 alternates");
    }
  }
  return Answer();
}

// ---- references --------------------------------------------------------------------------------

bool plausible_name(const std::string& name) {
  if (name.empty() || name.size() > 1024 || name.front() == '/' || name.back() == '/') return false;
  return std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

class References {
 public:
  explicit References(const GitFolder& folder) : folder_(folder) {}

  Result<void> load() {
    auto text = read_below(folder_.common_dir, "packed-refs", kPackedRefsBytesMax);
    if (!text) return text.error();
    const std::string lines = text->value_or("");
    for (std::size_t at = 0; at < lines.size();) {
      const auto end = std::min(lines.find('\n', at), lines.size());
      const std::string_view line = std::string_view(lines).substr(at, end - at);
      at = end + 1;
      if (line.size() < 42 || line[40] != ' ') continue;  // header, peeled values, blank lines
      if (const auto id = ObjectId::parse(line.substr(0, 40))) {
        packed_.insert_or_assign(trimmed(std::string(line.substr(41))), *id);
      }
    }
    return {};
  }

  struct Target {
    std::optional<ObjectId> id;
    std::string name;  ///< Where a chain of symbolic references ends.
  };

  /// `id` is empty for a name that doesn't exist, or a branch without a commit.
  Result<Target> lookup(std::string name) const {
    for (int depth = 0; depth < kSymbolicDepthMax; ++depth) {
      if (!plausible_name(name)) return Target{{}, name};
      const auto& dir = name.starts_with("refs/") ? folder_.common_dir : folder_.git_dir;
      auto text = read_below(dir, name, kRefBytesMax);
      if (!text && text.error().code == Errc::io_error) return text.error();
      if (!text || !*text) {  // a folder of that name, or nothing: perhaps a packed one
        const auto packed = packed_.find(name);
        if (packed == packed_.end()) return Target{{}, name};
        return Target{packed->second, name};
      }
      const std::string line = trimmed(**text);
      if (!line.starts_with("ref:")) return Target{ObjectId::parse(line.substr(0, 40)), name};
      name = line.substr(4);
      name.erase(0, name.find_first_not_of(" \t"));
    }
    return Target{{}, name};
  }

  [[nodiscard]] bool any() const {
    if (!packed_.empty()) return true;
    std::error_code ec;
    stdfs::recursive_directory_iterator files(folder_.common_dir / "refs", ec);
    for (; !ec && files != stdfs::recursive_directory_iterator(); files.increment(ec)) {
      if (files->is_regular_file(ec)) return true;
    }
    return false;
  }

 private:
  const GitFolder& folder_;
  std::map<std::string, ObjectId> packed_;
};

}  // namespace

Result<GitFolderAnswer> inspect_git_folder(const stdfs::path& path) {
  std::error_code ec;
  const stdfs::path root = stdfs::canonical(path, ec);
  if (ec || !stdfs::is_directory(root, ec)) {
    return Error{Errc::not_found, path.string() + ": no such folder", ec.message(), {}};
  }
  auto found = find_git_dir(root, root);
  if (!found) return found.error();
  if (auto* refused = std::get_if<SourceRefusal>(&*found)) return std::move(*refused);
  const auto& git_dir = std::get<std::optional<stdfs::path>>(*found);
  if (!git_dir) return NoGitFolder{};

  GitFolder folder{*git_dir, *git_dir, {}};
  const auto common = read_below(*git_dir, "commondir", kRefBytesMax);
  if (!common) return common.error();
  if (*common) {
    folder.common_dir = *git_dir / trimmed(**common);
    if (!lies_inside(folder.common_dir, root))
      return outside("the commondir of the gitdir is elsewhere");
  }
  // The format comes first: it is the clearer answer for a repository that is only of another kind.
  auto config = check_configs(folder);
  if (!config) return config.error();
  if (*config) return **std::move(config);
  auto objects = check_objects(folder, root);
  if (!objects) return objects.error();
  if (*objects) return **std::move(objects);
  return folder;
}

Result<std::variant<ResolvedRef, SourceRefusal>> resolve_ref(const GitFolder& folder,
                                                             const ObjectStore& store,
                                                             const std::string& ref) {
  References references(folder);
  if (const auto loaded = references.load(); !loaded) return loaded.error();
  if (ref.empty() || ref == "HEAD") {
    const auto head = references.lookup("HEAD");
    if (!head) return head.error();
    if (head->id) return ResolvedRef{*head->id, head->name, {}};
    return refusal(Reason::empty_repository, FindingKind::acquire_error,
                   references.any() ? "empty_repository: HEAD names " + capped_detail(head->name) +
                                          ", which has no commit; name a branch, tag or commit"
                                    : "empty_repository: no commit in it yet");
  }
  if (const auto id = ObjectId::parse(ref)) {
    const auto header = store.header(*id);
    if (header || header.error().code != Errc::not_found) return ResolvedRef{*id, ref, {}};
    return refusal(Reason::ref_not_found, FindingKind::acquire_error,
                   "ref_not_found: no commit " + ref + " in the repository");
  }

  ResolvedRef resolved;
  bool found = false;
  for (const char* prefix : {"", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"}) {
    const std::string name = prefix + ref;
    if (!name.starts_with("refs/")) continue;
    const auto target = references.lookup(name);
    if (!target) return target.error();
    if (!target->id) continue;
    if (!found) {
      resolved = {*target->id, name, {}};
      found = true;
    } else if (*target->id != resolved.id) {
      resolved.note = ref + " is ambiguous: took " + resolved.name + ", not " + name;
    }
  }
  if (found) return resolved;
  if (const auto id = store.find_prefix(ref)) return ResolvedRef{*id, id->hex(), {}};
  return refusal(Reason::ref_not_found, FindingKind::acquire_error,
                 "ref_not_found: no branch, tag or commit '" + capped_detail(ref) + "'");
}

}  // namespace cupel::source
