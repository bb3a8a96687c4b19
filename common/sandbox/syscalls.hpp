/// The system calls that a sandbox may make, as values: the worker renders them for an engine, the
/// bubblewrap adapter compiles them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::sandbox {

/// What an argument of a call must be for a rule to hold.
struct ArgumentTest {
  enum class Op : std::uint8_t { equal, not_equal, masked_equal };
  unsigned index = 0;
  Op op = Op::equal;
  std::uint64_t value = 0;   ///< masked_equal: the mask.
  std::uint64_t second = 0;  ///< masked_equal: what is left must be this.
};

struct SyscallRule {
  std::vector<std::string>
      names;      ///< A name that an architecture doesn't have means nothing there.
  int error = 0;  ///< 0: allowed; else the call fails with it.
  std::vector<ArgumentTest> tests = {};
};

/// One filter. Several may hold at once; the strictest answer counts.
struct SyscallFilter {
  int other_calls = 0;  ///< errno for what no rule names; 0: allowed.
  std::vector<SyscallRule> rules;
};

/// For linux/amd64 and the i386 programs that run on it: an allow-list. What needs a capability
/// that no profile grants is left out, and so are ptrace, process_vm_readv, process_vm_writev, user
/// namespaces, kernel keys, BPF, perf and userfaultfd. clone3 answers ENOSYS, so that libraries
/// fall back to clone, whose flags can be looked at.
[[nodiscard]] const SyscallFilter& run_filter();

/// The same for the workspace scope, and the calls of debuggers: all processes of the sandbox are
/// of one command, and others it can't see.
[[nodiscard]] const SyscallFilter& workspace_filter();

/// Refuses to put bytes into a terminal's input (TIOCSTI, TIOCLINUX), whatever the upper half of
/// the argument says (CVE-2019-10063). An allow-list can't say that, so it is a filter of its own.
[[nodiscard]] const SyscallFilter& terminal_filter();

}  // namespace cupel::sandbox
