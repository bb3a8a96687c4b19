#include "worker/run/run_marks.hpp"

#include "common/core/digest.hpp"
#include "common/fs/files.hpp"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cupel::worker {

namespace {

constexpr std::uint64_t kGoModBytesMax = 16ULL << 20U;

/// Writes a small file that must not exist. Not synced: it has to outlive a run, not a crash.
Result<void> write_marker(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
  if (fd < 0) {
    return Error{.code = errno == ENOSPC ? Errc::disk_full : Errc::io_error,
                 .what = "can't write the mount marker " + path,
                 .detail = std::strerror(errno),
                 .hint = {}};
  }
  // Whatever our umask says, the container's user must read it.
  const bool written = fchmod(fd, 0444) == 0 &&
                       write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int why = errno;
  close(fd);
  if (written) return {};
  unlink(path.c_str());
  return Error{.code = why == ENOSPC ? Errc::disk_full : Errc::io_error,
               .what = "can't write the mount marker " + path,
               .detail = std::strerror(why),
               .hint = {}};
}

/// Any entry of a directory that is not ours to write into.
std::optional<std::string> first_entry(const std::string& directory) {
  DIR* const entries = opendir(directory.c_str());
  if (entries == nullptr) return std::nullopt;
  std::optional<std::string> found;
  while (const dirent* const entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    // Markers of other runs come and go.
    if (name == "." || name == ".." || name.starts_with(".cupel-")) continue;
    if (name.find('\n') != std::string_view::npos) continue;
    found = std::string(name);
    break;
  }
  closedir(entries);
  return found;
}

std::string folder_in(const std::string& root, const std::string& folder) {
  return folder.empty() || folder == "." ? root : root + "/" + folder;
}

/// The unit's go.mod, else the root's; nothing when the source has none.
std::optional<WrapperOrders::Digest> source_digest(const RunRequest& request) {
  for (const std::string& folder : {request.workdir, std::string(".")}) {
    const std::string path = folder_in(request.mounts.source, folder) + "/go.mod";
    struct stat facts{};
    if (lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    const auto content = fs::read_file(path, kGoModBytesMax);
    if (!content) continue;
    return WrapperOrders::Digest{sha256(*content).hex(), folder_in("/src", folder) + "/go.mod"};
  }
  return std::nullopt;
}

}  // namespace

RunMarks::RunMarks(RunMarks&& other) noexcept : files_(std::exchange(other.files_, {})) {}
RunMarks& RunMarks::operator=(RunMarks&& other) noexcept {
  remove();
  files_ = std::exchange(other.files_, {});
  return *this;
}
RunMarks::~RunMarks() {
  remove();
}

void RunMarks::remove() {
  for (const std::string& file : files_) unlink(file.c_str());
  files_.clear();
}

Result<RunMarks> RunMarks::place(const RunRequest& request, const std::string& run_id,
                                 WrapperOrders& orders) {
  RunMarks marks;
  const RunMounts& mounts = request.mounts;
  const std::string name = "/.cupel-mount-" + run_id;
  // Directories of the worker: a marker with this run's name and number.
  const std::pair<const std::string*, std::string> own[] = {{&mounts.modcache, "/modcache"},
                                                            {&mounts.gocache, "/gocache"},
                                                            {&mounts.staging, "/staging"}};
  for (const auto& [directory, path] : own) {
    if (directory->empty()) continue;
    if (const auto written = write_marker(*directory + name, run_id); !written) {
      return written.error();
    }
    marks.files_.push_back(*directory + name);
    orders.marks.push_back({run_id, path + name});
  }
  // Directories that nobody may write into now: what is in them must be seen.
  const std::pair<const std::string*, std::string> shared[] = {
      {&mounts.tools, "/tools"}, {&mounts.vulndb, "/vulndb"}, {&mounts.fixture_proxy, "/proxy"}};
  for (const auto& [directory, path] : shared) {
    if (directory->empty()) continue;
    if (const auto entry = first_entry(*directory)) orders.present.push_back(path + "/" + *entry);
  }
  if (!mounts.downloads.empty()) {
    orders.present.push_back("/downloads/" + std::string(kDownloadsMarker));
  }
  if (mounts.source.empty()) return marks;
  if (const auto digest = source_digest(request)) {
    orders.digests.push_back(*digest);
  } else if (const auto entry = first_entry(mounts.source)) {
    orders.present.push_back("/src/" + *entry);
  }
  return marks;
}

}  // namespace cupel::worker
