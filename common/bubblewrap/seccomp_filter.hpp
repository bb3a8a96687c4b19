/// System call filters as the kernel takes them, by libseccomp.
#pragma once

#include "common/core/error.hpp"
#include "common/sandbox/syscalls.hpp"

#include <string>

namespace cupel::bubblewrap {

/// A program for the kernel (amd64, i386 and x32). Compiling takes milliseconds: who starts many
/// sandboxes keeps it.
struct CompiledFilter {
  std::string program;
};

/// Errors: unsafe_sandbox (libseccomp refuses a rule: nothing is left out in silence), io_error.
[[nodiscard]] Result<CompiledFilter> compile_filter(const sandbox::SyscallFilter& filter);

}  // namespace cupel::bubblewrap
