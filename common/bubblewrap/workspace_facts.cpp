#include "common/bubblewrap/workspace_facts.hpp"

#include "common/bubblewrap/launch.hpp"
#include "common/bubblewrap/workspace_cache.hpp"

#include <array>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace cupel::bubblewrap {

namespace stdfs = std::filesystem;

namespace {

using sandbox::PathFact;
using sandbox::WorkspaceFacts;
using sandbox::WorkspaceRequest;

constexpr std::uint32_t kEntriesMax = 500'000;  // of the search for sockets

std::optional<PathFact> fact_of(const std::string& path) {
  std::error_code failure;
  const stdfs::file_status status = stdfs::symlink_status(path, failure);
  if (failure || !stdfs::exists(status)) return std::nullopt;
  if (stdfs::is_symlink(status)) {
    return PathFact{path, PathFact::Kind::link, stdfs::read_symlink(path, failure).string()};
  }
  return PathFact{
      path, stdfs::is_directory(status) ? PathFact::Kind::directory : PathFact::Kind::file, {}};
}

std::vector<PathFact> existing(const std::vector<std::string>& paths) {
  std::vector<PathFact> all;
  for (const std::string& path : paths) {
    if (auto fact = fact_of(path)) all.push_back(std::move(*fact));
  }
  return all;
}

/// Where an allowed path really is. A link may lead anywhere, so the target is what is judged.
Result<PathFact> allowed_path(const std::string& path, const std::string& home) {
  const Result<std::string> real = resolved(path);
  if (!real) return real.error();
  if (*real == "/" || (!home.empty() && sandbox::is_within(home, *real))) {
    return Error{Errc::refused_by_policy,
                 path + " would show the whole home",
                 {},
                 "name what is needed, below it"};
  }
  for (const char* part : {"/proc", "/sys", "/dev", "/run"}) {
    if (sandbox::is_within(*real, part))
      return Error{Errc::refused_by_policy, path + " belongs to the running system", {}, {}};
  }
  return PathFact{path, PathFact::Kind::directory, *real};
}

Result<std::vector<PathFact>> allowed_paths(const WorkspaceRequest& request,
                                            const std::string& home) {
  std::vector<PathFact> all;
  for (const std::string& name : request.allow_home) {
    if (home.empty())
      return Error{Errc::not_found, "there is no home to allow " + name + " of", {}, {}};
    Result<PathFact> fact = allowed_path(std::string(home).append("/").append(name), home);
    if (!fact) return fact.error();
    all.push_back(std::move(*fact));
  }
  for (const std::string& path : request.read) {
    Result<PathFact> fact = allowed_path(path, home);
    if (!fact) return fact.error();
    all.push_back(std::move(*fact));
  }
  return all;
}

/// Sockets below a visible folder: a read-only mount doesn't keep anybody from connecting to them.
/// `seen_at`: the folder as the command sees it.
void find_sockets(const std::string& folder, const std::string& seen_at, WorkspaceFacts& facts,
                  std::uint32_t& entries_left) {
  std::error_code failure;
  const auto options = stdfs::directory_options::skip_permission_denied;
  stdfs::recursive_directory_iterator it(folder, options, failure);
  for (; !failure && it != stdfs::recursive_directory_iterator(); it.increment(failure)) {
    if (entries_left == 0) {
      facts.sockets_complete = false;
      return;
    }
    --entries_left;
    std::error_code ignored;
    if (it->is_socket(ignored) && !it->is_symlink(ignored))
      facts.sockets.push_back(seen_at + it->path().string().substr(folder.size()));
  }
  if (failure) facts.sockets_complete = false;
}

void look_at_git(const std::string& project, WorkspaceFacts& facts) {
  const auto git = fact_of(project + "/.git");
  if (!git) return;
  if (git->kind == PathFact::Kind::link) facts.git_link = git->path;
  facts.git = git->kind == PathFact::Kind::directory ? WorkspaceFacts::Git::directory
                                                     : WorkspaceFacts::Git::file;
  if (facts.git != WorkspaceFacts::Git::directory) return;
  for (const std::string& name : sandbox::git_protected()) {
    const auto part = fact_of(git->path + "/" + name);
    if (!part) continue;
    facts.git_present.push_back(name);
    if (part->kind == PathFact::Kind::link) facts.git_link = part->path;
  }
}

}  // namespace

std::string home_of(const std::map<std::string, std::string>& environment) {
  const auto home = environment.find("HOME");
  if (home == environment.end() || !home->second.starts_with('/')) return {};
  const Result<std::string> real = resolved(home->second);
  return real && *real != "/" ? *real : std::string();
}

std::string find_project(const std::string& workdir, const std::string& home) {
  for (stdfs::path at = workdir; at != at.root_path(); at = at.parent_path()) {
    if (!home.empty() && sandbox::is_within(home, at.string())) break;
    if (fact_of((at / ".git").string())) return at.string();
  }
  return workdir;
}

Result<WorkspaceFacts> gather_facts(const WorkspaceRequest& request,
                                    std::map<std::string, std::string> environment,
                                    std::string cache_dir) {
  WorkspaceFacts facts;
  facts.uid = ::geteuid();
  facts.gid = ::getegid();
  facts.home = home_of(environment);
  facts.cache_dir = std::move(cache_dir);
  facts.system = existing(sandbox::system_paths());
  facts.secrets = existing(sandbox::secret_paths());
  Result<std::vector<PathFact>> allowed = allowed_paths(request, facts.home);
  if (!allowed) return allowed.error();
  facts.allowed = std::move(*allowed);
  for (const std::string& name : sandbox::ca_variables()) {
    const auto value = environment.find(name);
    std::error_code failure;
    if (value != environment.end() && stdfs::is_regular_file(value->second, failure))
      facts.ca_files.push_back(value->second);
  }
  if (const auto resolver = resolved("/etc/resolv.conf")) facts.resolver = *resolver;
  look_at_git(request.project, facts);
  std::uint32_t entries_left = kEntriesMax;
  find_sockets(request.project, request.project, facts, entries_left);
  for (const PathFact& path : facts.allowed)
    find_sockets(path.target, path.path, facts, entries_left);
  facts.scope_sockets = landlock_version() >= kLandlockScopes;
  facts.environment = std::move(environment);
  return facts;
}

}  // namespace cupel::bubblewrap
