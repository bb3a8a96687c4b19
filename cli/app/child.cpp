#include "cli/app/child.hpp"

#include "common/text/utf8.hpp"

extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 declares it without C linkage
}

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace cupel::cli {
namespace {

/// Only async-signal-safe calls: between fork and exec.
[[noreturn]] void become(const char* program, char* const* argv, int log, int report,
                         pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before the promise was made
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execv(program, argv);
  const int failure = errno;
  (void)!write(report, &failure, sizeof failure);
  _exit(127);
}

}  // namespace

std::string Ended::text() const {
  return signal != 0 ? "signal " + std::to_string(signal)
                     : "exit code " + std::to_string(exit_code);
}

Child::Child(pid_t pid, int pidfd, std::filesystem::path log_file)
    : pid_(pid), pidfd_(pidfd), log_file_(std::move(log_file)) {}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::exchange(other.pidfd_, -1)),
      ended_(other.ended_),
      log_file_(std::move(other.log_file_)) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pidfd_, other.pidfd_);
  std::swap(ended_, other.ended_);
  std::swap(log_file_, other.log_file_);
  return *this;
}

Child::~Child() {
  if (pid_ > 0 && !ended()) {
    signal(SIGKILL);
    (void)wait(std::chrono::seconds(10));
  }
  if (pidfd_ >= 0) close(pidfd_);
}

Result<Child> Child::start(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments,
                           const std::filesystem::path& log_file) {
  const std::string path = program.string();
  std::vector<std::string> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int log =
      open(log_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (log < 0)
    return Error{Errc::io_error, "can't write " + log_file.string() + ": " + std::strerror(errno),
                 "", ""};
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) {
    close(log);
    return Error{Errc::io_error, std::string("can't make a pipe: ") + std::strerror(errno), "", ""};
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(path.c_str(), argv.data(), log, report[1], parent);
  const int fork_failure = errno;
  close(log);
  close(report[1]);
  int failure = 0;
  const bool failed = pid > 0 && read(report[0], &failure, sizeof failure) == sizeof failure;
  close(report[0]);
  if (pid < 0)
    return Error{Errc::io_error,
                 std::string("can't start a process: ") + std::strerror(fork_failure), "", ""};
  if (failed) {
    waitpid(pid, nullptr, 0);
    return Error{failure == ENOENT ? Errc::not_found : Errc::io_error,
                 "can't start " + path + ": " + std::strerror(failure), "",
                 "the programs of Cupel belong into one folder"};
  }
  return Child(pid, pidfd_open(pid, 0), log_file);
}

void Child::signal(int number) const {
  if (!ended_) kill(pid_, number);
}

std::optional<Ended> Child::ended() {
  if (ended_ || pid_ <= 0) return ended_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  ended_ = WIFSIGNALED(status) ? Ended{-1, WTERMSIG(status)} : Ended{WEXITSTATUS(status), 0};
  return ended_;
}

std::optional<Ended> Child::wait(Duration limit, int other_fd) {
  if (ended()) return ended_;
  std::array<pollfd, 2> fds = {pollfd{pidfd_, POLLIN, 0}, pollfd{other_fd, POLLIN, 0}};
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  (void)poll(fds.data(), other_fd >= 0 ? 2 : 1, static_cast<int>(ms));
  return ended();
}

std::string tail_of(const std::filesystem::path& file, std::size_t lines) {
  constexpr std::streamoff kTailBytes = 8192;
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return "";
  const std::streamoff size = in.tellg();
  in.seekg(std::max<std::streamoff>(0, size - kTailBytes));
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  while (text.ends_with('\n')) text.pop_back();
  std::size_t begin = text.size();
  for (std::size_t i = 0; i < lines && begin != std::string::npos && begin > 0; ++i)
    begin = text.rfind('\n', begin - 1);
  return text::printable(begin == std::string::npos || begin == 0 ? text : text.substr(begin + 1));
}

}  // namespace cupel::cli
