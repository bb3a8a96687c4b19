#include "common/sandbox/syscalls.hpp"

#include <array>
#include <cerrno>
#include <sstream>

namespace cupel::sandbox {

namespace {

/// Names of both architectures; the engine ignores a name that one of them doesn't have.
constexpr const char* kAllowed =
    "_llseek _newselect accept accept4 access alarm arch_prctl bind brk capget capset chdir "
    "chmod chown chown32 clock_getres clock_getres_time64 clock_gettime clock_gettime64 "
    "clock_nanosleep clock_nanosleep_time64 close close_range connect copy_file_range creat "
    "dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait "
    "eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2 fadvise64 "
    "fadvise64_64 fallocate fchdir fchmod fchmodat fchown fchown32 fchownat fcntl fcntl64 "
    "fdatasync fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat fstat64 "
    "fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 futex futex_time64 futex_waitv "
    "futimesat get_robust_list get_thread_area getcpu getcwd getdents getdents64 getegid "
    "getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 getitimer "
    "getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid getresgid32 "
    "getresuid getresuid32 getrlimit getrusage getsid getsockname getsockopt gettid "
    "gettimeofday getuid getuid32 getxattr inotify_add_watch inotify_init inotify_init1 "
    "inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents io_pgetevents_time64 "
    "io_setup io_submit ioctl ioprio_get ioprio_set ipc kill landlock_add_rule "
    "landlock_create_ruleset landlock_restrict_self lchown lchown32 lgetxattr link linkat "
    "listen listxattr llistxattr lremovexattr lseek lsetxattr lstat lstat64 madvise "
    "membarrier memfd_create memfd_secret mincore mkdir mkdirat mlock mlock2 mlockall mmap "
    "mknod mknodat mmap2 modify_ldt mprotect mq_getsetattr mq_notify mq_open mq_timedreceive "
    "mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 mq_unlink mremap msgctl msgget "
    "msgrcv msgsnd msync munlock munlockall munmap nanosleep newfstatat nice oldfstat "
    "oldlstat oldstat open openat openat2 pause pidfd_open pidfd_send_signal pipe pipe2 "
    "pkey_alloc pkey_free pkey_mprotect poll ppoll ppoll_time64 prctl pread64 preadv "
    "preadv2 process_mrelease pselect6 pselect6_time64 pwrite64 pwritev pwritev2 "
    "read readahead readdir readlink readlinkat readv recvfrom recvmmsg recvmmsg_time64 "
    "recvmsg remap_file_pages removexattr rename renameat renameat2 restart_syscall rmdir "
    "rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn "
    "rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo "
    "sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr "
    "sched_getparam sched_getscheduler sched_rr_get_interval sched_rr_get_interval_time64 "
    "sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp "
    "select semctl semget semop semtimedop semtimedop_time64 sendfile sendfile64 sendmmsg "
    "sendmsg sendto set_robust_list set_thread_area set_tid_address setfsgid setfsgid32 "
    "setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 setitimer setpgid "
    "setpriority setregid setregid32 setresgid setresgid32 setresuid setresuid32 setreuid "
    "setreuid32 setrlimit setsid setsockopt setuid setuid32 setxattr shmat shmctl shmdt "
    "shmget shutdown sigaction sigaltstack signal signalfd signalfd4 sigpending sigprocmask "
    "sigreturn sigsuspend socketpair splice stat stat64 statfs statfs64 statx "
    "symlink symlinkat sync sync_file_range syncfs sysinfo tee tgkill time timer_create "
    "timer_delete timer_getoverrun timer_gettime timer_gettime64 timer_settime "
    "timer_settime64 timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime "
    "timerfd_settime64 times tkill truncate truncate64 ugetrlimit umask uname unlink "
    "unlinkat utime utimensat utimensat_time64 utimes vfork vmsplice wait4 waitid waitpid "
    "write writev ";

constexpr const char* kDebuggers = "kcmp prlimit64 process_vm_readv process_vm_writev ptrace";

constexpr std::uint64_t kNamespaceFlags = 0x7E02'0000;  // CLONE_NEWNS | NEWCGROUP | ... | NEWNET
/// Unix, IPv4, IPv6 and netlink. Others reach past the namespaces (vsock: the hypervisor) or into
/// parts of the kernel that no build needs.
constexpr std::array<std::uint64_t, 4> kAddressFamilies = {1, 2, 10, 16};
constexpr std::uint64_t kLowHalf =
    0xFFFF'FFFF;  // of an ioctl's request the kernel looks at no more
constexpr std::uint64_t kTiocsti = 0x5412;
constexpr std::uint64_t kTioclinux = 0x541C;

std::vector<std::string> names_of(const char* text) {
  std::vector<std::string> names;
  std::istringstream words(text);
  for (std::string word; words >> word;) names.push_back(word);
  return names;
}

using Op = ArgumentTest::Op;

SyscallFilter allow_list() {
  SyscallFilter filter{.other_calls = EPERM, .rules = {}};
  filter.rules.push_back({.names = names_of(kAllowed)});
  filter.rules.push_back(
      {.names = {"clone"}, .tests = {{0, Op::masked_equal, kNamespaceFlags, 0}}});
  for (const std::uint64_t family : kAddressFamilies)
    filter.rules.push_back({.names = {"socket"}, .tests = {{0, Op::equal, family, 0}}});
  // The older entry of 32-bit programs has the family in memory, where no filter sees it. Refused
  // by a rule: libseccomp would allow it as the other form of the calls above.
  filter.rules.push_back({.names = {"socketcall"}, .error = ENOSYS});
  // Its own limits only: the kernel lets a user set those of process 1, which then can't open what
  // counts a run's kills, or ends for want of time.
  filter.rules.push_back({.names = {"prlimit64"}, .tests = {{0, Op::equal, 0, 0}}});
  // Linux, Linux32 and the query; nothing that turns address randomisation off.
  for (const std::uint64_t persona : {0x0ULL, 0x8ULL, 0x2'0000ULL, 0x2'0008ULL, 0xFFFF'FFFFULL}) {
    filter.rules.push_back({.names = {"personality"}, .tests = {{0, Op::equal, persona, 0}}});
  }
  filter.rules.push_back({.names = {"clone3"}, .error = ENOSYS});
  return filter;
}

SyscallFilter with_debuggers() {
  SyscallFilter filter = allow_list();
  filter.rules.push_back({.names = names_of(kDebuggers)});
  return filter;
}

SyscallFilter no_terminal_input() {
  SyscallFilter filter;
  for (const std::uint64_t request : {kTiocsti, kTioclinux}) {
    filter.rules.push_back(
        {.names = {"ioctl"}, .error = EPERM, .tests = {{1, Op::masked_equal, kLowHalf, request}}});
  }
  return filter;
}

}  // namespace

const SyscallFilter& run_filter() {
  static const SyscallFilter kFilter = allow_list();
  return kFilter;
}

const SyscallFilter& workspace_filter() {
  static const SyscallFilter kFilter = with_debuggers();
  return kFilter;
}

const SyscallFilter& terminal_filter() {
  static const SyscallFilter kFilter = no_terminal_input();
  return kFilter;
}

}  // namespace cupel::sandbox
