#include "common/bubblewrap/machine.hpp"

#include "common/sandbox/syscalls.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::bubblewrap {

namespace {

constexpr int kTrialMs = 10'000;

struct ClosePipe {
  void operator()(std::FILE* pipe) const { ::pclose(pipe); }
};

/// "bubblewrap 0.8.0"
std::string version_of(const std::string& program) {
  // A fixed path without a word of anybody's: the shell has nothing to interpret.
  const std::unique_ptr<std::FILE, ClosePipe> pipe(
      ::popen((program + " --version 2>/dev/null").c_str(), "re"));
  std::array<char, 256> line{};
  if (!pipe || std::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) == nullptr)
    return "bubblewrap";
  std::string text = line.data();
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

Error no_sandbox(const std::string& why) {
  return {.code = Errc::unsafe_sandbox,
          .what = "bubblewrap can't make a sandbox on this machine",
          .detail = capped_detail(why),
          .hint =
              "user namespaces must be allowed (sysctl user.max_user_namespaces, "
              "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"};
}

/// The host's own files, read-only, and a command that does nothing: under the same namespaces,
/// user and filters as a run.
Result<void> try_sandbox(const Machine& machine) {
  LaunchRequest request;
  using Kind = sandbox::Mount::Kind;
  request.jail.mounts = {{.kind = Kind::ro_bind, .target = "/", .source = "/"},
                         {.kind = Kind::proc, .target = "/proc"},
                         {.kind = Kind::dev, .target = "/dev"}};
  request.jail.command = {"/bin/true"};
  request.filters = machine.filters;
  request.run_as = machine.run_as;
  const fs::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  std::array<int, 2> ends{};
  if (!null || ::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return no_sandbox(std::strerror(errno));
  const fs::Fd words(ends[0]);
  fs::Fd speaker(ends[1]);
  request.streams = {.in = null.get(), .out = null.get(), .err = speaker.get()};
  const Result<Launched> launched = launch(request);
  if (!launched) return no_sandbox(launched.error().text());
  speaker = fs::Fd();
  pollfd ended{launched->pidfd.get(), POLLIN, 0};
  const bool in_time = ::poll(&ended, 1, kTrialMs) == 1;
  if (!in_time) kill_sandbox(*launched);
  int status = 0;
  while (::waitpid(launched->pid, &status, 0) < 0 && errno == EINTR) {
  }
  std::array<char, 2048> said{};
  const ssize_t count = ::read(words.get(), said.data(), said.size());
  if (in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return no_sandbox(count > 0 ? std::string(said.data(), static_cast<std::size_t>(count))
                              : "it ended with status " + std::to_string(status));
}

}  // namespace

Result<Machine> look_at_machine() {
  const Result<std::string> program = find_bwrap();
  if (!program) return program.error();
  Machine machine;
  machine.program = version_of(*program);
  for (const sandbox::SyscallFilter* const filter :
       {&sandbox::run_filter(), &sandbox::terminal_filter()}) {
    auto compiled = compile_filter(*filter);
    if (!compiled) return compiled.error();
    machine.filters.push_back(std::move(*compiled));
  }
  if (::geteuid() == 0) machine.run_as = RunAs{};
  machine.scope_sockets = landlock_version() >= kLandlockScopes;
  if (auto tried = try_sandbox(machine); !tried) return tried.error();
  return machine;
}

}  // namespace cupel::bubblewrap
