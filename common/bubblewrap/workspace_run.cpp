#include "common/bubblewrap/workspace_run.hpp"

#include "common/bubblewrap/workspace_facts.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::bubblewrap {

namespace stdfs = std::filesystem;
using sandbox::WorkspacePlan;
using sandbox::WorkspaceRequest;
using std::chrono::steady_clock;

namespace {

/// Made for the command, and not its work.
class Placeholders {
 public:
  Placeholders() = default;
  Placeholders(Placeholders&&) noexcept = default;
  Placeholders& operator=(Placeholders&&) noexcept = default;
  ~Placeholders() { remove(); }

  Result<void> make(const std::vector<sandbox::Placeholder>& wanted) {
    for (const sandbox::Placeholder& one : wanted) {
      // Two commands in one project make the same one: whoever ends last removes it.
      const bool made =
          one.directory ? ::mkdir(one.path.c_str(), 0755) == 0 || errno == EEXIST : touch(one.path);
      if (!made)
        return Error{Errc::io_error, "can't protect " + one.path, std::strerror(errno), {}};
      made_.push_back(one);
    }
    return {};
  }
  void leave() { made_.clear(); }
  /// What is not empty stays: somebody outside wrote it meanwhile.
  void remove() {
    for (const sandbox::Placeholder& one : made_) {
      struct stat info{};
      if (::lstat(one.path.c_str(), &info) != 0) continue;
      if (one.directory) {
        ::rmdir(one.path.c_str());
      } else if (S_ISREG(info.st_mode) && info.st_size == 0) {
        ::unlink(one.path.c_str());
      }
    }
    made_.clear();
  }

 private:
  static bool touch(const std::string& path) {
    const fs::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
    return static_cast<bool>(file);
  }
  std::vector<sandbox::Placeholder> made_;
};

/// Everything that is decided before anything is made.
struct Prepared {
  WorkspaceRequest request;
  ProjectCache cache;
  WorkspacePlan plan;
};

Result<void> settle_paths(WorkspaceRequest& request,
                          const std::map<std::string, std::string>& environment) {
  std::error_code failure;
  if (request.workdir.empty()) request.workdir = stdfs::current_path(failure).string();
  const Result<std::string> workdir = resolved(request.workdir);
  if (!workdir) return workdir.error();
  request.workdir = *workdir;
  if (request.project.empty())
    request.project = find_project(request.workdir, home_of(environment));
  const Result<std::string> project = resolved(request.project);
  if (!project) return project.error();
  request.project = *project;
  if (!stdfs::is_directory(request.project, failure))
    return Error{Errc::bad_value, request.project + " is no folder", {}, {}};
  return {};
}

Result<Prepared> prepare(WorkspaceRequest request,
                         const std::map<std::string, std::string>& environment) {
  if (const auto settled = settle_paths(request, environment); !settled) return settled.error();
  const auto root = cache_root(environment);
  if (!root) return root.error();
  // Before anything is made there: a cache inside of the project would be a file of the project.
  std::error_code failure;
  const stdfs::path real_root = stdfs::weakly_canonical(*root, failure);
  if (failure || sandbox::is_within(real_root.string(), request.project)) {
    return Error{Errc::refused_by_policy,
                 "the tool caches " + real_root.string() + " would be inside of the project",
                 {},
                 "set XDG_CACHE_HOME to a folder outside of the project, or name a smaller project "
                 "with --project"};
  }
  Result<ProjectCache> cache = open_project_cache(*root, request.project);
  if (!cache) return cache.error();
  const auto facts = gather_facts(request, environment, cache->dir);
  if (!facts) return facts.error();
  Result<WorkspacePlan> plan = sandbox::plan_workspace(request, *facts);
  if (!plan) return plan.error();
  return Prepared{std::move(request), std::move(*cache), std::move(*plan)};
}

WorkspaceReport report_of(const Prepared& prepared) {
  WorkspaceReport report;
  report.project = prepared.request.project;
  report.cache_dir = prepared.cache.dir;
  report.guarantees = prepared.plan.guarantees;
  report.notes = prepared.plan.notes;
  return report;
}

std::uint64_t left_of(std::uint64_t quota, std::uint64_t used) {
  return quota > used ? quota - used : 0;
}

}  // namespace

std::string_view name(WorkspaceEnd end) {
  static constexpr std::array<std::string_view, 5> kNames = {"command", "limit", "quota", "stopped",
                                                             "no_start"};
  return kNames.at(static_cast<std::size_t>(end));
}

std::string WorkspaceReport::json() const {
  nlohmann::json guarantees_json = nlohmann::json::array();
  for (const sandbox::Guarantee& one : guarantees) {
    guarantees_json.push_back(
        {{"name", one.name}, {"state", sandbox::name(one.state)}, {"how", one.how}});
  }
  const nlohmann::json all = {
      {"ended_by", name(ended_by)},
      {"exit_code", exit_code},
      {"why", why},
      {"wall_ms", std::chrono::duration_cast<std::chrono::milliseconds>(wall).count()},
      {"project", project},
      {"cache_dir", cache_dir},
      {"guarantees", std::move(guarantees_json)},
      {"notes", notes},
      {"removed", removed}};
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

struct WorkspaceRun::State {
  Prepared prepared;
  Placeholders placeholders;
  Launched launched;
  StatusReader told;
  WorkspaceReport report;
  std::unique_ptr<fs::GrowthWatch> cache_watch;
  std::unique_ptr<fs::GrowthWatch> project_watch;
  TimePoint started;
  bool ended = false;
  bool ordered = false;

  State(Prepared ready, Placeholders made, Launched running)
      : prepared(std::move(ready)),
        placeholders(std::move(made)),
        launched(std::move(running)),
        report(report_of(prepared)),
        started(steady_clock::now()) {
    report.ended_by = WorkspaceEnd::command;
  }

  void end(WorkspaceEnd by, std::string why) {
    if (ended || ordered) return;
    ordered = true;
    report.ended_by = by;
    report.why = std::move(why);
    kill();
  }
  void kill() { kill_sandbox(launched); }
  /// Another command in this project may rest on them: a mount goes with what it is mounted on.
  void clear_placeholders() {
    if (prepared.cache.lock.try_alone()) {
      placeholders.remove();
    } else {
      placeholders.leave();
    }
  }
  bool wait_for(std::chrono::milliseconds limit) {
    if (ended) return true;
    pollfd ready{launched.pidfd.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(limit.count())) <= 0) return false;
    while (::waitpid(launched.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    report.wall = steady_clock::now() - started;
    return ended = true;
  }
};

WorkspaceRun::WorkspaceRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
WorkspaceRun::WorkspaceRun(WorkspaceRun&&) noexcept = default;
WorkspaceRun& WorkspaceRun::operator=(WorkspaceRun&&) noexcept = default;
WorkspaceRun::~WorkspaceRun() {
  if (!state_ || state_->ended) return;
  state_->kill();
  (void)state_->wait_for(std::chrono::seconds(10));
  state_->clear_placeholders();
}

Result<WorkspaceRun> WorkspaceRun::start(WorkspaceRequest request,
                                         std::map<std::string, std::string> environment,
                                         Streams streams) {
  Result<Prepared> prepared = prepare(std::move(request), environment);
  if (!prepared) return prepared.error();
  const sandbox::WorkspaceQuota& quota = prepared->request.quota;
  const fs::DiskUsage used = fs::usage_of({prepared->cache.dir});
  if (used.bytes >= quota.cache_bytes || used.inodes >= quota.cache_files) {
    return Error{Errc::too_large,
                 "the tool caches of this project hold " + std::to_string(used.bytes >> 20U) +
                     " MiB in " + std::to_string(used.inodes) + " files, and may no more",
                 {},
                 "'cupel sandbox clean' empties them, --cache-quota allows more"};
  }
  for (const std::string& directory : prepared->plan.cache_dirs) {
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
      return Error{Errc::io_error, "can't make " + directory, std::strerror(errno), {}};
  }
  Placeholders placeholders;
  if (const auto made = placeholders.make(prepared->plan.placeholders); !made) return made.error();
  LaunchRequest wanted{.jail = prepared->plan.jail,
                       .filters = {},
                       .streams = streams,
                       .scope_sockets = prepared->plan.scope_sockets};
  for (const sandbox::SyscallFilter* const filter : prepared->plan.filters) {
    Result<CompiledFilter> compiled = compile_filter(*filter);
    if (!compiled) return compiled.error();
    wanted.filters.push_back(std::move(*compiled));
  }
  Result<Launched> launched = launch(wanted);
  if (!launched) return launched.error();
  auto state =
      std::make_unique<State>(std::move(*prepared), std::move(placeholders), std::move(*launched));
  const fs::GrowthBudget cache_budget{.bytes = left_of(quota.cache_bytes, used.bytes),
                                      .inodes = left_of(quota.cache_files, used.inodes),
                                      .reserve_bytes = quota.reserve_bytes};
  const fs::GrowthBudget project_budget{.bytes = quota.project_bytes,
                                        .inodes = quota.project_files,
                                        .reserve_bytes = quota.reserve_bytes};
  state->cache_watch = std::make_unique<fs::GrowthWatch>(
      std::vector<std::string>{state->prepared.cache.dir}, cache_budget);
  state->project_watch = std::make_unique<fs::GrowthWatch>(
      std::vector<std::string>{state->prepared.request.project}, project_budget);
  return WorkspaceRun(std::move(state));
}

int WorkspaceRun::fd() const {
  return state_->launched.pidfd.get();
}

void WorkspaceRun::signal(int number) {
  state_->told.read_from(state_->launched.status.get());
  const pid_t session = state_->told.status().child;
  // Process 1 leads the session and its group; as process 1 it takes no signal that it doesn't
  // handle, and the command does.
  if (!state_->ended && session > 1) ::kill(-session, number);
}

void WorkspaceRun::stop() {
  state_->end(WorkspaceEnd::stopped, "it was stopped");
}

void WorkspaceRun::tick() {
  State& state = *state_;
  if (state.ended || state.ordered) return;
  const Duration limit = state.prepared.request.limit;
  if (limit > Duration{} && steady_clock::now() - state.started >= limit)
    return state.end(WorkspaceEnd::limit, "its time was over");
  for (fs::GrowthWatch* watch : {state.cache_watch.get(), state.project_watch.get()}) {
    if (auto overrun = watch->overrun()) return state.end(WorkspaceEnd::quota, *overrun);
  }
}

WorkspaceReport WorkspaceRun::finish() {
  State& state = *state_;
  while (!state.wait_for(kTick)) tick();
  state.told.read_from(state.launched.status.get());
  if (state.report.ended_by == WorkspaceEnd::command) {
    const auto code = state.told.status().exit_code;
    state.report.exit_code = code.value_or(-1);
    if (!code) {
      state.report.ended_by = WorkspaceEnd::no_start;
      state.report.why = "bubblewrap did not start it; its words are on standard error";
    }
  }
  for (const std::string& path : state.prepared.plan.must_not_appear) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) continue;
    const auto removed = fs::remove_tree(path);
    state.report.removed.push_back(path + (removed ? "" : " (can't be removed)"));
  }
  state.clear_placeholders();
  return std::move(state.report);
}

Result<WorkspacePreview> preview_workspace(WorkspaceRequest request,
                                           std::map<std::string, std::string> environment) {
  const Result<Prepared> prepared = prepare(std::move(request), environment);
  if (!prepared) return prepared.error();
  WorkspacePreview preview{sandbox::bwrap_arguments(prepared->plan.jail, {}), report_of(*prepared)};
  preview.report.why = "nothing was run";
  return preview;
}

}  // namespace cupel::bubblewrap
