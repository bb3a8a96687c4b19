#include "cli/image/process.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::cli {
namespace {

constexpr std::size_t kOutputMax = std::size_t{4} << 20U;
constexpr std::size_t kErrorKept = std::size_t{4} << 10U;
using Clock = std::chrono::steady_clock;

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { close(); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

struct Pipe {
  Fd read;
  Fd write;
};

std::optional<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

Error command_failed(Errc code, const Command& command, std::string what,
                     std::string_view detail = {}) {
  return {.code = code,
          .what = command.argv.front() + ": " + std::move(what),
          .detail = capped_detail(detail),
          .hint = {}};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// posix_spawn takes its directory by a GNU extension and its file by path.
Result<pid_t> spawn(const Command& command, const std::filesystem::path& program, const Pipe& out,
                    const Pipe& err) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.write.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err.write.get(), STDERR_FILENO);
  if (!command.directory.empty()) {
    ::posix_spawn_file_actions_addchdir_np(&actions, command.directory.c_str());
  }
  // A group of its own, so that a limit ends its children as well.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<std::string> argv = command.argv;
  std::vector<std::string> environment;
  environment.reserve(command.environment.size());
  for (const auto& [name, value] : command.environment) {
    environment.push_back(name);
    environment.back().append("=").append(value);
  }
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes,
                                  pointers(argv).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return command_failed(Errc::process_failed, command, std::strerror(error));
  return pid;
}

/// What both streams gave so far.
struct Output {
  std::string out;
  std::string err;  ///< The end of it.
  std::string partial_line;
  bool out_cut = false;
};

void take_errors(Output& output, const Command& command, std::string_view bytes) {
  output.err.append(bytes);
  if (output.err.size() > kErrorKept) output.err.erase(0, output.err.size() - kErrorKept);
  if (!command.on_error_line) return;
  output.partial_line.append(bytes);
  for (auto end = output.partial_line.find('\n'); end != std::string::npos;
       end = output.partial_line.find('\n')) {
    command.on_error_line(std::string_view(output.partial_line).substr(0, end));
    output.partial_line.erase(0, end + 1);
  }
  if (output.partial_line.size() > kErrorKept) output.partial_line.clear();
}

/// Reads both pipes to their end. False when the limit came first.
bool read_all(const Command& command, Pipe& out, Pipe& err, Output& output) {
  const auto deadline = Clock::now() + command.limit;
  std::array<char, 65536> buffer{};
  while (out.read.get() >= 0 || err.read.get() >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    std::array<pollfd, 2> fds{{{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
      return true;
    for (std::size_t i = 0; i < fds.size(); ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      const ssize_t got = ::read(fds[i].fd, buffer.data(), buffer.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) {
        (i == 0 ? out : err).read.close();
        continue;
      }
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
      if (i == 1) {
        take_errors(output, command, bytes);
      } else if (output.out.size() + bytes.size() <= kOutputMax) {
        output.out.append(bytes);
      } else {
        output.out_cut = true;
      }
    }
  }
  return true;
}

}  // namespace

std::filesystem::path find_program(std::string_view name,
                                   const std::map<std::string, std::string>& environment,
                                   const std::vector<std::filesystem::path>& also) {
  std::vector<std::filesystem::path> places;
  const auto path = environment.find("PATH");
  std::string_view rest =
      path == environment.end() ? std::string_view("/usr/bin:/bin") : path->second;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) places.emplace_back(std::string(rest.substr(0, end)) + "/" + std::string(name));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  places.insert(places.end(), also.begin(), also.end());
  for (const auto& place : places) {
    std::error_code error;
    if (std::filesystem::is_regular_file(place, error) && ::access(place.c_str(), X_OK) == 0)
      return place;
  }
  return {};
}

Result<std::string> run_command(const Command& command) {
  const std::filesystem::path program =
      command.argv.front().find('/') != std::string::npos
          ? std::filesystem::path(command.argv.front())
          : find_program(command.argv.front(), command.environment);
  if (program.empty()) return command_failed(Errc::not_found, command, "there is no such program");
  auto out = make_pipe();
  auto err = make_pipe();
  if (!out || !err) return command_failed(Errc::process_failed, command, std::strerror(errno));
  const auto pid = spawn(command, program, *out, *err);
  if (!pid) return pid.error();
  out->write.close();
  err->write.close();

  Output output;
  const bool in_time = read_all(command, *out, *err, output);
  if (!in_time) ::kill(-*pid, SIGKILL);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) {
    return command_failed(Errc::process_failed, command,
                          "not done within " + std::to_string(command.limit.count()) + " s",
                          output.err);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::string how = WIFEXITED(status)
                                ? "ended with " + std::to_string(WEXITSTATUS(status))
                                : "killed by signal " + std::to_string(WTERMSIG(status));
    return command_failed(Errc::process_failed, command, how,
                          output.err.empty() ? output.out : output.err);
  }
  if (output.out_cut) return command_failed(Errc::too_large, command, "its output is over 4 MiB");
  return std::move(output.out);
}

}  // namespace cupel::cli
