#include "common/sandbox/jail.hpp"

#include "common/sandbox/syscalls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <sys/socket.h>
#include <vector>

namespace cupel::sandbox {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;
using Kind = Mount::Kind;

std::string line_of(const Jail& jail, const JailFds& fds) {
  std::string line;
  for (const std::string& word : bwrap_arguments(jail, fds)) line += word + " ";
  return line;
}

TEST(BwrapArguments, SayEverythingInTheOrderThatCounts) {
  const Jail jail{
      .mounts = {{.kind = Kind::tmpfs, .target = "/tmp", .size_bytes = 5, .mode = 01777},
                 {.kind = Kind::ro_bind, .target = "/usr", .source = "/host/usr"},
                 {.kind = Kind::symlink, .target = "/bin", .source = "usr/bin"},
                 {.kind = Kind::remount_ro, .target = "/"}},
      .environment = {{"A", "1 2"}},
      .workdir = "/w",
      .uid = 7,
      .gid = 8,
      .command = {"not", "among", "them"}};

  EXPECT_EQ(line_of(jail, {.status = 9, .seccomp = {10, 11}}),
            "--unshare-user --uid 7 --gid 8 --unshare-ipc --unshare-pid --unshare-uts "
            "--unshare-cgroup-try --unshare-net --hostname cupel --new-session --die-with-parent "
            "--cap-drop ALL --perms 1777 --size 5 --tmpfs /tmp --ro-bind /host/usr /usr "
            "--symlink usr/bin /bin --remount-ro / --chdir /w --clearenv --setenv A 1 2 "
            "--json-status-fd 9 --add-seccomp-fd 10 --add-seccomp-fd 11 ");
}

TEST(BwrapArguments, TheNetworkIsSharedOnlyWhereItIsAskedFor) {
  Jail jail;
  EXPECT_THAT(bwrap_arguments(jail, {}), Contains("--unshare-net"));
  jail.share_network = true;
  EXPECT_THAT(bwrap_arguments(jail, {}), Not(Contains("--unshare-net")));
}

TEST(BwrapArguments, JoinedArgumentsCarryEveryByteButZero) {
  EXPECT_EQ(joined_arguments({"a b", "", "c\n"}), std::string("a b\0\0c\n\0", 8));
}

TEST(IsWithin, LooksAtWholeNames) {
  EXPECT_TRUE(is_within("/a/b", "/a"));
  EXPECT_TRUE(is_within("/a", "/a"));
  EXPECT_TRUE(is_within("/a", "/"));
  EXPECT_FALSE(is_within("/ab", "/a"));
  EXPECT_FALSE(is_within("/a", "/a/b"));
}

TEST(IsCleanPath, RefusesWhatMeansAnotherPlaceThanItSays) {
  EXPECT_TRUE(is_clean_path("/a/.b/c..d"));
  for (const char* bad : {"", "/", "a", "/a/", "/a//b", "/a/../b", "/a/.", "/..", "/a\nb"})
    EXPECT_FALSE(is_clean_path(bad)) << bad;
}

std::vector<std::string> allowed_by(const SyscallFilter& filter) {
  std::vector<std::string> names;
  for (const SyscallRule& rule : filter.rules) {
    if (rule.error == 0) names.insert(names.end(), rule.names.begin(), rule.names.end());
  }
  return names;
}

TEST(SyscallFilters, NeitherScopeAllowsNamespacesKeysOrBpf) {
  for (const SyscallFilter* filter : {&run_filter(), &workspace_filter()}) {
    EXPECT_NE(filter->other_calls, 0);
    for (const char* name : {"unshare", "setns", "mount", "keyctl", "bpf", "userfaultfd",
                             "io_uring_setup", "perf_event_open", "kexec_load"})
      EXPECT_THAT(allowed_by(*filter), Not(Contains(name)));
  }
}

TEST(SyscallFilters, OnlyTheWorkspaceHasDebuggers) {
  EXPECT_THAT(allowed_by(run_filter()), Not(Contains("ptrace")));
  EXPECT_THAT(allowed_by(workspace_filter()), Contains("ptrace"));
  EXPECT_THAT(allowed_by(workspace_filter()), IsSupersetOf(allowed_by(run_filter())));
}

TEST(SyscallFilters, SocketsAreOfFourFamiliesAndMadeOnlyWhereAFilterSeesTheFamily) {
  for (const SyscallFilter* filter : {&run_filter(), &workspace_filter()}) {
    std::vector<std::uint64_t> families;
    bool older_entry_refused = false;
    for (const SyscallRule& rule : filter->rules) {
      if (rule.names == std::vector<std::string>{"socketcall"})
        older_entry_refused = rule.error != 0;
      if (std::ranges::find(rule.names, "socket") == rule.names.end()) continue;
      ASSERT_EQ(rule.tests.size(), 1U);
      EXPECT_EQ(rule.tests[0].op, ArgumentTest::Op::equal);
      families.push_back(rule.tests[0].value);
    }
    EXPECT_EQ(families, (std::vector<std::uint64_t>{AF_UNIX, AF_INET, AF_INET6, AF_NETLINK}));
    EXPECT_TRUE(older_entry_refused);
    EXPECT_THAT(allowed_by(*filter), Not(Contains("socketcall")));
  }
}

TEST(SyscallFilters, ARunSetsLimitsOfItsOwnProcessesOnly) {
  const auto& rules = run_filter().rules;
  const auto named = [](const SyscallRule& rule) {
    return std::ranges::find(rule.names, "prlimit64") != rule.names.end();
  };
  ASSERT_EQ(std::ranges::count_if(rules, named), 1);
  const SyscallRule& rule = *std::ranges::find_if(rules, named);
  ASSERT_EQ(rule.tests.size(), 1U);
  EXPECT_EQ(rule.tests[0].op, ArgumentTest::Op::equal);
  EXPECT_EQ(rule.tests[0].value, 0U);
}

TEST(SyscallFilters, TerminalInputIsRefusedByTheLowHalfOfTheRequest) {
  const SyscallFilter& filter = terminal_filter();
  ASSERT_EQ(filter.rules.size(), 2U);
  EXPECT_EQ(filter.other_calls, 0);
  for (const SyscallRule& rule : filter.rules) {
    EXPECT_NE(rule.error, 0);
    EXPECT_EQ(rule.tests.at(0).op, ArgumentTest::Op::masked_equal);
    EXPECT_EQ(rule.tests.at(0).value, 0xFFFF'FFFFU);
  }
}

}  // namespace
}  // namespace cupel::sandbox
