#include "worker/git/child_process.hpp"

#include "common/fs/beneath.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;

constexpr auto kWatchPeriod = std::chrono::milliseconds(200);

struct SpawnActions {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  SpawnActions() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (auto& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

struct Pipe {
  fs::Fd read;
  fs::Fd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{Errc::process_failed, "pipe", std::strerror(errno), {}};
  }
  return Pipe{fs::Fd(ends[0]), fs::Fd(ends[1])};
}

/// Starts the process in a group of its own, with an empty signal mask and only three descriptors.
Result<pid_t> spawn(ChildSpec& spec, const Pipe& out, const Pipe& err) {
  SpawnActions spawning;
  auto* actions = &spawning.actions;
  posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(actions, out.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(actions, err.write.get(), STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
  posix_spawn_file_actions_addchdir_np(actions, spec.directory.c_str());
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&spawning.attributes, &none);
  posix_spawnattr_setsigdefault(&spawning.attributes, &all);
  posix_spawnattr_setpgroup(&spawning.attributes, 0);
  posix_spawnattr_setflags(&spawning.attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  auto argv = pointers(spec.argv);
  auto environment = pointers(spec.environment);
  pid_t pid = 0;
  const int code =
      ::posix_spawn(&pid, argv[0], actions, &spawning.attributes, argv.data(), environment.data());
  if (code != 0) {
    return Error{Errc::process_failed, "start " + spec.argv[0], std::strerror(code), {}};
  }
  return pid;
}

/// The running child. Handlers hold it alive; it is finished when the process has ended and both
/// pipes are at their end.
class Child : public std::enable_shared_from_this<Child> {
 public:
  Child(const asio::any_io_executor& executor, ChildSpec spec, pid_t pid, fs::Fd pidfd, fs::Fd out,
        fs::Fd err)
      : spec_(std::move(spec)),
        pid_(pid),
        pidfd_(executor, pidfd.release()),
        out_{asio::posix::stream_descriptor(executor, out.release())},
        err_{asio::posix::stream_descriptor(executor, err.release())},
        watch_(executor),
        deadline_(executor),
        finished_(executor, asio::steady_timer::time_point::max()) {}

  void start() {
    wait_for_end();
    read(out_, spec_.out_bytes_max, true);
    read(err_, spec_.err_bytes_max, false);
    deadline_.expires_after(spec_.limit);
    deadline_.async_wait([self = shared_from_this()](boost::system::error_code ec) {
      if (!ec) self->stop(ChildEnd::limit);
    });
    if (spec_.watch) watch_later();
  }

  void stop(ChildEnd why) {
    if (reaped_ || result_.ended_by != ChildEnd::itself) return;
    result_.ended_by = why;
    kill_group();
  }

  asio::awaitable<ChildResult> wait() {
    boost::system::error_code ignored;
    while (open_ != 0) {
      co_await finished_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    co_return std::move(result_);
  }

 private:
  struct Output {
    asio::posix::stream_descriptor descriptor;
    std::array<char, 16 * 1024> buffer{};
  };

  void kill_group() const { ::kill(-pid_, SIGKILL); }

  void read(Output& output, std::size_t bytes_max, bool fatal) {
    output.descriptor.async_read_some(
        asio::buffer(output.buffer), [self = shared_from_this(), &output, bytes_max, fatal](
                                         boost::system::error_code ec, std::size_t count) {
          std::string& text = &output == &self->out_ ? self->result_.out : self->result_.err;
          const std::size_t room = bytes_max - std::min(bytes_max, text.size());
          text.append(output.buffer.data(), std::min(count, room));
          if (count > room && fatal) self->stop(ChildEnd::output);
          if (ec) return self->closed();
          self->read(output, bytes_max, fatal);
        });
  }

  void watch_later() {
    watch_.expires_after(kWatchPeriod);
    watch_.async_wait([self = shared_from_this()](boost::system::error_code ec) {
      // A wait that was over when the process ended can't be cancelled any more.
      if (ec || self->reaped_) return;
      if (self->spec_.watch()) return self->stop(ChildEnd::watched);
      self->watch_later();
    });
  }

  void wait_for_end() {
    pidfd_.async_wait(asio::posix::descriptor_base::wait_read,
                      [self = shared_from_this()](boost::system::error_code) {
                        // Seen: readiness is reported while the process still runs. Only its own
                        // state counts, and it must not be reaped yet.
                        siginfo_t info{};
                        const bool over = ::waitid(P_PID, static_cast<id_t>(self->pid_), &info,
                                                   WEXITED | WNOHANG | WNOWAIT) != 0 ||
                                          info.si_pid != 0;
                        if (over) return self->ended();
                        self->wait_for_end();
                      });
  }

  void ended() {
    // Before the number is free again: what the child left behind holds the pipes open.
    kill_group();
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    if (WIFEXITED(status)) result_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result_.signal = WTERMSIG(status);
    watch_.cancel();
    deadline_.cancel();
    closed();
  }

  void closed() {
    if (--open_ == 0) finished_.cancel();
  }

  ChildSpec spec_;
  pid_t pid_;
  asio::posix::stream_descriptor pidfd_;
  Output out_;
  Output err_;
  asio::steady_timer watch_;
  asio::steady_timer deadline_;
  asio::steady_timer finished_;
  ChildResult result_;
  int open_ = 3;  ///< The process and two pipes.
  bool reaped_ = false;
};

}  // namespace

asio::awaitable<Result<ChildResult>> run_child(ChildSpec spec,
                                               std::shared_ptr<CancelToken> cancel) {
  // The token ends it; a cancelled coroutine would leave the process behind.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const auto executor = co_await asio::this_coro::executor;
  if (cancel->cancelled()) co_return ChildResult{ChildEnd::cancelled, -1, 0, {}, {}};
  auto out = make_pipe();
  if (!out) co_return out.error();
  auto err = make_pipe();
  if (!err) co_return err.error();
  const auto pid = spawn(spec, *out, *err);
  if (!pid) co_return pid.error();
  out->write = fs::Fd();
  err->write = fs::Fd();
  fs::Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  if (!pidfd) {
    const Error error{Errc::process_failed, "pidfd_open", std::strerror(errno), {}};
    ::kill(-*pid, SIGKILL);
    ::waitpid(*pid, nullptr, 0);
    co_return error;
  }
  const auto child = std::make_shared<Child>(executor, std::move(spec), *pid, std::move(pidfd),
                                             std::move(out->read), std::move(err->read));
  child->start();
  cancel->listen([weak = std::weak_ptr(child)] {
    if (const auto running = weak.lock()) running->stop(ChildEnd::cancelled);
  });
  auto result = co_await child->wait();
  cancel->listen({});
  co_return result;
}

}  // namespace cupel::worker
