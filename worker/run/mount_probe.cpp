#include "worker/run/mount_probe.hpp"

#include "common/fs/files.hpp"
#include "worker/core/engine/container_spec.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sys/stat.h>

namespace cupel::worker {

namespace asio = boost::asio;

namespace {

constexpr Duration kProbeLimit = std::chrono::seconds(30);
/// The roles of the execute profile: as many directories fit into one container.
constexpr std::string RunMounts::* kRoles[] = {&RunMounts::source, &RunMounts::gocache,
                                               &RunMounts::modcache, &RunMounts::tools,
                                               &RunMounts::vulndb};

/// A fresh directory with one uniquely named file; removed by the destructor.
class ProbeDir {
 public:
  static Result<std::unique_ptr<ProbeDir>> make(const std::string& root) {
    auto dir = std::make_unique<ProbeDir>();
    // A name that no engine has looked up before: a lookup of a missing path may be cached.
    dir->path_ = root + "/.cupel-probe-" + fs::random_hex(8);
    const bool made =
        ::mkdir(dir->path_.c_str(), 0777) == 0 && ::chmod(dir->path_.c_str(), 0777) == 0;
    if (!made || !(std::ofstream(dir->path_ + "/seen-" + fs::random_hex(8)) << "cupel\n")) {
      return Error{.code = Errc::io_error,
                   .what = "can't write the probe's marker in " + root,
                   .detail = std::strerror(errno),
                   .hint = {}};
    }
    return dir;
  }
  ProbeDir() = default;
  ProbeDir(const ProbeDir&) = delete;
  ProbeDir& operator=(const ProbeDir&) = delete;
  ~ProbeDir() {
    const Result<void> ignored = fs::remove_tree(path_);
    (void)ignored;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Error not_shared(const std::string& where, const ProbeRequest& request, const Error& cause) {
  return {.code = Errc::mount_probe_failed,
          .what = "a container of the engine at " + request.socket_path +
                  " does not see this host's directory " + where,
          .detail = cause.what + (cause.detail.empty() ? "" : ": " + cause.detail),
          .hint = {}};
}

Error not_its_own(const std::string& where, const ProbeRequest& request, std::string_view said) {
  return {.code = Errc::mount_probe_failed,
          .what = "in a container of the engine at " + request.socket_path +
                  " a run can't use files that it makes itself in this host's directory " + where,
          .detail = capped_detail(said),
          .hint = "share the directory with the engine in a way that keeps the owners of files"};
}

/// Which host directory an error is about; all of them when it names none.
std::string directory_of(const Error& error, const RunMounts& mounts) {
  static constexpr std::string_view kPaths[] = {"/src", "/gocache", "/modcache", "/tools",
                                                "/vulndb"};
  for (std::size_t i = 0; i < std::size(kRoles); ++i) {
    const std::string& host = mounts.*kRoles[i];
    if (host.empty()) continue;
    const bool by_host = error.detail.find(host) != std::string::npos;
    const bool by_path = error.what.find(" " + std::string(kPaths[i])) != std::string::npos;
    if (by_host || by_path) return host;
  }
  std::string all;
  for (const auto role : kRoles) {
    if (!(mounts.*role).empty()) all += (all.empty() ? "" : ", ") + mounts.*role;
  }
  return all;
}

bool is_about_mounts(const Error& error) {
  return error.code == Errc::mount_probe_failed ||
         error.detail.find("bind source path does not exist") != std::string::npos ||
         error.detail.find("statfs") != std::string::npos ||
         error.detail.find("mounting") != std::string::npos;
}

}  // namespace

asio::awaitable<Result<void>> probe_mounts(RunPort& runs, ProbeRequest request) {
  std::size_t next = 0;
  while (next < request.roots.size()) {
    std::vector<std::unique_ptr<ProbeDir>> dirs;
    RunRequest run;
    for (const auto role : kRoles) {
      // The profile needs its first two roles: a last single root takes both.
      const bool spare = next >= request.roots.size();
      if (spare && dirs.size() >= 2) break;
      auto dir = ProbeDir::make(spare ? request.roots.back() : request.roots[next]);
      if (!dir) co_return dir.error();
      run.mounts.*role = (*dir)->path();
      dirs.push_back(std::move(*dir));
      if (!spare) ++next;
    }
    const RunMounts mounts = run.mounts;
    run.profile = Profile::execute;
    run.token = request.token;
    run.image = request.image;
    run.command = {std::string(kWrapperPath), "--own-files", "/gocache"};
    run.limit = kProbeLimit;
    run.check = CheckKind::custom;
    const RunReport report = co_await runs.run(std::move(run), nullptr, OutputSink());
    if (report.error && is_about_mounts(*report.error)) {
      co_return not_shared(directory_of(*report.error, mounts), request, *report.error);
    }
    if (report.error) co_return *report.error;
    if (report.end_marker && report.exit_code == 1) {
      co_return not_its_own(mounts.gocache, request, report.err.bytes);
    }
    if (!report.end_marker || report.exit_code != 0) {
      co_return not_shared(
          directory_of(Error{}, mounts), request,
          Error{.code = Errc::bug,
                .what = "the probe ended with exit code " + std::to_string(report.exit_code),
                .detail = capped_detail(report.err.bytes),
                .hint = {}});
    }
  }
  co_return Result<void>();
}

}  // namespace cupel::worker
