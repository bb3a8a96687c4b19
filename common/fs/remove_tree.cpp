#include "common/fs/remove_tree.hpp"

#include "common/crash/crash_point.hpp"
#include "common/fs/beneath.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace cupel::fs {
namespace {

/// Deeper folders are moved up to the top first: each level holds a descriptor.
constexpr int kDepthMax = 64;

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

/// Removes the content of a folder. The first failure is kept; the rest is removed all the same.
class TreeRemover {
 public:
  /// The top folder, whose parent is open.
  int remove(int parent, const char* name) {
    Fd top(open_writable(parent, name));
    if (!top) return errno;
    top_ = top.get();
    do {
      moved_ = false;
      empty(top.get(), 0);
    } while (moved_ && first_error_ == 0);
    if (first_error_ == 0 && ::unlinkat(parent, name, AT_REMOVEDIR) != 0) first_error_ = errno;
    return first_error_;
  }

 private:
  /// Module caches hold folders without write permission.
  static int open_writable(int parent, const char* name) {
    const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
      ::fchmod(fd,
               0700);  // fails where the folder belongs to another user; then removing fails, too
      return fd;
    }
    if (errno != EACCES) return -1;
    struct stat info{};
    if (::fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode) ||
        ::fchmodat(parent, name, 0700, 0) != 0) {
      errno = EACCES;
      return -1;
    }
    return ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }

  static std::vector<std::string> names_in(int dir) {
    std::vector<std::string> names;
    const int copy = ::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0) return names;
    const std::unique_ptr<DIR, CloseDir> stream(::fdopendir(copy));
    if (!stream) {
      ::close(copy);
      return names;
    }
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    return names;
  }

  void fail() {
    if (first_error_ == 0) first_error_ = errno;
  }

  void empty(int dir, int depth) {
    for (const std::string& name : names_in(dir)) {
      if (::unlinkat(dir, name.c_str(), 0) == 0 || errno == ENOENT) continue;
      if (errno != EISDIR && errno != EPERM) {
        fail();
        continue;
      }
      if (depth >= kDepthMax && move_up(dir, name)) continue;
      const Fd child(open_writable(dir, name.c_str()));
      if (!child) {
        fail();
        continue;
      }
      if (depth < kDepthMax) empty(child.get(), depth + 1);
      if (::unlinkat(dir, name.c_str(), AT_REMOVEDIR) != 0) fail();
    }
  }

  bool move_up(int dir, const std::string& name) {
    const Fd child(open_writable(dir, name.c_str()));  // to be allowed to change its ".."
    const std::string target = ".removed-" + std::to_string(++counter_);
    CUPEL_CRASH_POINT("remove_tree.rename");
    if (!child || ::renameat(dir, name.c_str(), top_, target.c_str()) != 0) return false;
    moved_ = true;
    return true;
  }

  int top_ = -1;
  int first_error_ = 0;
  std::uint64_t counter_ = 0;
  bool moved_ = false;
};

}  // namespace

Result<void> remove_whole_tree(const std::filesystem::path& path) {
  const auto failed = [&](int error) {
    return Error{Errc::io_error, "remove " + path.string(), std::strerror(error), {}};
  };
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return failed(errno);
  }
  if (!S_ISDIR(info.st_mode)) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed(errno);
    return {};
  }
  const std::filesystem::path clean = path.has_filename() ? path : path.parent_path();
  std::filesystem::path parent = clean.parent_path();
  if (parent.empty()) parent = ".";
  const Fd above(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!above) return failed(errno);
  const int error = TreeRemover().remove(above.get(), clean.filename().c_str());
  if (error != 0) return failed(error);
  return {};
}

}  // namespace cupel::fs
