#include "common/bubblewrap/launch.hpp"

#include "common/bubblewrap/staged_sources.hpp"

#include <nlohmann/json.hpp>

extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 declares it without C linkage
}

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <linux/close_range.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::bubblewrap {

namespace {

// linux/landlock.h of Debian 12 is older than scopes (Linux 6.12).
struct LandlockRuleset {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;
  std::uint64_t scoped = 0;
};
constexpr std::uint64_t kScopeAbstractSockets = 1;
constexpr unsigned kCreateRulesetVersion = 1;

constexpr std::array<const char*, 2> kPlaces = {"/usr/bin/bwrap", "/usr/local/bin/bwrap"};
constexpr std::size_t kStatusLineMax = 64 * 1024;
constexpr int kFailedExit = 127;

Error failed(const std::string& what, int why) {
  return {Errc::io_error, what, std::strerror(why), {}};
}

/// Everything that the child needs, made before the fork: after it only async-signal-safe calls.
struct Child {
  const char* program = nullptr;
  std::vector<char*> argv;
  std::vector<int> inherited;
  Streams streams;
  bool scope_sockets = false;
  std::vector<int> cgroups;
  std::vector<std::pair<int, std::uint64_t>> limits;
  StagedSources staged;
  std::optional<RunAs> run_as;
  int report = -1;
  pid_t parent = -1;
};

bool scope_abstract_sockets() {
  LandlockRuleset rules;
  rules.scoped = kScopeAbstractSockets;
  const long ruleset = syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0U);
  if (ruleset < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return syscall(SYS_landlock_restrict_self, ruleset, 0U) == 0;
}

/// By the system calls themselves: the C library's would bring threads that a child doesn't have.
bool change_user(const Child& child) {
  if (!child.run_as) return true;
  const RunAs& user = *child.run_as;
  if (!child.staged.enter()) return false;
  if (syscall(SYS_setgroups, 0, nullptr) != 0) return false;
  if (syscall(SYS_setresgid, user.gid, user.gid, user.gid) != 0) return false;
  if (syscall(SYS_setresuid, user.uid, user.uid, user.uid) != 0) return false;
  // A change of user takes the promise back.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return getppid() == child.parent;
}

/// Whoever started this process may have left descriptors open in it that no flag closes: files of
/// the host, seen from inside. Between fork and exec, so without allocating.
bool keep_descriptors_from_program() {
  if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return true;
  if (errno != ENOSYS && errno != EINVAL) return false;
  // A kernel before 5.11.
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return false;
  for (rlim_t fd = 3; fd < files.rlim_max && fd < rlim_t{1} << 20U; ++fd)
    (void)fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC);
  return true;
}

bool prepare_child(const Child& child) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != child.parent) return false;  // it died before the promise was made
  setpgid(0, 0);  // the terminal's signals reach whoever started us, and are passed on by it
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  (void)signal(SIGPIPE, SIG_DFL);
  for (const int procs : child.cgroups) {
    if (write(procs, "0", 1) != 1) return false;
  }
  for (const auto& [resource, value] : child.limits) {
    const rlimit limit{value, value};
    if (setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return false;
  }
  if (!keep_descriptors_from_program()) return false;
  // All of them above 2 first: a stream may be given as one of the others' numbers.
  const int in = fcntl(child.streams.in, F_DUPFD_CLOEXEC, 3);
  const int out = fcntl(child.streams.out, F_DUPFD_CLOEXEC, 3);
  const int err = fcntl(child.streams.err, F_DUPFD_CLOEXEC, 3);
  if (in < 0 || out < 0 || err < 0) return false;
  if (dup2(in, 0) != 0 || dup2(out, 1) != 1 || dup2(err, 2) != 2) return false;
  for (const int fd : child.inherited) {
    if (fcntl(fd, F_SETFD, 0) != 0) return false;
  }
  if (!change_user(child)) return false;
  return !child.scope_sockets || scope_abstract_sockets();
}

[[noreturn]] void become(const Child& child) {
  if (prepare_child(child)) {
    // bubblewrap's own environment; the command's is among its arguments.
    char path[] = "PATH=/usr/bin:/bin";
    char* const environment[] = {path, nullptr};
    execve(child.program, child.argv.data(), environment);
  }
  const int why = errno;
  (void)!write(child.report, &why, sizeof why);
  _exit(kFailedExit);
}

/// A memory file with these bytes, at its beginning.
Result<fs::Fd> memory_file(const std::string& bytes) {
  fs::Fd file(::memfd_create("cupel-arguments", MFD_CLOEXEC));
  if (!file) return failed("memfd", errno);
  if (auto written = fs::write_all(file, bytes, "arguments of bubblewrap"); !written)
    return written.error();
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return failed("seek", errno);
  return file;
}

}  // namespace

Result<std::string> find_bwrap() {
  for (const char* const place : kPlaces) {
    if (::access(place, X_OK) == 0) return std::string(place);
  }
  return Error{
      Errc::not_found, "bubblewrap is not on this machine", {}, "install the package bubblewrap"};
}

int landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0UL, kCreateRulesetVersion);
  return version < 0 ? 0 : static_cast<int>(version);
}

Result<Launched> launch(const LaunchRequest& request) {
  const Result<std::string> program = find_bwrap();
  if (!program) return program.error();
  std::array<int, 2> status{};
  std::array<int, 2> report{};
  if (::pipe2(status.data(), O_CLOEXEC | O_NONBLOCK) != 0) return failed("pipe", errno);
  fs::Fd status_read(status[0]);
  const fs::Fd status_write(status[1]);
  if (::pipe2(report.data(), O_CLOEXEC) != 0) return failed("pipe", errno);
  const fs::Fd report_read(report[0]);
  fs::Fd report_write(report[1]);

  Child child;
  sandbox::Jail jail = request.jail;
  if (request.run_as) {
    Result<StagedSources> staged = StagedSources::take(jail);
    if (!staged) return staged.error();
    child.staged = std::move(*staged);
    child.run_as = request.run_as;
  }
  sandbox::JailFds fds{.status = status_write.get()};
  std::vector<fs::Fd> filters;
  for (const CompiledFilter& filter : request.filters) {
    // Each its own file: bubblewrap reads it to its end.
    Result<fs::Fd> file = memory_file(filter.program);
    if (!file) return file.error();
    fds.seccomp.push_back(file->get());
    filters.push_back(std::move(*file));
  }
  const Result<fs::Fd> arguments =
      memory_file(sandbox::joined_arguments(sandbox::bwrap_arguments(jail, fds)));
  if (!arguments) return arguments.error();

  std::vector<std::string> words = {*program, "--args", std::to_string(arguments->get()), "--"};
  words.insert(words.end(), request.jail.command.begin(), request.jail.command.end());
  for (std::string& word : words) child.argv.push_back(word.data());
  child.argv.push_back(nullptr);
  child.program = program->c_str();
  child.inherited = fds.seccomp;
  child.inherited.push_back(arguments->get());
  child.inherited.push_back(status_write.get());
  child.streams = request.streams;
  child.scope_sockets = request.scope_sockets;
  child.cgroups = request.cgroups;
  child.limits = request.limits;
  child.report = report_write.get();
  child.parent = ::getpid();

  const pid_t pid = ::fork();
  if (pid == 0) become(child);
  if (pid < 0) return failed("can't start a process", errno);
  report_write = fs::Fd();
  int why = 0;
  if (::read(report_read.get(), &why, sizeof why) == sizeof why) {
    ::waitpid(pid, nullptr, 0);
    return failed("the sandbox can't be prepared", why);
  }
  return Launched{pid, fs::Fd(::pidfd_open(pid, 0)), std::move(status_read)};
}

void kill_sandbox(const Launched& launched) {
  // Its child asks the kernel to die with it a moment after it was made. Killed before that,
  // bubblewrap would leave a child that waits for it for ever: so it is stopped, and can make none.
  if (::kill(launched.pid, SIGSTOP) == 0) {
    siginfo_t stopped{};
    (void)::waitid(P_PID, static_cast<id_t>(launched.pid), &stopped, WSTOPPED | WEXITED | WNOWAIT);
    const std::string pid = std::to_string(launched.pid);
    std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
    for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
  }
  ::kill(launched.pid, SIGKILL);
}

void StatusReader::take(std::string_view line) {
  const auto said = nlohmann::json::parse(line, nullptr, false);
  if (!said.is_object()) return;
  if (const auto pid = said.find("child-pid"); pid != said.end() && pid->is_number_integer())
    status_.child = pid->get<pid_t>();
  if (const auto code = said.find("exit-code"); code != said.end() && code->is_number_integer())
    status_.exit_code = code->get<int>();
}

void StatusReader::read_from(int fd) {
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; (got = ::read(fd, piece.data(), piece.size())) > 0;) {
    partial_.append(piece.data(), static_cast<std::size_t>(got));
    for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
      take(std::string_view(partial_).substr(0, end));
      partial_.erase(0, end + 1);
    }
    if (partial_.size() > kStatusLineMax) partial_.clear();
  }
}

}  // namespace cupel::bubblewrap
