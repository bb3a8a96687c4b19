#include "common/source/object_store.hpp"
#include "worker/acquire/acquire.hpp"
#include "worker/acquire/go_run.hpp"
#include "worker/acquire/module_source.hpp"
#include "worker/acquire/staging.hpp"
#include "worker/core/source/admission.hpp"
#include "worker/core/source/units.hpp"
#include "worker/fs/snapshot.hpp"
#include "worker/git/fetch.hpp"
#include "worker/run/offload.hpp"

#include <boost/asio/this_coro.hpp>

#include <cstdlib>
#include <utility>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;
namespace stdfs = std::filesystem;

/// A snapshot on the disk that nobody recorded yet, and what it is a snapshot of.
struct Written {
  Snapshot snapshot;
  std::string commit;
  AcquireLog log;
  WallTime committed = {};
};
using WrittenOrStopped = std::variant<Written, AcquireStopped>;

SnapshotLimits snapshot_limits() {
  return {};
}

std::string variable(const char* upper, const char* lower) {
  for (const char* name : {lower, upper}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return {};
}

/// The worker's own way out is git's, too: its proxy and its CA bundle.
Result<std::shared_ptr<const GitPolicy>> git_policy(const SourcePolicy& policy) {
  auto git = std::make_shared<GitPolicy>();
  git->allow_local = policy.allow_local;
  git->allowed = policy.allowed;
  git->https_proxy = variable("HTTPS_PROXY", "https_proxy");
  git->no_proxy = variable("NO_PROXY", "no_proxy");
  git->ca_bundle = variable("GIT_SSL_CAINFO", "SSL_CERT_FILE");
  if (!policy.git_credentials_file.empty()) {
    auto credentials = read_credentials(policy.git_credentials_file);
    if (!credentials) return credentials.error();
    git->credentials = *std::move(credentials);
  }
  return std::shared_ptr<const GitPolicy>(std::move(git));
}

/// When a commit was made. One that doesn't say it is no worse for that.
WallTime committed_at(const source::ObjectStore& store, const gitfmt::ObjectId& commit) {
  constexpr std::uint64_t kCommitBytesMax = 1ULL << 20;
  const auto object = store.read(commit, kCommitBytesMax);
  const auto seconds =
      object ? gitfmt::commit_time(object->bytes) : Result<std::int64_t>(object.error());
  return {seconds ? *seconds * 1'000'000 : 0};
}

/// Blocking. Writes the commit of an open store.
WrittenOrStopped write_commit(Workspaces& workspaces, const source::ObjectStore& store,
                              const std::string& commit) {
  const auto id = gitfmt::ObjectId::parse(commit);
  if (!id) return stopped_by(Error{Errc::bad_value, "'" + commit + "' is no commit id", {}, {}});
  auto parent = workspaces.new_directory("source");
  if (!parent) return stopped_by(parent.error());
  auto written = write_snapshot(store, *id, *parent, snapshot_limits());
  if (written && std::holds_alternative<Snapshot>(*written)) {
    return Written{std::get<Snapshot>(*std::move(written)), commit, {}, committed_at(store, *id)};
  }
  workspaces.discard(*parent);
  if (!written) return stopped_by(written.error());
  return stopped_by(std::get<SourceRefusal>(*std::move(written)));
}

asio::awaitable<WrittenOrStopped> from_git(AcquireContext context, GitSource source,
                                           std::string pinned,
                                           std::shared_ptr<CancelToken> cancel) {
  const auto policy = git_policy(context.policy);
  if (!policy) co_return stopped_by(policy.error());
  const auto scratch = context.workspaces.new_directory("fetch");
  if (!scratch) co_return stopped_by(scratch.error());
  FetchRequest request;
  request.url = std::move(source.url);
  request.ref = std::move(source.ref);
  request.pinned_commit = std::move(pinned);
  request.into = stdfs::path(*scratch) / "repository.git";
  const auto fetched = co_await fetch_git(std::move(request), *policy, std::move(cancel));
  Workspaces& workspaces = context.workspaces;
  co_return co_await offload(context.files, [&workspaces, fetched, scratch]() -> WrittenOrStopped {
    const auto answer = [&]() -> WrittenOrStopped {
      if (!fetched) return stopped_by(fetched.error());
      if (const auto* refused = std::get_if<SourceRefusal>(&*fetched)) return stopped_by(*refused);
      const auto& repository = std::get<Fetched>(*fetched);
      auto store = source::ObjectStore::open(repository.objects);
      if (!store) return stopped_by(store.error());
      return write_commit(workspaces, *store, repository.commit);
    }();
    workspaces.discard(*scratch);  // with the credential in its configuration
    return answer;
  });
}

/// Blocking.
WrittenOrStopped from_bundle(Workspaces& workspaces, const std::string& bundle,
                             const std::string& commit) {
  const auto scratch = workspaces.new_directory("pack");
  if (!scratch) return stopped_by(scratch.error());
  auto answer = [&]() -> WrittenOrStopped {
    auto store = source::ObjectStore::open_pack(bundle, *scratch);
    if (store) return write_commit(workspaces, *store, commit);
    if (store.error().code != Errc::bad_value) return stopped_by(store.error());
    return stopped_by(refusal(Reason::malformed_tree, FindingKind::acquire_error,
                              "malformed_tree: the packed source is no whole git pack"));
  }();
  workspaces.discard(*scratch);
  return answer;
}

std::variant<SourceAcquired, AcquireStopped> finish(AcquireContext& context, Written written,
                                                    const std::vector<std::string>& subdirs) {
  Snapshot& snapshot = written.snapshot;
  auto units = discover_units(snapshot.view, subdirs);
  if (auto* refused = std::get_if<SourceRefusal>(&units)) {
    context.workspaces.discard(snapshot.dir.string());
    return stopped_by(std::move(*refused));
  }
  SourceWorkspace workspace;
  workspace.snapshot = snapshot.dir.string();
  workspace.notes = snapshot.notes;
  workspace.facts.commit = written.commit;
  workspace.facts.tree = snapshot.tree;
  workspace.facts.files = snapshot.files;
  workspace.facts.bytes = snapshot.bytes;
  workspace.facts.committed = written.committed;
  workspace.facts.units = std::get<std::vector<UnitInfo>>(std::move(units));
  std::vector<std::string> dirs;
  for (const UnitInfo& unit : workspace.facts.units) dirs.push_back(unit.dir);
  for (UnitInfo& unit : workspace.facts.units) {
    auto notes = link_notes(snapshot.notes, unit.dir, dirs);
    unit.findings.insert(unit.findings.end(), notes.begin(), notes.end());
  }
  if (auto recorded = context.workspaces.record_source(context.repository, workspace); !recorded) {
    context.workspaces.discard(workspace.snapshot);
    return stopped_by(recorded.error());
  }
  SourceAcquired acquired;
  acquired.facts = std::move(workspace.facts);
  acquired.log = std::move(written.log);
  return acquired;
}

asio::awaitable<WrittenOrStopped> write_source(AcquireContext context, AcquireSource work,
                                               std::string bundle,
                                               std::shared_ptr<CancelToken> cancel) {
  if (const auto* git = std::get_if<GitSource>(&work.source)) {
    co_return co_await from_git(std::move(context), *git, work.pinned_commit, std::move(cancel));
  }
  if (const auto* packed = std::get_if<BundleSource>(&work.source)) {
    Workspaces& workspaces = context.workspaces;
    const std::string commit = packed->commit;
    co_return co_await offload(context.files, [&workspaces, bundle, commit] {
      return from_bundle(workspaces, bundle, commit);
    });
  }
  const auto& module = std::get<ModuleSource>(work.source);
  auto downloaded = co_await download_module(std::move(context), module, work.pinned_commit,
                                             snapshot_limits(), std::move(cancel));
  if (auto* stopped = std::get_if<AcquireStopped>(&downloaded)) co_return std::move(*stopped);
  auto& ready = std::get<DownloadedSource>(downloaded);
  co_return Written{std::move(ready.snapshot), std::move(ready.sum), std::move(ready.log)};
}

}  // namespace

asio::awaitable<std::variant<CandidateFetched, AcquireStopped>> fetch_candidate(
    AcquireContext context, AcquireSource work, std::string bundle,
    std::shared_ptr<CancelToken> cancel) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  auto written = co_await write_source(std::move(context), std::move(work), std::move(bundle),
                                       std::move(cancel));
  if (auto* stopped = std::get_if<AcquireStopped>(&written)) co_return std::move(*stopped);
  auto& ready = std::get<Written>(written);
  CandidateFetched fetched;
  fetched.snapshot = ready.snapshot.dir.string();
  fetched.commit = std::move(ready.commit);
  for (auto& [path, content] : ready.snapshot.view.manifests) {
    if (path == "go.mod" || path.ends_with("/go.mod")) fetched.go_mods.emplace(path, content);
  }
  co_return fetched;
}

asio::awaitable<std::variant<SourceAcquired, AcquireStopped>> acquire_source(
    AcquireContext context, AcquireSource work, std::string bundle,
    std::shared_ptr<CancelToken> cancel) {
  // The token ends git and runs; a cancelled coroutine would leave directories behind.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const std::vector<std::string> subdirs = work.subdirs;
  auto written =
      co_await write_source(context, std::move(work), std::move(bundle), std::move(cancel));
  if (auto* stopped = std::get_if<AcquireStopped>(&written)) co_return std::move(*stopped);
  const auto shared = std::make_shared<Written>(std::get<Written>(std::move(written)));
  const auto kept = std::make_shared<AcquireContext>(std::move(context));
  co_return co_await offload(
      kept->files, [kept, shared, subdirs] { return finish(*kept, std::move(*shared), subdirs); });
}

}  // namespace cupel::worker
