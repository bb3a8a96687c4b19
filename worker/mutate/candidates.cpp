#include "worker/core/change/gomod_edit.hpp"
#include "worker/mutate/job.hpp"
#include "worker/run/offload.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

namespace cupel::worker::mutation {
namespace {

namespace asio = boost::asio;

/// Below the unit's directory. The go command never looks into folders with a dot for packages.
constexpr std::string_view kReserved = ".cupel-candidate";

/// One module and what stands in for it.
struct Placed {
  std::string module;
  std::string target;    ///< Module path, or "./.cupel-candidate/0/dir".
  std::string version;   ///< Empty for a directory.
  std::string graft_at;  ///< Path below the root; empty for a version.
  std::string snapshot;  ///< What is grafted there.
};

/// The folder of the candidate's tree that holds the module; "." when no go.mod names it.
std::string folder_of(const CandidateFetched& fetched, const std::string& module) {
  for (const auto& [path, content] : fetched.go_mods) {
    if (parse_go_mod(content).module_path != module) continue;
    return path == "go.mod" ? "." : path.substr(0, path.size() - std::string("/go.mod").size());
  }
  return ".";
}

/// Blocking. A snapshot of the commit with the candidates in it becomes the job's base.
Stopped graft(const JobPtr& job, const std::vector<Placed>& placed) {
  std::map<std::string, std::filesystem::path> grafts;
  for (const auto& one : placed) {
    if (!one.graft_at.empty()) grafts.emplace(one.graft_at, one.snapshot);
  }
  Workspaces& workspaces = job->context.workspaces;
  Stopped stopped;
  if (!grafts.empty()) {
    auto parent = workspaces.new_directory("source");
    auto grafted = parent ? graft_snapshots(job->source.snapshot, grafts, *parent)
                          : Result<DerivedSnapshot>(parent.error());
    if (grafted) {
      job->base = grafted->dir.string();
      job->base_tree = grafted->tree;
      job->mounts.source = job->base;
      job->patchable = false;
    } else {
      if (parent) workspaces.discard(*parent);
      stopped = stopped_by(grafted.error());
    }
  }
  for (const auto& one : placed) {
    if (!one.snapshot.empty()) workspaces.discard(one.snapshot);
  }
  if (!stopped && job->in_tree && !grafts.empty()) {
    for (const auto& [path, dir] : grafts) {
      const std::string below = job->mounts.staging + '/' + path;
      std::error_code ec;
      std::filesystem::create_directories(below, ec);
      if (auto staged = stage_tree(job->base + '/' + path, below); !staged) {
        return stopped_by(staged.error());
      }
    }
  }
  return stopped;
}

std::string pinned_commit(const Job& job, const std::string& module) {
  const auto found = std::ranges::find(job.work.resolved, module, &ModuleTarget::module);
  return found == job.work.resolved.end() ? std::string() : found->version;
}

}  // namespace

asio::awaitable<Stopped> place_candidates(JobPtr job, Replace replace, NotAffected* none,
                                          std::shared_ptr<CancelToken> cancel) {
  std::vector<Placed> placed;
  Stopped failed;
  for (std::size_t i = 0; i < replace.modules.size() && !failed; ++i) {
    const auto& wanted = replace.modules[i];
    const auto has = job->applied.before.modules.find(wanted.module);
    if (has == job->applied.before.modules.end()) {
      job->notes.push_back(
          change::note("module_absent: " + wanted.module + ": the build list has no such module",
                       wanted.module));
      continue;
    }
    job->applied.targets.push_back({wanted.module, has->second.version});
    if (const auto* version = std::get_if<ModuleSource>(&wanted.with)) {
      placed.push_back({wanted.module, version->path, version->version, {}, {}});
      job->pinned.push_back({wanted.module, version->version});
      continue;
    }
    AcquireSource work;
    work.source = wanted.with;
    if (std::holds_alternative<GitSource>(wanted.with)) {
      work.pinned_commit = pinned_commit(*job, wanted.module);
    }
    const std::string bundle = i < job->bundles.size() ? job->bundles[i] : std::string();
    auto fetched = co_await fetch_candidate(job->context, std::move(work), bundle, cancel);
    if (auto* stopped = std::get_if<AcquireStopped>(&fetched)) {
      failed = std::move(*stopped);
      break;
    }
    const auto& candidate = std::get<CandidateFetched>(fetched);
    const std::string name = std::string(kReserved) + '/' + std::to_string(i);
    const std::string folder = folder_of(candidate, wanted.module);
    const std::string& dir = job->work.unit.dir;
    placed.push_back({wanted.module,
                      "./" + name + (folder == "." ? "" : '/' + folder),
                      {},
                      dir == "." ? name : dir + '/' + name,
                      candidate.snapshot});
    job->pinned.push_back({wanted.module, candidate.commit});
    job->notes.push_back(change::note("replaced: " + wanted.module + ' ' + has->second.version +
                                          " by " + source_name(wanted.with) + " at " +
                                          candidate.commit,
                                      wanted.module));
  }
  asio::thread_pool& files = job->context.files;
  auto put = [job, placed] { return graft(job, placed); };
  auto grafted = co_await offload(files, std::move(put));
  if (failed) co_return *std::move(failed);
  if (grafted) co_return *std::move(grafted);
  if (placed.empty()) {
    *none = NotAffected::module_absent;
    co_return std::nullopt;
  }
  std::function<std::string(const std::string&)> edit = [placed](const std::string& mod) {
    std::string text = mod;
    for (const auto& one : placed) {
      text = change::with_replacement(text, one.module, one.target, one.version);
    }
    return text;
  };
  co_return co_await edit_go_mod(job, std::move(edit));
}

}  // namespace cupel::worker::mutation
