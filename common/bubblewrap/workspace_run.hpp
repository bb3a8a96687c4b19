/// Runs one command in the workspace scope. This is the call that a coding agent's harness makes;
/// `cupel sandbox` is the same with a command line (docs/sandbox.md).
#pragma once

#include "common/bubblewrap/launch.hpp"
#include "common/bubblewrap/workspace_cache.hpp"
#include "common/core/error.hpp"
#include "common/core/time.hpp"
#include "common/fs/growth_watch.hpp"
#include "common/sandbox/workspace.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cupel::bubblewrap {

enum class WorkspaceEnd : std::uint8_t {
  command,   ///< By itself, or by a signal that it was sent.
  limit,     ///< Its time was over.
  quota,     ///< It wrote more than it may.
  stopped,   ///< stop() was called.
  no_start,  ///< It never ran: bubblewrap could not make the sandbox, or found no such program.
};
[[nodiscard]] std::string_view name(WorkspaceEnd end);

struct WorkspaceReport {
  WorkspaceEnd ended_by = WorkspaceEnd::no_start;
  int exit_code =
      -1;           ///< Of the command; 128 + n when signal n ended it. -1 unless it ended itself.
  std::string why;  ///< For all ends but `command`.
  Duration wall{};
  std::string project;
  std::string cache_dir;
  std::vector<sandbox::Guarantee> guarantees;
  std::vector<std::string> notes;
  std::vector<std::string> removed;  ///< What must not appear and did.

  /// One object, for harnesses; the fields are promised (docs/sandbox.md).
  [[nodiscard]] std::string json() const;
};

/// Thread rule: everything on the thread that called start(). The sandbox ends when that thread
/// does.
class WorkspaceRun {
 public:
  /// How often tick() wants to be called.
  static constexpr std::chrono::milliseconds kTick{250};

  /// `request.project` and `request.workdir` may be empty (found from the current directory) and
  /// may hold links. `environment` is the caller's. Errors: those of plan_workspace() and
  /// gather_facts(); too_large (the caches are beyond their quota already); locked; not_found
  /// (bubblewrap); unsafe_sandbox; io_error. After an error nothing runs and nothing was changed
  /// but for the cache directory.
  [[nodiscard]] static Result<WorkspaceRun> start(sandbox::WorkspaceRequest request,
                                                  std::map<std::string, std::string> environment,
                                                  Streams streams);
  WorkspaceRun(WorkspaceRun&&) noexcept;
  WorkspaceRun& operator=(WorkspaceRun&&) noexcept;
  /// Kills what still runs.
  ~WorkspaceRun();

  /// Readable once it has ended.
  [[nodiscard]] int fd() const;
  /// To the command and its children, but those that made process groups of their own.
  void signal(int number);
  /// Ends all of it, at once.
  void stop();
  /// Looks at time limit and quotas. Between kTick and kTick nobody does.
  void tick();
  /// Waits until it has ended, ticking, takes back what was made for it, and tells.
  [[nodiscard]] WorkspaceReport finish();

 private:
  struct State;
  explicit WorkspaceRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// What start() would do, without doing it: arguments of bubblewrap and guarantees. Makes the cache
/// directory.
struct WorkspacePreview {
  std::vector<std::string> arguments;
  WorkspaceReport report;
};
[[nodiscard]] Result<WorkspacePreview> preview_workspace(
    sandbox::WorkspaceRequest request, std::map<std::string, std::string> environment);

}  // namespace cupel::bubblewrap
