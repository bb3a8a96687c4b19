#include "worker/fs/snapshot_writer.hpp"

#include "common/core/digest.hpp"
#include "common/fs/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cupel::worker {
namespace {

constexpr std::uint64_t kReadBytesMax = 1ULL << 30;
constexpr mode_t kOpenDir = 0755;
constexpr mode_t kClosedDir = 0555;

Error failed(const std::string& what) {
  const Errc code = errno == ENOSPC || errno == EDQUOT ? Errc::disk_full : Errc::io_error;
  return {code, what, std::strerror(errno), {}};
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

mode_t file_mode(bool executable) {
  return executable ? 0555 : 0444;
}

Result<std::vector<std::string>> names_in(const fs::Fd& dir, const std::string& path) {
  const int copy = ::openat(dir.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return failed("read folder " + path);
  const std::unique_ptr<DIR, CloseDir> stream(::fdopendir(copy));
  if (!stream) {
    ::close(copy);
    return failed("read folder " + path);
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

}  // namespace

SnapshotWriter::SnapshotWriter(std::filesystem::path dir, fs::Fd root)
    : dir_(std::move(dir)), root_(std::move(root)) {}

SnapshotWriter::SnapshotWriter(SnapshotWriter&& other) noexcept
    : dir_(std::move(other.dir_)),
      root_(std::move(other.root_)),
      made_(std::move(other.made_)),
      kept_(std::exchange(other.kept_, true)) {}

SnapshotWriter::~SnapshotWriter() {
  // What can't be removed now belongs to no record: the next start removes it.
  if (!kept_) static_cast<void>(fs::remove_tree(dir_));
}

Result<SnapshotWriter> SnapshotWriter::create(const std::filesystem::path& parent) {
  const auto dir = parent / ("snapshot-" + fs::random_hex(12));
  if (::mkdir(dir.c_str(), kOpenDir) != 0) return failed("create " + dir.string());
  auto root = fs::open_dir(dir);
  if (!root) return root.error();
  return SnapshotWriter(dir, *std::move(root));
}

Result<void> SnapshotWriter::make_parents(const std::string& path) {
  for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (auto made = add_directory(path.substr(0, slash)); !made) return made;
  }
  return {};
}

Result<void> SnapshotWriter::add_directory(const std::string& path) {
  if (made_.contains(path)) return {};
  if (auto parents = make_parents(path); !parents) return parents;
  const auto slash = path.rfind('/');
  fs::Fd parent;
  int at = root_.get();
  if (slash != std::string::npos) {
    auto opened = fs::open_beneath(root_, path.substr(0, slash), O_PATH | O_DIRECTORY);
    if (!opened) return opened.error();
    parent = *std::move(opened);
    at = parent.get();
  }
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (::mkdirat(at, name.c_str(), kOpenDir) != 0) return failed("create folder " + path);
  made_.insert(path);
  return {};
}

Result<void> SnapshotWriter::add_file(const std::string& path, bool executable,
                                      std::string_view bytes) {
  if (auto parents = make_parents(path); !parents) return parents;
  const auto file = fs::open_beneath(root_, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!file) return file.error();
  if (auto written = fs::write_all(*file, bytes, path); !written) return written;
  if (::fchmod(file->get(), file_mode(executable)) != 0) return failed("chmod " + path);
  return {};
}

Result<void> SnapshotWriter::add_link(const std::string& path, const std::string& target) {
  if (auto parents = make_parents(path); !parents) return parents;
  const auto slash = path.rfind('/');
  fs::Fd parent;
  int at = root_.get();
  if (slash != std::string::npos) {
    auto opened = fs::open_beneath(root_, path.substr(0, slash), O_PATH | O_DIRECTORY);
    if (!opened) return opened.error();
    parent = *std::move(opened);
    at = parent.get();
  }
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (::symlinkat(target.c_str(), at, name.c_str()) != 0) return failed("create link " + path);
  return {};
}

Result<void> SnapshotWriter::share_file(const std::filesystem::path& from, const std::string& path,
                                        bool executable) {
  if (auto parents = make_parents(path); !parents) return parents;
  if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, (dir_ / path).c_str(), 0) == 0) return {};
  if (errno != EXDEV && errno != EPERM && errno != EMLINK && errno != EOPNOTSUPP) {
    return failed("link " + path);
  }
  const auto bytes = fs::read_file(from, kReadBytesMax);
  if (!bytes) return bytes.error();
  return add_file(path, executable, *bytes);
}

Result<void> SnapshotWriter::finish() {
  for (const std::string& path : made_) {
    if (::chmod((dir_ / path).c_str(), kClosedDir) != 0) return failed("chmod " + path);
  }
  if (::fchmod(root_.get(), kClosedDir) != 0) return failed("chmod " + dir_.string());
  if (::syncfs(root_.get()) != 0) return failed("sync " + dir_.string());
  kept_ = true;
  return {};
}

Result<void> scan_tree(
    const std::filesystem::path& dir,
    const std::function<Result<void>(const std::string& path, const SeenFile& file)>& visit) {
  auto root = fs::open_dir(dir);
  if (!root) return root.error();
  std::vector<std::string> open{""};
  while (!open.empty()) {
    const std::string folder = std::move(open.back());
    open.pop_back();
    fs::Fd opened;
    if (!folder.empty()) {
      auto below = fs::open_beneath(*root, folder, O_RDONLY | O_DIRECTORY);
      if (!below) return below.error();
      opened = *std::move(below);
    }
    const fs::Fd& at = folder.empty() ? *root : opened;
    const auto names = names_in(at, folder);
    if (!names) return names.error();
    for (const std::string& name : *names) {
      const std::string path = folder.empty() ? name : folder + '/' + name;
      struct stat info{};
      if (::fstatat(at.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return failed("stat " + path);
      }
      SeenFile seen;
      if (S_ISDIR(info.st_mode)) {
        open.push_back(path);
        continue;
      }
      if (S_ISLNK(info.st_mode)) {
        seen.mode = gitfmt::kModeLink;
        seen.content.resize(static_cast<std::size_t>(info.st_size) + 1);
        const ssize_t length =
            ::readlinkat(at.get(), name.c_str(), seen.content.data(), seen.content.size());
        if (length < 0) return failed("read link " + path);
        seen.content.resize(static_cast<std::size_t>(length));
      } else if (S_ISREG(info.st_mode)) {
        seen.mode = (info.st_mode & S_IXUSR) != 0 ? gitfmt::kModeExecutable : gitfmt::kModeFile;
        const fs::Fd file(::openat(at.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        if (!file) return failed("open " + path);
        auto bytes = fs::read_all(file, kReadBytesMax, path);
        if (!bytes) return bytes.error();
        seen.content = *std::move(bytes);
      } else {
        return Error{Errc::bad_value, path + " is neither file, folder nor link", {}, {}};
      }
      if (auto visited = visit(path, seen); !visited) return visited;
    }
  }
  return {};
}

void TreeDigest::add(const std::string& path, const SeenFile& file) {
  std::string line = path;
  line += '\0';
  line += std::to_string(file.mode);
  line += '\0';
  line += sha256(file.content).hex();
  line += '\n';
  lines_.emplace(path, std::move(line));
}

std::string TreeDigest::finish() const {
  Sha256 digest;
  for (const auto& [path, line] : lines_) digest.update(line);
  return digest.finish().hex();
}

}  // namespace cupel::worker
