// An exit container: it holds the network namespace of a run, which has loopback and nothing else,
// and the port of the worker's proxy in it. What connects there is carried to the worker over
// standard input and output (worker/core/egress/exit_frames.hpp); no packet leaves the namespace.
#pragma once

namespace cupel::wrapper {

/// Until standard input ends: the worker closed it, or is dead. The process's exit code.
int hold_exit();

}  // namespace cupel::wrapper
