#include "worker/run/seed_files.hpp"

#include "common/crash/crash_point.hpp"
#include "common/fs/files.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::worker {

namespace stdfs = std::filesystem;

namespace {

Error failed(const std::string& what, int why) {
  return {.code = why == ENOSPC ? Errc::disk_full : Errc::io_error,
          .what = what,
          .detail = std::strerror(why),
          .hint = {}};
}

Result<void> adopt_file(const std::string& file) {
  if (::lchown(file.c_str(), ::geteuid(), ::getegid()) != 0)
    return failed("can't take over " + file, errno);
  // 0444 for the owner too: a later container's user is not the owner, and ours needs no writing.
  if (::chmod(file.c_str(), 0444) != 0) return failed("can't seal " + file, errno);
  return {};
}

Result<void> adopt_entry(const stdfs::directory_entry& entry) {
  const std::string path = entry.path().string();
  std::error_code ec;
  const stdfs::file_status status = entry.symlink_status(ec);
  if (status.type() == stdfs::file_type::regular) return adopt_file(path);
  if (status.type() != stdfs::file_type::directory) {
    stdfs::remove(path, ec);
    return {};
  }
  if (::lchown(path.c_str(), ::geteuid(), ::getegid()) != 0 || ::chmod(path.c_str(), 0755) != 0)
    return failed("can't take over " + path, errno);
  return {};
}

Result<void> adopt_in_place(const std::string& directory) {
  std::error_code ec;
  stdfs::recursive_directory_iterator it(directory, ec);
  for (; !ec && it != stdfs::recursive_directory_iterator(); it.increment(ec)) {
    if (const Result<void> adopted = adopt_entry(*it); !adopted) return adopted;
  }
  if (ec) return failed("can't take over " + directory, ec.value());
  return {};
}

Result<void> copy_entry(const stdfs::directory_entry& entry, const std::string& to) {
  std::error_code ec;
  const stdfs::file_status status = entry.symlink_status(ec);
  if (status.type() == stdfs::file_type::directory) {
    if (::mkdir(to.c_str(), 0755) != 0) return failed("can't make " + to, errno);
  } else if (status.type() == stdfs::file_type::regular) {
    if (!stdfs::copy_file(entry.path(), to, ec))
      return failed("can't copy " + entry.path().string(), ec.value());
    if (::chmod(to.c_str(), 0444) != 0) return failed("can't seal " + to, errno);
  }
  return {};
}

/// Only root can give files away. Without it the container's directories stay its user's, which
/// removes them (see left_beside).
Result<void> adopt_by_copy(const std::string& directory) {
  const std::string ours = directory + ".ours";
  if (::mkdir(ours.c_str(), 0755) != 0) return failed("can't make " + ours, errno);
  std::error_code ec;
  stdfs::recursive_directory_iterator it(directory, ec);
  for (; !ec && it != stdfs::recursive_directory_iterator(); it.increment(ec)) {
    const std::string to = ours + "/" + it->path().lexically_relative(directory).string();
    if (const Result<void> copied = copy_entry(*it, to); !copied) return copied;
  }
  CUPEL_CRASH_POINT("seed_left.rename");
  if (!ec) stdfs::rename(directory, left_beside(stdfs::path(directory).parent_path()), ec);
  CUPEL_CRASH_POINT("seed_file.rename");
  if (!ec) stdfs::rename(ours, directory, ec);
  if (ec) return failed("can't take over " + directory, ec.value());
  return {};
}

/// "linked" while every link works; from the first refusal on, copies. What is there stays.
Result<void> link_or_copy(const stdfs::path& from, const stdfs::path& to, bool& linking) {
  if (linking && ::link(from.c_str(), to.c_str()) == 0) return {};
  const int why = errno;
  if (linking && why == EEXIST) return {};
  if (linking && why != EXDEV && why != EPERM && why != EMLINK && why != EOPNOTSUPP) {
    return failed("can't link " + from.string(), why);
  }
  linking = false;
  std::error_code ec;
  const bool copied = stdfs::copy_file(from, to, stdfs::copy_options::skip_existing, ec);
  if (!ec && !copied) return {};
  if (ec) return failed("can't copy " + from.string(), ec.value());
  if (::chmod(to.c_str(), 0444) != 0) return failed("can't seal " + to.string(), errno);
  return {};
}

Result<void> write_trim_time(const std::string& fresh) {
  const std::string file = fresh + "/trim.txt";
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  if (!(std::ofstream(file, std::ios::trunc) << now)) return failed("can't write " + file, errno);
  // The go command of the container writes its own time into it.
  if (::chmod(file.c_str(), 0666) != 0) return failed("can't open up " + file, errno);
  return {};
}

Result<std::string> fill(const std::string& seed, const std::string& fresh, bool linking) {
  std::error_code ec;
  for (const stdfs::directory_entry& part : stdfs::directory_iterator(seed, ec)) {
    // Objects live in directories of two hex digits; what lies beside them is about another cache.
    if (!part.is_directory(ec) || part.path().filename().string().size() != 2) continue;
    const stdfs::path to = stdfs::path(fresh) / part.path().filename();
    std::error_code missing;
    if (!stdfs::is_directory(to, missing)) {
      if (const Result<void> made = make_open_dir(to.string()); !made) return made.error();
    }
    for (const stdfs::directory_entry& object : stdfs::directory_iterator(part.path(), ec)) {
      if (!object.is_regular_file(ec)) continue;
      const Result<void> placed =
          link_or_copy(object.path(), to / object.path().filename(), linking);
      if (!placed) return placed.error();
    }
  }
  if (ec) return failed("can't read the seed " + seed, ec.value());
  return std::string(linking ? "linked" : "copied");
}

}  // namespace

Result<void> make_open_dir(const std::string& directory) {
  // Whatever our umask says, the container's user writes here.
  if (::mkdir(directory.c_str(), 0777) != 0 || ::chmod(directory.c_str(), 0777) != 0) {
    return failed("can't make " + directory, errno);
  }
  return {};
}

Result<void> adopt_tree(const std::string& directory) {
  return ::geteuid() == 0 ? adopt_in_place(directory) : adopt_by_copy(directory);
}

std::string left_beside(const stdfs::path& scratch) {
  return scratch.string() + "-left";
}

Result<std::string> seed_cache(const std::string& seed, const std::string& fresh, bool linking) {
  if (const Result<void> made = make_open_dir(fresh); !made) return made.error();
  Result<std::string> how = fill(seed, fresh, linking);
  if (how) {
    if (const Result<void> trim = write_trim_time(fresh); !trim) how = trim.error();
  }
  if (!how) {
    const Result<void> removed = fs::remove_tree(fresh);
    (void)removed;  // the sweep at the next start takes what is left
  }
  return how;
}

Result<std::string> add_seed(const std::string& seed, const std::string& cache, bool linking) {
  return fill(seed, cache, linking);
}

}  // namespace cupel::worker
