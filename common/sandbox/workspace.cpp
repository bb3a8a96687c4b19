#include "common/sandbox/workspace.hpp"

#include <algorithm>
#include <array>

namespace cupel::sandbox {

namespace {

using Kind = Mount::Kind;
using State = Guarantee::State;

constexpr std::uint64_t kRunBytes = 16ULL << 20U;
constexpr std::uint64_t kHomeBytes = 256ULL << 20U;
constexpr std::uint64_t kSharedMemoryBytes = 256ULL << 20U;
constexpr unsigned kSticky = 01777;

Error refuse(std::string what, std::string hint = {}) {
  return {Errc::refused_by_policy, std::move(what), {}, std::move(hint)};
}

Result<void> check_project(const WorkspaceRequest& request, const WorkspaceFacts& facts) {
  if (!is_clean_path(request.project))
    return refuse("'" + request.project + "' can't be a project");
  if (!is_within(request.workdir, request.project))
    return refuse("the working directory " + request.workdir + " is not in the project");
  if (!facts.home.empty() && is_within(facts.home, request.project)) {
    return refuse("the project " + request.project + " holds the home " + facts.home,
                  "name a folder below it with --project");
  }
  if (!facts.git_link.empty()) {
    return refuse(
        facts.git_link + " is a link, and what it leads to can't be kept from the command",
        "put the folder or file itself in its place");
  }
  for (const PathFact& part : facts.system) {
    if (is_within(part.path, request.project))
      return refuse("the project " + request.project + " holds " + part.path);
  }
  // Writable parts of the system: what root installs there, others run.
  for (const char* part : {"/etc", "/bin", "/sbin", "/lib", "/boot", "/proc", "/sys", "/dev"}) {
    if (is_within(request.project, part))
      return refuse("a project can't be in " + std::string(part));
  }
  if (is_within(facts.cache_dir, request.project) || is_within(request.project, facts.cache_dir)) {
    return refuse("the tool caches " + facts.cache_dir + " and the project overlap",
                  "set XDG_CACHE_HOME to a folder outside of the project");
  }
  return {};
}

Result<void> check_request(const WorkspaceRequest& request) {
  if (request.command.empty() || request.command.front().empty())
    return Error{Errc::usage, "no command is given", {}, "cupel sandbox -- COMMAND..."};
  // A zero byte would end the argument list of bubblewrap in the middle.
  for (const std::string& word : request.command) {
    if (word.find('\0') != std::string::npos)
      return Error{Errc::bad_value, "a zero byte in the command", {}, {}};
  }
  for (const std::string& name : request.allow_home) {
    if (!is_clean_path("/" + name))
      return Error{Errc::bad_value,
                   "'" + name + "' is no name below the home",
                   {},
                   "a path without '..', such as .gitconfig"};
  }
  for (const std::string& path : request.read) {
    if (!is_clean_path(path))
      return Error{Errc::bad_value, "'" + path + "' is no absolute path", {}, {}};
  }
  return {};
}

void add_system(std::vector<Mount>& mounts, const WorkspaceFacts& facts) {
  for (const PathFact& part : facts.system) {
    if (part.kind == PathFact::Kind::link) {
      mounts.push_back({.kind = Kind::symlink, .target = part.path, .source = part.target});
    } else {
      mounts.push_back({.kind = Kind::ro_bind, .target = part.path, .source = part.path});
    }
  }
  for (const PathFact& secret : facts.secrets) {
    if (secret.kind == PathFact::Kind::directory) {
      mounts.push_back({.kind = Kind::tmpfs, .target = secret.path, .size_bytes = 4096});
      mounts.push_back({.kind = Kind::remount_ro, .target = secret.path});
    } else if (secret.kind == PathFact::Kind::file) {
      mounts.push_back({.kind = Kind::ro_bind, .target = secret.path, .source = "/dev/null"});
    }
  }
}

void add_private(std::vector<Mount>& mounts, const WorkspaceRequest& request,
                 const WorkspaceFacts& facts) {
  mounts.push_back({.kind = Kind::proc, .target = "/proc"});
  mounts.push_back({.kind = Kind::dev, .target = "/dev"});
  mounts.push_back({.kind = Kind::tmpfs,
                    .target = "/dev/shm",
                    .size_bytes = kSharedMemoryBytes,
                    .mode = kSticky});
  mounts.push_back({.kind = Kind::remount_ro, .target = "/dev"});
  mounts.push_back({.kind = Kind::tmpfs,
                    .target = "/tmp",
                    .size_bytes = request.quota.tmp_bytes,
                    .mode = kSticky});
  mounts.push_back({.kind = Kind::tmpfs,
                    .target = "/var/tmp",
                    .size_bytes = request.quota.tmp_bytes,
                    .mode = kSticky});
  mounts.push_back({.kind = Kind::tmpfs, .target = "/run", .size_bytes = kRunBytes});
  mounts.push_back({.kind = Kind::symlink, .target = "/var/run", .source = "../run"});
  if (!facts.home.empty()) {
    mounts.push_back(
        {.kind = Kind::tmpfs, .target = facts.home, .size_bytes = kHomeBytes, .mode = 0700});
  }
}

bool already_visible(const std::string& path, const WorkspaceFacts& facts) {
  return std::ranges::any_of(facts.system, [&path](const PathFact& part) {
    return part.kind != PathFact::Kind::link && is_within(path, part.path);
  });
}

void add_readable(std::vector<Mount>& mounts, const WorkspaceRequest& request,
                  const WorkspaceFacts& facts) {
  for (const PathFact& allowed : facts.allowed) {
    mounts.push_back({.kind = Kind::ro_bind, .target = allowed.path, .source = allowed.target});
  }
  std::vector<std::string> files = facts.ca_files;
  if (request.network && !facts.resolver.empty()) files.push_back(facts.resolver);
  for (const std::string& file : files) {
    if (!already_visible(file, facts) && is_clean_path(file))
      mounts.push_back({.kind = Kind::ro_bind, .target = file, .source = file});
  }
}

/// .git is a mount of its own, since a folder that only holds mounts can be renamed away under
/// them.
void add_git(WorkspacePlan& plan, const WorkspaceRequest& request, const WorkspaceFacts& facts) {
  const std::string git = request.project + "/.git";
  if (facts.git == WorkspaceFacts::Git::none) return;
  if (facts.git == WorkspaceFacts::Git::file) {
    plan.jail.mounts.push_back({.kind = Kind::ro_bind, .target = git, .source = git});
    plan.notes.push_back(".git is a file: the repository that it names is hidden");
    return;
  }
  plan.jail.mounts.push_back({.kind = Kind::bind, .target = git, .source = git});
  for (const std::string& name : git_protected()) {
    const std::string path = git + "/" + name;
    if (std::ranges::find(facts.git_present, name) == facts.git_present.end())
      plan.placeholders.push_back({.path = path, .directory = name == "hooks"});
    plan.jail.mounts.push_back({.kind = Kind::ro_bind, .target = path, .source = path});
  }
  // Its content would send git to another configuration; as an empty file it would break git.
  plan.must_not_appear.push_back(git + "/commondir");
}

void add_guarantees(WorkspacePlan& plan, const WorkspaceRequest& request,
                    const WorkspaceFacts& facts) {
  const auto say = [&plan](std::string_view name, State state, std::string how) {
    plan.guarantees.push_back({std::string(name), state, std::move(how)});
  };
  say("files", State::enforced,
      "writable: the project and its tool caches; read-only: the system and what was named; the "
      "rest "
      "is not there");
  say("home", request.allow_home.empty() ? State::enforced : State::allowed,
      request.allow_home.empty() ? "empty and private" : "private, with what was named, read-only");
  say("git", State::enforced,
      facts.git == WorkspaceFacts::Git::none
          ? "the project has no .git"
          : "configuration and hooks are read-only; .git can't be moved away");
  say("network", request.network ? State::allowed : State::enforced,
      request.network ? "the host's, with the services that listen on it"
                      : "a namespace of its own, with nothing but its loopback");
  if (!request.network) {
    say("abstract_sockets", State::enforced, "a network namespace of its own");
  } else if (facts.scope_sockets) {
    say("abstract_sockets", State::enforced, "Landlock scope");
  } else {
    say("abstract_sockets", State::not_enforced,
        "the network is the host's, and this kernel has no Landlock scope for them");
  }
  say("host_sockets", facts.sockets_complete ? State::enforced : State::not_enforced,
      facts.sockets_complete
          ? "private /run and /tmp; " + std::to_string(facts.sockets.size()) +
                " sockets below the visible folders are covered"
          : "private /run and /tmp; the visible folders hold too many files to look for sockets");
  say("environment", State::enforced, "an allow-list, and what was asked for by name");
  say("terminal", State::enforced, "a session of its own, and a filter of TIOCSTI and TIOCLINUX");
  say("system_calls", State::enforced, "an allow-list (seccomp); no namespaces, keys or BPF");
  say("privileges", State::enforced,
      "no capabilities, no new privileges, a user namespace with one uid");
  say("processes_seen", State::enforced, "a process namespace of its own; all of it ends together");
  say("disk", State::enforced,
      "a watcher, four looks a second: what grows beyond the quota within that time is not undone");
  say("memory", State::not_enforced, "no limit is set; temporary files in memory have theirs");
}

void note_hidden_programs(WorkspacePlan& plan, const WorkspaceFacts& facts) {
  const std::string path = plan.jail.environment["PATH"];
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string directory = path.substr(at, end - at);
    at = end + 1;
    const bool in_home = !facts.home.empty() && is_within(directory, facts.home);
    const bool visible = std::ranges::any_of(plan.jail.mounts, [&directory](const Mount& mount) {
      return (mount.kind == Kind::ro_bind || mount.kind == Kind::bind) &&
             is_within(directory, mount.target);
    });
    if (in_home && !visible && directory.size() > facts.home.size()) {
      plan.notes.push_back("programs in " + directory + " are hidden; --allow-home " +
                           directory.substr(facts.home.size() + 1) + " shows them");
    }
  }
}

}  // namespace

std::string_view name(Guarantee::State state) {
  static constexpr std::array<std::string_view, 3> kNames = {"enforced", "not_enforced", "allowed"};
  return kNames.at(static_cast<std::size_t>(state));
}

const std::vector<std::string>& system_paths() {
  static const std::vector<std::string> kPaths = {"/usr",   "/bin",    "/sbin", "/lib", "/lib32",
                                                  "/lib64", "/libx32", "/etc",  "/opt", "/nix"};
  return kPaths;
}

const std::vector<std::string>& secret_paths() {
  static const std::vector<std::string> kPaths = {
      "/etc/shadow",      "/etc/shadow-",    "/etc/gshadow",   "/etc/gshadow-",
      "/etc/sudoers",     "/etc/sudoers.d",  "/etc/ssh",       "/etc/ssl/private",
      "/etc/krb5.keytab", "/etc/docker",     "/etc/wireguard", "/etc/NetworkManager",
      "/etc/letsencrypt", "/etc/kubernetes", "/etc/rancher",   "/etc/netrc"};
  return kPaths;
}

const std::vector<std::string>& git_protected() {
  static const std::vector<std::string> kNames = {"config", "config.worktree", "hooks"};
  return kNames;
}

Result<WorkspacePlan> plan_workspace(const WorkspaceRequest& request, const WorkspaceFacts& facts) {
  if (const Result<void> checked = check_request(request); !checked) return checked.error();
  if (const Result<void> checked = check_project(request, facts); !checked) return checked.error();
  WorkspacePlan plan;
  Result<std::map<std::string, std::string>> environment =
      workspace_environment(request, facts, plan.notes);
  if (!environment) return environment.error();

  Jail& jail = plan.jail;
  jail.environment = std::move(*environment);
  jail.command = request.command;
  jail.workdir = request.workdir;
  jail.share_network = request.network;
  jail.uid = facts.uid;
  jail.gid = facts.gid;
  add_private(jail.mounts, request, facts);
  add_system(jail.mounts, facts);
  add_readable(jail.mounts, request, facts);
  jail.mounts.push_back({.kind = Kind::bind, .target = facts.cache_dir, .source = facts.cache_dir});
  jail.mounts.push_back({.kind = Kind::bind, .target = request.project, .source = request.project});
  add_git(plan, request, facts);
  for (const std::string& socket : facts.sockets)
    jail.mounts.push_back({.kind = Kind::ro_bind, .target = socket, .source = "/dev/null"});
  jail.mounts.push_back({.kind = Kind::remount_ro, .target = "/"});

  plan.filters = {&workspace_filter(), &terminal_filter()};
  plan.scope_sockets = request.network && facts.scope_sockets;
  plan.cache_dirs = cache_directories(facts.cache_dir);
  add_guarantees(plan, request, facts);
  note_hidden_programs(plan, facts);
  return plan;
}

}  // namespace cupel::sandbox
