// cupel-init: process 1 of every container. It gets its orders on standard input, owns the
// container's stdout and stderr, gives the command pipes and /dev/null, and says on both streams
// how it began and how it ended, with a nonce that the command never sees. As process 1 it can't be
// signalled by what it runs.
#include "worker/wrapper/empty.hpp"
#include "worker/wrapper/enclosure.hpp"
#include "worker/wrapper/exit.hpp"
#include "worker/wrapper/orders.hpp"
#include "worker/wrapper/own_files.hpp"
#include "worker/wrapper/witness.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace cupel::wrapper {
namespace {

constexpr int kExitBadOrders = 120;
constexpr int kExitWrongMount = 121;
// How often /tmp is looked at (statvfs costs a microsecond): it fills within milliseconds.
constexpr int kSampleMs = 10;
constexpr int kSampleHighMs = 1;
constexpr int64_t kLeftoverGraceMs = 200;  // helpers of the command that are just ending
constexpr int64_t kFlushMs = 20'000;       // for a reader that doesn't read, at the very end
constexpr int64_t kNever = INT64_MAX;

int64_t now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000;
}

void set_nonblocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/// One of the command's streams on its way out. Fixed memory: nothing is read while a piece waits
/// to be written, so a flood stops the command, not us.
struct Relay {
  int from = -1;  ///< Read end of the command's pipe; -1 after its end.
  int to = -1;
  size_t begin = 0;
  size_t end = 0;
  uint64_t total = 0;
  bool broken = false;  ///< Nobody reads any more: count and drop.
  char buffer[65536] = {};

  [[nodiscard]] bool pending() const { return begin != end; }
  [[nodiscard]] bool done() const { return from < 0 && !pending(); }

  void fill() {
    const ssize_t count = read(from, buffer, sizeof(buffer));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      close(from);
      from = -1;
      return;
    }
    total += static_cast<uint64_t>(count);
    begin = 0;
    end = broken ? 0 : static_cast<size_t>(count);
  }

  void flush() {
    const ssize_t count = write(to, buffer + begin, end - begin);
    if (count >= 0) {
      begin += static_cast<size_t>(count);
    } else if (errno != EAGAIN && errno != EINTR) {
      broken = true;
      begin = end;
    }
  }
};

Relay relays[2];  // 128 KiB: not on the stack

struct Watch {
  Orders orders;
  pid_t command = -1;
  bool command_ended = false;
  int status = 0;
  bool alone = false;  ///< No child is left.
  const char* ended_by = "self";
  int64_t limit_at = kNever;
  int64_t kill_at =
      kNever;  ///< Everything is killed at this time, and again until nothing is left.
  int64_t flush_by = kNever;
  bool leftover = false;
  bool tmp_full = false;
  int sample_ms = kSampleMs;
  bool input_open = true;
  char input[16] = {};
  size_t input_count = 0;
  int64_t oom_before = 0;
  int64_t pids_before = 0;
};

/// Writes a marker in blocking mode but never longer than kFlushMs.
void write_line(int fd, const char* line, size_t length) {
  const int64_t deadline = now_ms() + kFlushMs;
  while (length > 0) {
    const ssize_t count = write(fd, line, length);
    if (count > 0) {
      line += count;
      length -= static_cast<size_t>(count);
      continue;
    }
    const int64_t left = deadline - now_ms();
    if ((errno != EAGAIN && errno != EINTR) || left <= 0) return;
    pollfd ready{fd, POLLOUT, 0};
    poll(&ready, 1, static_cast<int>(left));
  }
}

void write_start(const Orders& orders) {
  char line[128];
  const int length = snprintf(line, sizeof(line),
                              "\x1e"
                              "cupel-start %s\n",
                              orders.nonce);
  write_line(1, line, static_cast<size_t>(length));
  write_line(2, line, static_cast<size_t>(length));
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void write_end(const Watch& watch, const char* what) {
  const int64_t oom = oom_kills();
  const int64_t pids = pids_refused();
  char line[1024];
  const int length = snprintf(
      line, sizeof(line),
      "\x1e"
      "cupel-end %s end=%s exit=%d signal=%d out=%llu err=%llu oom=%lld pids=%lld tmp=%d "
      "left=%d what=%s\n",
      watch.orders.nonce, watch.ended_by, watch.command_ended ? exit_code_of(watch.status) : -1,
      watch.command_ended && WIFSIGNALED(watch.status) ? WTERMSIG(watch.status) : 0,
      static_cast<unsigned long long>(relays[0].total),
      static_cast<unsigned long long>(relays[1].total),
      static_cast<long long>(oom < 0 ? -1 : oom - watch.oom_before),
      static_cast<long long>(pids < 0 ? -1 : pids - watch.pids_before), watch.tmp_full ? 1 : 0,
      watch.leftover ? 1 : 0, what);
  write_line(1, line, static_cast<size_t>(length));
  write_line(2, line, static_cast<size_t>(length));
}

[[noreturn]] void exec_command(char** argv, int out, int err, int report) {
  // Raised so that the kernel's OOM killer takes the command and its children, never process 1.
  // The file is ours only while we are dumpable, and nothing else runs here yet.
  prctl(PR_SET_DUMPABLE, 1);
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0 && write(score, "500", 3) != 3) errno = 0;
  setsid();
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0 && dup2(null, 0) == 0 && dup2(out, 1) == 1 && dup2(err, 2) == 2) {
    signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvp(argv[0], argv);
  }
  const int why = errno;
  if (write(report, &why, sizeof(why)) != static_cast<ssize_t>(sizeof(why))) _exit(126);
  _exit(127);
}

/// 0, or the errno of what failed.
int start_command(char** argv, Watch& watch) {
  int out[2];
  int err[2];
  int report[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 || pipe2(report, O_CLOEXEC) != 0) {
    return errno;
  }
  watch.command = fork();
  if (watch.command < 0) return errno;
  if (watch.command == 0) exec_command(argv, out[1], err[1], report[1]);
  close(out[1]);
  close(err[1]);
  close(report[1]);
  int why = 0;
  ssize_t count = 0;
  do {
    count = read(report[0], &why, sizeof(why));
  } while (count < 0 && errno == EINTR);
  close(report[0]);
  relays[0].from = out[0];
  relays[0].to = 1;
  relays[1].from = err[0];
  relays[1].to = 2;
  set_nonblocking(out[0]);
  set_nonblocking(err[0]);
  return count == static_cast<ssize_t>(sizeof(why)) ? why : 0;
}

void reap(Watch& watch) {
  while (true) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0) {
      watch.alone = errno == ECHILD;
      return;
    }
    if (pid == 0) return;
    if (pid == watch.command) {
      watch.command_ended = true;
      watch.status = status;
    }
  }
}

void end_now(Watch& watch, const char* by) {
  if (!watch.command_ended && strcmp(watch.ended_by, "self") == 0) watch.ended_by = by;
  watch.kill_at = 0;
}

/// The command's time is over: goroutines first when asked for, the kill after the grace.
void end_with_dump(Watch& watch, const char* by, int64_t now) {
  if (watch.command_ended || watch.kill_at != kNever) return;
  watch.ended_by = by;
  if (!watch.orders.dump) {
    watch.kill_at = 0;
    return;
  }
  if (signal_test_programs(SIGQUIT) == 0 && !is_go_command(watch.command)) {
    kill(watch.command, SIGQUIT);
  }
  watch.kill_at = now + watch.orders.grace_ms;
}

void take_order(Watch& watch, int64_t now) {
  char piece[64];
  const ssize_t count = read(0, piece, sizeof(piece));
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    watch.input_open = false;
    end_now(watch, "eof");
    return;
  }
  for (ssize_t i = 0; i < count; ++i) {
    if (piece[i] != '\n') {
      if (watch.input_count + 1 < sizeof(watch.input)) watch.input[watch.input_count++] = piece[i];
      continue;
    }
    watch.input[watch.input_count] = 0;
    watch.input_count = 0;
    if (strcmp(watch.input, "end") == 0) end_with_dump(watch, "order", now);
    if (strcmp(watch.input, "kill") == 0) end_now(watch, "order");
  }
}

void keep_time(Watch& watch, int64_t now) {
  if (!watch.tmp_full) {
    const TmpUse use = tmp_use();
    watch.tmp_full = use == TmpUse::full;
    watch.sample_ms = use == TmpUse::high ? kSampleHighMs : kSampleMs;
  }
  if (now >= watch.limit_at) end_with_dump(watch, "limit", now);
  if (watch.command_ended && !watch.alone && watch.kill_at == kNever) {
    // Something outlived the command. A helper that is just ending is no leftover.
    watch.kill_at = now + kLeftoverGraceMs;
  }
  if (now >= watch.kill_at && !watch.alone) {
    watch.leftover = watch.leftover || (watch.command_ended && strcmp(watch.ended_by, "self") == 0);
    kill(-1, SIGKILL);
  }
  if (watch.alone && watch.flush_by == kNever) watch.flush_by = now + kFlushMs;
}

/// Until the command has ended, nothing else lives, and its output is out.
void watch_command(Watch& watch, int children) {
  while (true) {
    const int64_t now = now_ms();
    keep_time(watch, now);
    const bool all_out = relays[0].done() && relays[1].done();
    if (watch.alone && (all_out || now >= watch.flush_by)) return;
    pollfd fds[6] = {{children, POLLIN, 0},
                     {watch.input_open ? 0 : -1, POLLIN, 0},
                     {relays[0].pending() ? -1 : relays[0].from, POLLIN, 0},
                     {relays[1].pending() ? -1 : relays[1].from, POLLIN, 0},
                     {relays[0].pending() ? 1 : -1, POLLOUT, 0},
                     {relays[1].pending() ? 2 : -1, POLLOUT, 0}};
    if (poll(fds, 6, watch.sample_ms) <= 0) {
      reap(watch);
      continue;
    }
    if (fds[0].revents != 0) {
      signalfd_siginfo ignored[8];
      if (read(children, ignored, sizeof(ignored)) > 0) reap(watch);
    }
    if (fds[1].revents != 0) take_order(watch, now);
    for (size_t i = 0; i < 2; ++i) {
      if (fds[2 + i].revents != 0) relays[i].fill();
      if (relays[i].pending()) relays[i].flush();
    }
  }
}

int run(char** argv) {
  prctl(PR_SET_DUMPABLE, 0);
  Watch watch;
  if (!read_orders(0, watch.orders)) return kExitBadOrders;
  if (watch.orders.keeps) environ = watch.orders.variables;
  set_nonblocking(0);
  set_nonblocking(1);
  set_nonblocking(2);
  signal(SIGPIPE, SIG_IGN);
  if (watch.orders.wrong_mount[0] != 0) {
    watch.ended_by = "mount";
    write_end(watch, watch.orders.wrong_mount);
    return kExitWrongMount;
  }
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child_signal, nullptr);
  const int children = signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK);
  // Counts of a reused cgroup would not be this command's.
  const int64_t oom = oom_kills();
  const int64_t pids = pids_refused();
  watch.oom_before = oom < 0 ? 0 : oom;
  watch.pids_before = pids < 0 ? 0 : pids;
  write_start(watch.orders);
  watch.limit_at = now_ms() + watch.orders.limit_ms;
  const int why = start_command(argv, watch);
  if (why != 0) {
    // As a shell says it: 127 not found, 126 found but not runnable. It is the command's fault.
    watch.ended_by = "exec";
    watch.command_ended = true;
    watch.status = (why == ENOENT ? 127 : 126) << 8;
    write_end(watch, strerror(why));
    return exit_code_of(watch.status);
  }
  watch_command(watch, children);
  write_end(watch, "-");
  return strcmp(watch.ended_by, "self") == 0 ? exit_code_of(watch.status) : 128 + SIGKILL;
}

}  // namespace
}  // namespace cupel::wrapper

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "cupel-init COMMAND [ARGUMENT...]: reads its orders from standard input\n");
    return 2;
  }
  // Commands that are in every container, whatever the image: for the mount probe, for directories
  // that only the container's user can empty, and for the network of runs that have one.
  if (strcmp(argv[1], "--own-files") == 0 && argc == 3)
    return cupel::wrapper::use_own_files(argv[2]);
  if (strcmp(argv[1], "--empty") == 0 && argc == 3) {
    return cupel::wrapper::empty_directory(argv[2]) == 0 ? 0 : 1;
  }
  if (strcmp(argv[1], "--exit") == 0 && argc == 2) return cupel::wrapper::hold_exit();
  if (strcmp(argv[1], "--enclosure") == 0 && argc == 2) {
    char text[1024];
    const size_t length = cupel::wrapper::describe_enclosure(0, text, sizeof(text) - 1);
    text[length] = '\n';
    return write(1, text, length + 1) == static_cast<ssize_t>(length + 1) ? 0 : 1;
  }
  return cupel::wrapper::run(argv + 1);
}
