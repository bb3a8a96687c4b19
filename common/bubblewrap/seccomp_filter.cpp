#include "common/bubblewrap/seccomp_filter.hpp"

#include "common/fs/beneath.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

namespace cupel::bubblewrap {

namespace {

using sandbox::ArgumentTest;

struct Release {
  void operator()(void* context) const { seccomp_release(context); }
};
using Context = std::unique_ptr<void, Release>;

Error refused(const std::string& what, int why) {
  return {Errc::unsafe_sandbox,
          "the system call filter can't be made: " + what,
          std::strerror(-why),
          {}};
}

std::uint32_t action_of(int error) {
  return error == 0 ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error));
}

scmp_arg_cmp test_of(const ArgumentTest& test) {
  scmp_arg_cmp out{};
  out.arg = test.index;
  out.datum_a = test.value;
  out.datum_b = test.second;
  switch (test.op) {
    case ArgumentTest::Op::equal: out.op = SCMP_CMP_EQ; break;
    case ArgumentTest::Op::not_equal: out.op = SCMP_CMP_NE; break;
    case ArgumentTest::Op::masked_equal: out.op = SCMP_CMP_MASKED_EQ; break;
  }
  return out;
}

Result<void> add_rule(const Context& context, const sandbox::SyscallRule& rule) {
  std::vector<scmp_arg_cmp> tests;
  tests.reserve(rule.tests.size());
  for (const ArgumentTest& test : rule.tests) tests.push_back(test_of(test));
  for (const std::string& name : rule.names) {
    const int number = seccomp_syscall_resolve_name(name.c_str());
    // A call that this libseccomp doesn't know stays under the filter's default, which is the
    // strict side of an allow-list; a refusal that can't be said is an error.
    if (number == __NR_SCMP_ERROR && rule.error == 0) continue;
    if (number == __NR_SCMP_ERROR) return refused(name, -EINVAL);
    const int added = seccomp_rule_add_array(context.get(), action_of(rule.error), number,
                                             static_cast<unsigned>(tests.size()), tests.data());
    if (added != 0) return refused(name, added);
  }
  return {};
}

}  // namespace

Result<CompiledFilter> compile_filter(const sandbox::SyscallFilter& filter) {
  const Context context(seccomp_init(action_of(filter.other_calls)));
  if (!context) return refused("no memory", -ENOMEM);
  for (const auto more :
       {static_cast<std::uint32_t>(SCMP_ARCH_X86), static_cast<std::uint32_t>(SCMP_ARCH_X32)}) {
    const int added = seccomp_arch_add(context.get(), more);
    if (added != 0 && added != -EEXIST) return refused("architecture", added);
  }
  for (const sandbox::SyscallRule& rule : filter.rules) {
    if (const Result<void> added = add_rule(context, rule); !added) return added.error();
  }
  const fs::Fd file(::memfd_create("cupel-seccomp", MFD_CLOEXEC));
  if (!file) return refused("memfd", -errno);
  if (const int written = seccomp_export_bpf(context.get(), file.get()); written != 0)
    return refused("export", written);
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return refused("seek", -errno);
  CompiledFilter compiled;
  std::array<char, 16384> piece{};
  for (ssize_t got = 0; (got = ::read(file.get(), piece.data(), piece.size())) > 0;)
    compiled.program.append(piece.data(), static_cast<std::size_t>(got));
  if (compiled.program.empty()) return refused("an empty program", -EINVAL);
  return compiled;
}

}  // namespace cupel::bubblewrap
