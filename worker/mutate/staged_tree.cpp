#include "common/core/digest.hpp"
#include "common/fs/beneath.hpp"
#include "common/gitfmt/object.hpp"
#include "worker/fs/snapshot_writer.hpp"
#include "worker/mutate/job.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cupel::worker::mutation {
namespace {

constexpr mode_t kDirForContainer = 0777;  // below a parent that only we enter

Error failed(const std::string& what) {
  return Error{errno == ENOSPC ? Errc::disk_full : Errc::io_error, what, std::strerror(errno), {}};
}

/// Makes the directories on the way to `path`; they are ours until a container runs.
Result<void> make_parents(const fs::Fd& root, const std::string& path,
                          std::set<std::string>& made) {
  for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string dir = path.substr(0, slash);
    if (!made.insert(dir).second) continue;
    if (::mkdirat(root.get(), dir.c_str(), 0700) != 0 && errno != EEXIST) {
      return failed("mkdir " + dir);
    }
    if (::fchmodat(root.get(), dir.c_str(), kDirForContainer, 0) != 0)
      return failed("chmod " + dir);
  }
  return {};
}

}  // namespace

Result<void> stage_tree(const std::string& snapshot, const std::string& staging) {
  const auto root = fs::open_dir(staging);
  if (!root) return root.error();
  std::set<std::string> made;
  return scan_tree(snapshot, [&](const std::string& path, const SeenFile& file) -> Result<void> {
    if (auto parents = make_parents(*root, path, made); !parents) return parents;
    if (file.mode == gitfmt::kModeLink) {
      if (::symlinkat(file.content.c_str(), root->get(), path.c_str()) != 0) {
        return failed("link " + path);
      }
      return {};
    }
    const auto out = fs::open_beneath(*root, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!out) return out.error();
    const mode_t mode = file.mode == gitfmt::kModeExecutable ? 0777 : 0666;
    if (::fchmod(out->get(), mode) != 0) return failed("chmod " + path);
    return fs::write_all(*out, file.content, path);
  });
}

Result<TreeEdits> tree_edits(const std::string& snapshot, const std::string& staging) {
  struct Known {
    std::uint32_t mode = 0;
    Digest digest;
  };
  std::map<std::string, Known> base;
  const auto read =
      scan_tree(snapshot, [&](const std::string& path, const SeenFile& file) -> Result<void> {
        base.emplace(path, Known{file.mode, sha256(file.content)});
        return {};
      });
  if (!read) return read.error();
  TreeEdits edits;
  const auto compared =
      scan_tree(staging, [&](const std::string& path, const SeenFile& file) -> Result<void> {
        const auto known = base.find(path);
        const bool same = known != base.end() && known->second.digest == sha256(file.content);
        if (known != base.end()) {
          const bool link = known->second.mode == gitfmt::kModeLink;
          if (link != (file.mode == gitfmt::kModeLink)) {
            return Error{Errc::bad_value, "a link changed: " + path, {}, {}};
          }
          if (!same) {
            // A file that was there keeps its mode: the go command's own don't say anything.
            edits.emplace(path,
                          FileEdit{file.content, known->second.mode == gitfmt::kModeExecutable});
          }
          base.erase(known);
          return {};
        }
        if (file.mode == gitfmt::kModeLink) {
          return Error{Errc::bad_value, "a new link: " + path, {}, {}};
        }
        edits.emplace(path, FileEdit{file.content, file.mode == gitfmt::kModeExecutable});
        return {};
      });
  if (!compared) return compared.error();
  for (const auto& [path, known] : base) edits.emplace(path, FileEdit{});
  return edits;
}

}  // namespace cupel::worker::mutation
