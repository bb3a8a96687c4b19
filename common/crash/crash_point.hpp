/// Named places at which a process can be made to die (SIGKILL, from within), for tests of what a
/// crash there leaves behind. A build with CUPEL_CRASH_POINTS obeys the environment:
///
///   CUPEL_CRASH_AT=NAME:N    dies when it passes the point NAME for the N-th time
///   CUPEL_CRASH_LOG=FILE     appends the name of every point that it passes
///
/// and lists the points that are linked into a program (`--crash-points`). In any other build
/// passing a point does nothing: it can't be armed, and nothing reads these variables.
///
/// A point stands before and after everything that leaves a mark on the outside: a commit, a send,
/// a call of the engine, a rename. `tests/tidy` misses none at a rename; messages are told apart by
/// type, so that a new one doesn't compile without points (to_worker_points.cpp).
#pragma once

/// NAME is a literal. Usable in any function, coroutines and templates included.
#define CUPEL_CRASH_POINT(NAME)                                                              \
  do {                                                                                       \
    __attribute__((section("cupel_crash"), used, retain)) static const char kPoint[] = NAME; \
    ::cupel::crash::passed(kPoint);                                                          \
  } while (false)

namespace cupel::crash {

/// Any thread. Points whose name begins with "sent." linger for some milliseconds before they
/// strike, since sockets send on a thread of their own.
void passed(const char* name);

/// With "--crash-points" as the only argument: prints the points, one a line, and answers true.
[[nodiscard]] bool listed(int argc, const char* const* argv);

}  // namespace cupel::crash
