#include "common/bubblewrap/staged_sources.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::bubblewrap {

namespace {

constexpr std::string_view kStage = "/tmp";
constexpr const char* kStageOptions = "mode=0755,size=1m";
constexpr std::string_view kDescriptors = "/proc/self/fd/";

/// "/proc/self/fd/12" without anything that asks for memory.
using DescriptorPath = std::array<char, 32>;
void name_descriptor(int fd, DescriptorPath& path) {
  std::size_t at = kDescriptors.copy(path.data(), kDescriptors.size());
  std::array<char, 12> digits{};
  std::size_t count = 0;
  do {
    digits.at(count++) = static_cast<char>('0' + fd % 10);
    fd /= 10;
  } while (fd > 0);
  while (count > 0) path.at(at++) = digits.at(--count);
  path.at(at) = 0;
}

bool make_target(const std::string& path, bool directory) {
  if (directory) return ::mkdir(path.c_str(), 0755) == 0;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  return file >= 0 && ::close(file) == 0;
}

}  // namespace

Result<StagedSources> StagedSources::take(sandbox::Jail& jail) {
  using Kind = sandbox::Mount::Kind;
  StagedSources staged;
  for (sandbox::Mount& mount : jail.mounts) {
    if (mount.kind != Kind::ro_bind && mount.kind != Kind::bind) continue;
    struct stat facts{};
    if (::stat(mount.source.c_str(), &facts) != 0) {
      return Error{errno == ENOENT ? Errc::not_found : Errc::io_error,
                   "can't mount " + mount.source,
                   std::strerror(errno),
                   {}};
    }
    std::string target = std::string(kStage) + "/" + std::to_string(staged.sources_.size());
    staged.sources_.push_back({mount.source, target, S_ISDIR(facts.st_mode)});
    mount.source = std::move(target);
  }
  staged.opened_.resize(staged.sources_.size());
  return staged;
}

bool StagedSources::enter() const noexcept {
  if (::unshare(CLONE_NEWNS) != 0) return false;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  // Opened before the stage hides what may lie below it.
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    opened_[i] = ::open(sources_[i].path.c_str(), O_PATH | O_CLOEXEC);
    if (opened_[i] < 0) return false;
  }
  if (::mount("tmpfs", kStage.data(), "tmpfs", MS_NOSUID | MS_NODEV, kStageOptions) != 0)
    return false;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    DescriptorPath from{};
    name_descriptor(opened_[i], from);
    const std::string& to = sources_[i].staged;
    if (!make_target(to, sources_[i].directory)) return false;
    if (::mount(from.data(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) return false;
    ::close(opened_[i]);
  }
  return true;
}

}  // namespace cupel::bubblewrap
