/// The system calls that a container may make. Pure.
#pragma once

#include <string>

namespace cupel::worker {

/// A seccomp profile in the engine's format, for linux/amd64 and the i386 programs that run on it:
/// an allow-list. What needs a capability that no profile grants is left out, and so are ptrace,
/// process_vm_readv, process_vm_writev, user namespaces, kernel keys, BPF, perf and userfaultfd.
/// clone3 answers ENOSYS, so that libraries fall back to clone, whose flags can be looked at.
[[nodiscard]] const std::string& seccomp_profile();

}  // namespace cupel::worker
