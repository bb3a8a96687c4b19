#include "common/sandbox/jail.hpp"

#include <array>
#include <cstdio>

namespace cupel::sandbox {

namespace {

using Arguments = std::vector<std::string>;

std::string octal(unsigned mode) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04o", mode);
  return text.data();
}

void add(Arguments& all, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) all.emplace_back(word);
}

void add_mount(Arguments& all, const Mount& mount) {
  // Options of the step that follows them.
  if (mount.mode != 0) add(all, {"--perms", octal(mount.mode)});
  if (mount.kind == Mount::Kind::tmpfs && mount.size_bytes != 0)
    add(all, {"--size", std::to_string(mount.size_bytes)});
  switch (mount.kind) {
    case Mount::Kind::ro_bind: return add(all, {"--ro-bind", mount.source, mount.target});
    case Mount::Kind::bind: return add(all, {"--bind", mount.source, mount.target});
    case Mount::Kind::tmpfs: return add(all, {"--tmpfs", mount.target});
    case Mount::Kind::proc: return add(all, {"--proc", mount.target});
    case Mount::Kind::dev: return add(all, {"--dev", mount.target});
    case Mount::Kind::dir: return add(all, {"--dir", mount.target});
    case Mount::Kind::symlink: return add(all, {"--symlink", mount.source, mount.target});
    case Mount::Kind::remount_ro: return add(all, {"--remount-ro", mount.target});
  }
}

}  // namespace

std::vector<std::string> bwrap_arguments(const Jail& jail, const JailFds& fds) {
  Arguments all;
  if (jail.user_namespace) {
    add(all,
        {"--unshare-user", "--uid", std::to_string(jail.uid), "--gid", std::to_string(jail.gid)});
  }
  add(all, {"--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"});
  if (!jail.share_network) add(all, {"--unshare-net"});
  add(all,
      {"--hostname", jail.hostname, "--new-session", "--die-with-parent", "--cap-drop", "ALL"});
  for (const std::string& capability : jail.capabilities) add(all, {"--cap-add", capability});
  if (jail.command_is_pid_1) add(all, {"--as-pid-1"});
  for (const Mount& mount : jail.mounts) add_mount(all, mount);
  add(all, {"--chdir", jail.workdir, "--clearenv"});
  for (const auto& [name, value] : jail.environment) add(all, {"--setenv", name, value});
  if (fds.status >= 0) add(all, {"--json-status-fd", std::to_string(fds.status)});
  for (const int filter : fds.seccomp) add(all, {"--add-seccomp-fd", std::to_string(filter)});
  return all;
}

std::string joined_arguments(const std::vector<std::string>& arguments) {
  std::string all;
  for (const std::string& argument : arguments) {
    all += argument;
    all.push_back('\0');
  }
  return all;
}

bool is_within(std::string_view path, std::string_view ancestor) {
  if (ancestor == "/") return true;
  return path.starts_with(ancestor) &&
         (path.size() == ancestor.size() || path[ancestor.size()] == '/');
}

bool is_clean_path(std::string_view path) {
  if (path.size() < 2 || path.front() != '/' || path.back() == '/') return false;
  if (path.find("//") != std::string_view::npos || path.find('\n') != std::string_view::npos ||
      path.find('\0') != std::string_view::npos) {
    return false;
  }
  const std::string closed = std::string(path) + "/";
  return closed.find("/../") == std::string::npos && closed.find("/./") == std::string::npos;
}

}  // namespace cupel::sandbox
