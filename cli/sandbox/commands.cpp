#include "cli/sandbox/commands.hpp"

#include "common/bubblewrap/workspace_cache.hpp"
#include "common/bubblewrap/workspace_facts.hpp"
#include "common/bubblewrap/workspace_run.hpp"
#include "common/text/units.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <ostream>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace cupel::cli {
namespace {

using bubblewrap::WorkspaceEnd;
using bubblewrap::WorkspaceReport;
using bubblewrap::WorkspaceRun;
using Environment = std::map<std::string, std::string>;

/// Signals that belong to the command while it runs, as a descriptor.
class ForwardedSignals {
 public:
  ForwardedSignals() {
    sigset_t all;
    sigemptyset(&all);
    for (const int number :
         {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT}) {
      sigaddset(&all, number);
    }
    sigprocmask(SIG_BLOCK, &all, &before_);
    fd_ = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ForwardedSignals(const ForwardedSignals&) = delete;
  ForwardedSignals& operator=(const ForwardedSignals&) = delete;
  ~ForwardedSignals() {
    close(fd_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  [[nodiscard]] int fd() const { return fd_; }
  /// 0: none is left.
  [[nodiscard]] int take() const {
    signalfd_siginfo info{};
    return read(fd_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  sigset_t before_{};
  int fd_ = -1;
};

Result<void> take_variables(SandboxRequest& request) {
  for (const std::string& entry : request.variables) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) {
      request.workspace.pass.push_back(entry);
    } else {
      request.workspace.set[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
  }
  sandbox::WorkspaceQuota& quota = request.workspace.quota;
  const auto size = [](const std::string& text, std::uint64_t& into) {
    if (!text.empty()) into = text::parse_size(text).value_or(into);
  };
  size(request.cache_quota, quota.cache_bytes);
  size(request.project_quota, quota.project_bytes);
  size(request.tmp_size, quota.tmp_bytes);
  if (!request.timeout.empty())
    request.workspace.limit = text::parse_duration(request.timeout).value_or(Duration{});
  if (quota.tmp_bytes == 0)
    return Error{Errc::bad_value, "--tmp-size 0 would mean half of the memory", {}, {}};
  return {};
}

int fail(const SandboxRequest& request, const Error& error, std::ostream& err) {
  if (request.json) {
    err << nlohmann::json{{"error",
                           {{"code", error_tag(error.code)},
                            {"what", error.what},
                            {"detail", error.detail},
                            {"hint", error.hint}}}}
               .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
        << "\n";
  } else {
    err << "cupel: " << error.text() << "\n";
  }
  const bool words = error.code == Errc::usage || error.code == Errc::bad_value;
  return words ? 2 : kExitSandbox;
}

int exit_code_of(const WorkspaceReport& report) {
  switch (report.ended_by) {
    case WorkspaceEnd::command: return report.exit_code;
    case WorkspaceEnd::limit: return kExitLimit;
    case WorkspaceEnd::stopped: return 128 + SIGKILL;
    case WorkspaceEnd::quota:
    case WorkspaceEnd::no_start: break;
  }
  return kExitSandbox;
}

/// What a person has to know; the rest is in the report.
void tell(const SandboxRequest& request, const WorkspaceReport& report, std::ostream& err) {
  if (request.json) {
    err << report.json() << "\n";
    return;
  }
  for (const std::string& path : report.removed)
    err << "cupel: the command made " << path << ", which would change what git runs; removed\n";
  if (report.ended_by != WorkspaceEnd::command && !report.why.empty())
    err << "cupel: sandbox ended (" << bubblewrap::name(report.ended_by) << "): " << report.why
        << "\n";
  if (request.quiet) return;
  const bool hinted = report.ended_by == WorkspaceEnd::no_start || report.exit_code == 127;
  for (const std::string& note : report.notes) {
    if (hinted) err << "cupel: note: " << note << "\n";
  }
}

void print_preview(const SandboxRequest& request, const bubblewrap::WorkspacePreview& preview,
                   std::ostream& out) {
  if (request.json) {
    nlohmann::json all = nlohmann::json::parse(preview.report.json());
    all["bubblewrap"] = preview.arguments;
    out << all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return;
  }
  out << "project     " << preview.report.project << "\ntool caches " << preview.report.cache_dir
      << "\n\n";
  for (const sandbox::Guarantee& one : preview.report.guarantees) {
    out << one.name << std::string(18 - std::min<std::size_t>(17, one.name.size()), ' ')
        << sandbox::name(one.state)
        << std::string(14 - std::min<std::size_t>(13, sandbox::name(one.state).size()), ' ')
        << one.how << "\n";
  }
  for (const std::string& note : preview.report.notes) out << "note: " << note << "\n";
}

int run(const SandboxRequest& request, Environment environment, std::ostream& out,
        std::ostream& err) {
  if (request.dry_run) {
    const auto preview = bubblewrap::preview_workspace(request.workspace, std::move(environment));
    if (!preview) return fail(request, preview.error(), err);
    print_preview(request, *preview, out);
    return 0;
  }
  const ForwardedSignals signals;
  auto started = WorkspaceRun::start(request.workspace, std::move(environment), {});
  if (!started) return fail(request, started.error(), err);
  for (bool ended = false; !ended;) {
    std::array<pollfd, 2> fds = {pollfd{started->fd(), POLLIN, 0}, pollfd{signals.fd(), POLLIN, 0}};
    (void)poll(fds.data(), fds.size(), static_cast<int>(WorkspaceRun::kTick.count()));
    for (int number = signals.take(); number != 0; number = signals.take()) started->signal(number);
    started->tick();
    ended = (fds[0].revents & POLLIN) != 0;
  }
  const WorkspaceReport report = started->finish();
  if (!request.report_file.empty()) {
    const auto written = fs::write_file_durably(request.report_file, report.json() + "\n", 0600);
    if (!written) return fail(request, written.error(), err);
  }
  tell(request, report, err);
  return exit_code_of(report);
}

bool is_meant(const SandboxRequest& request, const bubblewrap::CacheEntry& entry,
              const std::string& project) {
  if (request.all) return true;
  if (request.unused_for.empty()) return entry.project == project;
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const auto age = std::chrono::duration_cast<std::chrono::microseconds>(
      text::parse_duration(request.unused_for).value_or(Duration{}));
  return entry.used.us + age.count() <= now.count();
}

int clean(const SandboxRequest& request, const Environment& environment, std::ostream& out,
          std::ostream& err) {
  const auto root = bubblewrap::cache_root(environment);
  if (!root) return fail(request, root.error(), err);
  std::error_code failure;
  const std::string here = std::filesystem::current_path(failure).string();
  std::string project = request.workspace.project;
  if (project.empty()) project = bubblewrap::find_project(here, bubblewrap::home_of(environment));
  // A project that is gone is named as it was.
  if (const auto real = bubblewrap::resolved(project)) project = *real;
  std::vector<bubblewrap::CacheEntry> meant;
  for (bubblewrap::CacheEntry& entry : bubblewrap::list_caches(*root)) {
    if (is_meant(request, entry, project)) meant.push_back(std::move(entry));
  }
  const auto counts = bubblewrap::clean_caches(meant);
  if (!counts) return fail(request, counts.error(), err);
  if (request.json) {
    nlohmann::json removed = nlohmann::json::array();
    nlohmann::json in_use = nlohmann::json::array();
    for (const auto& entry : counts->removed) removed.push_back(entry.project);
    for (const auto& entry : counts->in_use) in_use.push_back(entry.project);
    out << nlohmann::json{{"removed", removed},
                          {"in_use", in_use},
                          {"bytes", counts->freed.bytes},
                          {"files", counts->freed.inodes}}
               .dump(1, ' ', false, nlohmann::json::error_handler_t::replace)
        << "\n";
  } else {
    for (const auto& entry : counts->in_use)
      err << "cupel: in use, kept: " << entry.project << "\n";
    out << "removed the caches of " << counts->removed.size() << " projects, "
        << text::format_size(counts->freed.bytes) << " in " << counts->freed.inodes << " files\n";
  }
  return counts->in_use.empty() ? 0 : 1;
}

}  // namespace

int run_sandbox_command(SandboxRequest request, Environment environment, std::ostream& out,
                        std::ostream& err) {
  if (const auto taken = take_variables(request); !taken) return fail(request, taken.error(), err);
  return request.verb == SandboxRequest::Verb::clean
             ? clean(request, environment, out, err)
             : run(request, std::move(environment), out, err);
}

}  // namespace cupel::cli
