#include "worker/core/go/proof.hpp"

#include <chrono>

namespace cupel::worker::go {

Reason doubt_of(const RunReport& report) {
  if (report.error) {
    return report.error->code == Errc::image_missing ? Reason::image_missing : Reason::engine;
  }
  Reason reason = Reason::none;
  const auto apply = [&](bool holds, Reason why) {
    if (holds) reason = stronger_reason(reason, why);
  };
  const bool ended_badly =
      report.ended_by != EndedBy::itself || report.exit_code != 0 || report.signal != 0;
  apply(report.ended_by == EndedBy::engine && !report.killed_unasked, Reason::engine);
  apply(report.killed_unasked, Reason::resource_memory);
  // Also where the command ended well: what the child that died would have done isn't known.
  apply(report.oom_kills > 0 || report.engine_oom_killed, Reason::resource_memory);
  apply(report.ended_by == EndedBy::watcher_disk || report.mount_budget_hit, Reason::resource_disk);
  apply(ended_badly && report.tmp_full, Reason::resource_disk);
  apply(ended_badly && report.pids_limit_hit, Reason::resource_pids);
  apply(report.ended_by == EndedBy::check_limit || report.ended_by == EndedBy::wrapper_limit,
        Reason::timeout);
  apply(report.out.truncated || report.err.truncated, Reason::output_truncated);
  apply(!report.started || !report.end_marker, Reason::end_marker_missing);
  if (report.ended_by == EndedBy::itself && report.end_marker) {
    apply(report.engine_exit_code != report.exit_code, Reason::exit_mismatch);
    apply(report.signal != 0 || report.exit_code >= 128 || report.exit_code < 0, Reason::aborted);
  }
  apply(!report.out.complete || !report.err.complete,
        report.leftover_processes ? Reason::io_incomplete : Reason::incomplete_stream);
  return reason;
}

std::string doubt_text(Reason reason, const RunReport& report) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(report.wall).count();
  switch (reason) {
    case Reason::engine:
    case Reason::image_missing:
      return report.error ? report.error->what : std::string("the engine ended the run");
    case Reason::resource_memory:
      if (report.killed_unasked) {
        return report.engine_oom_killed
                   ? "the memory limit was hit, and everything in the sandbox was killed"
                   : "killed from outside (exit code 137) for a cause that nobody named; memory is "
                     "the usual one";
      }
      if (report.oom_kills == 0) return "the memory limit was hit, and a process was killed";
      return "the memory limit was hit, " + std::to_string(report.oom_kills) + " processes killed";
    case Reason::resource_disk: return "a writable directory of the sandbox was full";
    case Reason::resource_pids: return "the limit of processes was hit";
    case Reason::timeout: return "ended by the check limit after " + std::to_string(seconds) + " s";
    case Reason::output_truncated:
      return "wrote " + std::to_string(report.out.total) + " bytes to stdout and " +
             std::to_string(report.err.total) + " to stderr, more than is kept";
    case Reason::end_marker_missing: return "the run left no proof of its end";
    case Reason::exit_mismatch:
      return "the engine says exit code " + std::to_string(report.engine_exit_code) +
             ", the end marker " + std::to_string(report.exit_code);
    case Reason::aborted:
      return "the command was ended by signal " +
             std::to_string(report.signal != 0 ? report.signal : report.exit_code - 128);
    case Reason::io_incomplete: return "a process that outlived the command kept its output open";
    case Reason::incomplete_stream: return "bytes of the output are missing";
    default: return std::string(name(reason));
  }
}

}  // namespace cupel::worker::go
