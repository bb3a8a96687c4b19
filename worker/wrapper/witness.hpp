// What the wrapper sees of the container's limits: files of the cgroup (v1 and v2), the size of
// /tmp, and which processes are Go test programs.
#pragma once

#include <stdint.h>
#include <sys/types.h>

namespace cupel::wrapper {

/// Times that the kernel's OOM killer struck in this cgroup; -1 where the cgroup can't be read.
int64_t oom_kills();
/// Times that a fork was refused by the pids limit; -1 where the cgroup can't be read.
int64_t pids_refused();
/// How full /tmp is: `high` from one half on, `full` when nearly no byte or no inode is left.
enum class TmpUse : uint8_t { low, high, full };
TmpUse tmp_use();
/// Sends a signal to every process whose program is a Go test (its file ends in ".test"). Returns
/// how many there were.
int signal_test_programs(int signal);
/// The process runs the go command itself, whose own goroutines explain nothing.
bool is_go_command(pid_t pid);

}  // namespace cupel::wrapper
