#include "worker/acquire/staging.hpp"

#include "common/fs/beneath.hpp"
#include "common/fs/files.hpp"
#include "worker/core/source/gomod.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <utility>

namespace cupel::worker {
namespace {

namespace stdfs = std::filesystem;

constexpr mode_t kForContainer = 0777;  // below a parent that only we enter

std::string in_dir(const std::string& dir, const std::string& name) {
  return dir == "." ? name : dir + '/' + name;
}

std::string dir_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

/// Nothing for a file that isn't there. Never follows a link: containers wrote some of these.
Result<std::optional<std::string>> read_beneath(const std::string& root, const std::string& path) {
  const auto dir = fs::open_dir(root);
  if (!dir) return dir.error();
  const auto file = fs::open_beneath(*dir, path, O_RDONLY | O_NONBLOCK);
  if (!file) {
    if (file.error().code == Errc::not_found) return std::optional<std::string>{};
    return file.error();
  }
  auto bytes = fs::read_all(*file, kManifestBytesMax, path);
  if (!bytes) return bytes.error();
  return std::optional(*std::move(bytes));
}

Result<void> write_staged(const std::string& staging, const std::string& name,
                          const std::string& bytes, mode_t mode) {
  const auto dir = fs::open_dir(staging);
  if (!dir) return dir.error();
  const auto file = fs::open_beneath(*dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!file) return file.error();
  if (::fchmod(file->get(), mode) != 0) {
    return Error{Errc::io_error, "chmod " + name, std::strerror(errno), {}};
  }
  return fs::write_all(*file, bytes, name);
}

Result<std::string> new_writable(Workspaces& workspaces, std::string_view what) {
  auto dir = workspaces.new_directory(what);
  if (!dir) return dir.error();
  if (::chmod(dir->c_str(), kForContainer) != 0) {
    return Error{Errc::io_error, "chmod " + *dir, std::strerror(errno), {}};
  }
  return dir;
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

Finding note(const std::string& file, std::string message) {
  Finding finding;
  finding.kind = FindingKind::note;
  finding.check = CheckKind::list;
  finding.file = file;
  finding.message = std::move(message);
  return finding;
}

}  // namespace

Result<AcquireMounts> make_mounts(Workspaces& workspaces, const std::string& source) {
  AcquireMounts mounts;
  mounts.source = source;
  for (auto [role, what] : {std::pair{&AcquireMounts::modcache, "modcache"},
                            std::pair{&AcquireMounts::gocache, "gocache"},
                            std::pair{&AcquireMounts::staging, "staging"}}) {
    auto dir = new_writable(workspaces, what);
    if (!dir) {
      discard_mounts(workspaces, mounts, false);
      return dir.error();
    }
    mounts.*role = *std::move(dir);
  }
  return mounts;
}

void discard_mounts(Workspaces& workspaces, const AcquireMounts& mounts, bool keep_modcache) {
  if (!mounts.modcache.empty() && !keep_modcache) workspaces.discard(mounts.modcache);
  if (!mounts.gocache.empty()) workspaces.discard(mounts.gocache);
  if (!mounts.staging.empty()) workspaces.discard(mounts.staging);
}

Result<Manifests> stage_manifests(const std::string& snapshot, const UnitInfo& unit,
                                  const std::string& staging) {
  const bool work = !unit.workspace.empty();
  Manifests manifests;
  manifests.mod_path = work ? unit.workspace : in_dir(unit.dir, "go.mod");
  manifests.sum_path = work ? unit.workspace + ".sum" : in_dir(unit.dir, "go.sum");
  auto mod = read_beneath(snapshot, manifests.mod_path);
  if (!mod) return mod.error();
  if (!*mod) return Error{Errc::not_found, manifests.mod_path + " is not in the snapshot", {}, {}};
  auto sum = read_beneath(snapshot, manifests.sum_path);
  if (!sum) return sum.error();
  manifests.mod = **std::move(mod);
  manifests.sum = *std::move(sum);

  std::string staged = manifests.mod;
  if (work) {
    const std::string dir = dir_of(unit.workspace);
    staged = absolute_go_work(parse_go_work(manifests.mod), dir == "." ? "/src" : "/src/" + dir);
  } else if (!parse_go_mod(manifests.mod).go_version) {
    staged = with_go_line(manifests.mod, "1.16");
    manifests.go_line_added = true;
  }
  const std::string name = work ? "go.work" : "go.mod";
  if (auto written = write_staged(staging, name, staged, 0666); !written) return written.error();
  if (manifests.sum) {
    const std::string sum_name = work ? "go.work.sum" : "go.sum";
    if (auto written = write_staged(staging, sum_name, *manifests.sum, 0666); !written) {
      return written.error();
    }
  }
  return manifests;
}

Result<Completion> read_completion(const Manifests& before, const UnitInfo& unit,
                                   const std::string& staging) {
  const bool work = !unit.workspace.empty();
  Completion completion;
  auto sum = read_beneath(staging, work ? "go.work.sum" : "go.sum");
  if (!sum) return sum.error();
  const std::string old_sum = before.sum.value_or("");
  const std::string new_sum = sum->value_or(old_sum);
  if (new_sum != old_sum) {
    completion.changed.emplace(before.sum_path, new_sum);
    const std::size_t added = lines_in(new_sum) - std::min(lines_in(new_sum), lines_in(old_sum));
    completion.notes.push_back(
        note(before.sum_path, "go_sum_incomplete: " + before.sum_path + " lacked " +
                                  std::to_string(added) +
                                  " lines; acquire completed a copy, the repository is unchanged"));
  }
  if (work) return completion;  // the staged go.work is ours, not the repository's

  auto mod = read_beneath(staging, "go.mod");
  if (!mod) return mod.error();
  const std::string new_mod = mod->value_or(before.mod);
  if (new_mod == before.mod) return completion;
  completion.changed.emplace(before.mod_path, new_mod);
  if (before.go_line_added) {
    completion.notes.push_back(
        note(before.mod_path, "go_line_added: " + before.mod_path +
                                  " has no go line; it was validated with `go 1.16`, which is what "
                                  "that means"));
  }
  if (!before.go_line_added || new_mod != with_go_line(before.mod, "1.16")) {
    completion.notes.push_back(
        note(before.mod_path, "go_mod_updated: the go command had to update " + before.mod_path +
                                  " before it could load the modules; acquire did so in a copy"));
  }
  return completion;
}

CacheSize measure_cache(const std::string& modcache) {
  CacheSize size;
  std::error_code ec;
  for (stdfs::recursive_directory_iterator it(modcache, ec), end; !ec && it != end;
       it.increment(ec)) {
    struct stat info{};
    if (::lstat(it->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    size.bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
    if (it->path().extension() == ".zip" && it->path().parent_path().filename() == "@v") {
      ++size.modules;
    }
  }
  return size;
}

std::optional<stdfs::path> host_path(const std::string& modcache, const std::string& in_container) {
  constexpr std::string_view kMount = "/modcache/";
  if (!in_container.starts_with(kMount) || in_container.find("/../") != std::string::npos ||
      in_container.ends_with("/..")) {
    return std::nullopt;
  }
  return stdfs::path(modcache) / in_container.substr(kMount.size());
}

}  // namespace cupel::worker
