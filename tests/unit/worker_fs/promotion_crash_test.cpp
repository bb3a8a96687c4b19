// kill -9 before every single system call that changes a file, of a promotion and of its recovery:
// the steps that have names are few, the moments at which a process can die are many.
#include "tests/unit/worker_fs/promotion_fixture.hpp"

#include <gmock/gmock.h>

#include <cerrno>
#include <functional>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

namespace cupel::worker {
namespace {

using testing::IsEmpty;

bool changes_files(unsigned long long number) {
  switch (number) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_open:
    case SYS_openat:
    case SYS_creat:
    case SYS_ftruncate:
    case SYS_truncate:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_mkdir:
    case SYS_mkdirat:
    case SYS_rmdir:
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_link:
    case SYS_linkat:
    case SYS_symlink:
    case SYS_symlinkat:
    case SYS_chmod:
    case SYS_fchmod:
    case SYS_fchmodat:
    case SYS_copy_file_range:
    case SYS_sendfile: return true;
    default: return false;
  }
}

/// `act` in a process of its own that is killed as it enters its `nth` call (from 1) that changes
/// files; what `prepare` returns is made there before the counting begins. False: it ended before.
bool killed_at(std::size_t nth, const std::function<std::function<void()>()>& prepare) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto act = prepare();
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    act();
    ::_exit(0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
    ADD_FAILURE() << "the child could not be traced";
    return false;
  }
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  std::size_t seen = 0;
  bool entering = true;
  for (int deliver = 0;;) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, deliver);
    if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return false;
    const bool at_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
    deliver = at_call ? 0 : WSTOPSIG(status);
    if (!at_call) continue;
    if (std::exchange(entering, !entering)) {
      user_regs_struct registers{};
      ::ptrace(PTRACE_GETREGS, child, nullptr, &registers);
      if (changes_files(registers.orig_rax) && ++seen == nth) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
        return true;
      }
    }
  }
}

class PromotionCrashTest : public PromotionTest {
 protected:
  /// What a worker finds that starts after the crash: true for the after side, false for before.
  bool recovered(std::size_t nth) {
    auto workspaces = open();
    EXPECT_EQ(workspaces.conflicts(), 0U) << nth;
    EXPECT_THAT(journals(), IsEmpty()) << nth;
    EXPECT_TRUE(workspaces.find_source(kRepository, "c1")) << nth;
    const auto after = workspaces.find_unit(kRepository, "c1", kUnit, kSlot);
    if (!after) {
      EXPECT_EQ(directories(), 1U) << nth << ": only the snapshot is kept";
      return false;
    }
    EXPECT_EQ(tests::read_text(after->source + "/go.mod"), kBytes) << nth;
    EXPECT_FALSE(stdfs::exists(after->source + "/gone.go")) << nth;
    EXPECT_EQ(*tree_digest(after->source), after->facts.tree) << nth;
    EXPECT_TRUE(stdfs::is_directory(after->modcache)) << nth;
    EXPECT_EQ(directories(), 3U) << nth << ": snapshot, after snapshot, module cache";
    return true;
  }
  void start_over() {
    stdfs::permissions(dir_ / "ws", stdfs::perms::owner_all);
    (void)fs::remove_tree(dir_ / "ws");
  }
};

TEST_F(PromotionCrashTest, EveryMomentOfAPromotionLeadsToBeforeOrAfter) {
  std::size_t before = 0;
  std::size_t after = 0;
  for (std::size_t nth = 1;; ++nth) {
    const bool killed = killed_at(nth, [this]() -> std::function<void()> {
      auto workspaces = std::make_shared<Workspaces>(open());
      auto promotion = std::make_shared<Promotion>(prepared(*workspaces));
      return [workspaces, promotion] { (void)workspaces->promote(*promotion); };
    });
    const bool there = recovered(nth);
    ASSERT_FALSE(HasFailure()) << "killed before call " << nth;
    EXPECT_TRUE(there || after == 0) << "call " << nth << " took the after side back";
    ++(there ? after : before);
    if (!killed) break;
    start_over();
  }
  EXPECT_GT(before, 10U);
  EXPECT_GT(after, 1U) << "the last one is the promotion that was not killed";
}

TEST_F(PromotionCrashTest, ARecoveryThatIsKilledItselfIsRecovered) {
  for (std::size_t nth = 1;; ++nth) {
    promote_until("promoting");
    remove_after_snapshot();  // so that the recovery has the most to do
    const bool killed = killed_at(nth, [this]() -> std::function<void()> {
      return [this] { (void)Workspaces::open((dir_ / "ws").string()); };
    });
    EXPECT_TRUE(recovered(nth));
    ASSERT_FALSE(HasFailure()) << "killed before call " << nth;
    if (!killed) {
      EXPECT_GT(nth, 10U);
      break;
    }
    start_over();
  }
}

}  // namespace
}  // namespace cupel::worker
