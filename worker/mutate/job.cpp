#include "worker/mutate/job.hpp"

#include "common/fs/beneath.hpp"
#include "worker/core/source/go_words.hpp"
#include "worker/run/offload.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cupel::worker::mutation {
namespace {

namespace asio = boost::asio;

Result<std::optional<std::string>> read_beneath(const fs::Fd& dir, const std::string& path) {
  const auto file = fs::open_beneath(dir, path, O_RDONLY | O_NONBLOCK);
  if (!file) {
    if (file.error().code == Errc::not_found) return std::optional<std::string>{};
    return file.error();
  }
  auto bytes = fs::read_all(*file, kManifestBytesMax, path);
  if (!bytes) return bytes.error();
  return std::optional(*std::move(bytes));
}

/// The file may belong to the container's user: it is replaced, not rewritten.
Result<void> replace_file(const fs::Fd& dir, const std::string& path,
                          const std::optional<std::string>& bytes) {
  if (::unlinkat(dir.get(), path.c_str(), 0) != 0 && errno != ENOENT) {
    return Error{Errc::io_error, "remove " + path, std::strerror(errno), {}};
  }
  if (!bytes) return {};
  const auto file = fs::open_beneath(dir, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!file) return file.error();
  if (::fchmod(file->get(), 0666) != 0) {
    return Error{Errc::io_error, "chmod " + path, std::strerror(errno), {}};
  }
  return fs::write_all(*file, *bytes, path);
}

std::string staged_name(const Job& job, const std::string& committed, const char* name) {
  return job.in_tree ? committed : std::string(name);
}

}  // namespace

asio::awaitable<Ran> go(JobPtr job, std::vector<std::string> verb, std::vector<std::string> rest,
                        std::shared_ptr<CancelToken> cancel) {
  GoCommand command;
  command.profile = Profile::mutate;
  const std::string& dir = job->work.unit.dir;
  if (job->in_tree) {
    // Go refuses -modfile in a workspace, and vendoring writes beside the real go.mod.
    command.arguments = {"-C", dir == "." ? "/staging" : "/staging/" + dir};
    command.workspace = job->work.unit.workspace;
  } else {
    command.workdir = dir;
  }
  command.arguments.insert(command.arguments.end(), verb.begin(), verb.end());
  if (!job->in_tree) command.arguments.emplace_back("-modfile=/staging/go.mod");
  command.arguments.insert(command.arguments.end(), rest.begin(), rest.end());
  co_return co_await run_go(job->context, job->mounts, std::move(command), std::move(cancel),
                            &job->log);
}

Result<Staged> read_staged(const Job& job) {
  const auto dir = fs::open_dir(job.mounts.staging);
  if (!dir) return dir.error();
  auto mod = read_beneath(*dir, staged_name(job, job.manifests.mod_path, "go.mod"));
  if (!mod) return mod.error();
  if (!*mod) return Error{Errc::io_error, "the staged go.mod is gone", {}, {}};
  auto sum = read_beneath(*dir, staged_name(job, job.manifests.sum_path, "go.sum"));
  if (!sum) return sum.error();
  return Staged{**std::move(mod), *std::move(sum)};
}

Result<void> write_staged(const Job& job, const Staged& staged) {
  const auto dir = fs::open_dir(job.mounts.staging);
  if (!dir) return dir.error();
  auto written = replace_file(*dir, staged_name(job, job.manifests.mod_path, "go.mod"), staged.mod);
  if (!written) return written;
  return replace_file(*dir, staged_name(job, job.manifests.sum_path, "go.sum"), staged.sum);
}

asio::awaitable<Stopped> edit_go_mod(JobPtr job,
                                     std::function<std::string(const std::string&)> edit) {
  asio::thread_pool& files = job->context.files;
  auto work = [job, edit]() -> Stopped {
    auto staged = read_staged(*job);
    if (!staged) return stopped_by(staged.error());
    staged->mod = edit(staged->mod);
    if (auto written = write_staged(*job, *staged); !written) return stopped_by(written.error());
    return std::nullopt;
  };
  co_return co_await offload(files, std::move(work));
}

asio::awaitable<Stopped> list_modules(JobPtr job, change::BuildList* list,
                                      std::shared_ptr<CancelToken> cancel) {
  auto ran = co_await go(job, {"list", "-m"}, {"-json", "all"}, std::move(cancel));
  if (auto* stopped = std::get_if<AcquireStopped>(&ran)) co_return std::move(*stopped);
  const auto& ended = std::get<GoEnded>(ran);
  if (ended.exit_code != 0) co_return stopped_by(judge_go_failure(ended.err, {}));
  if (ended.truncated) {
    co_return refused(Reason::output_truncated, FindingKind::acquire_error,
                      "output_truncated: the list of modules is longer than the limit");
  }
  const auto modules = change::parse_module_list(ended.out);
  if (!modules) {
    co_return refused(Reason::parse_failed, FindingKind::acquire_error,
                      "parse_failed: " + modules.error().what);
  }
  *list = change::build_list(*modules);
  co_return std::nullopt;
}

Stopped prepare(const JobPtr& job) {
  Job& j = *job;
  auto mounts = make_mounts(j.context.workspaces, j.base);
  if (!mounts) return stopped_by(mounts.error());
  j.mounts = *std::move(mounts);
  UnitInfo module = j.work.unit;
  module.workspace.clear();  // the unit's own go.mod, also where a go.work lists it
  if (j.in_tree) {
    if (auto staged = stage_tree(j.base, j.mounts.staging); !staged) {
      return stopped_by(staged.error());
    }
    const std::string prefix = module.dir == "." ? "" : module.dir + '/';
    j.manifests.mod_path = prefix + "go.mod";
    j.manifests.sum_path = prefix + "go.sum";
    auto staged = read_staged(j);
    if (!staged) return stopped_by(staged.error());
    j.manifests.mod = staged->mod;
    j.manifests.sum = staged->sum;
    // As acquire does: else the go command writes a line of its own version.
    if (!parse_go_mod(staged->mod).go_version) {
      staged->mod = with_go_line(staged->mod, change::kImpliedGoVersion);
      if (auto written = write_staged(j, *staged); !written) {
        return stopped_by(written.error());
      }
    }
  } else {
    auto manifests = stage_manifests(j.source.snapshot, module, j.mounts.staging);
    if (!manifests) return stopped_by(manifests.error());
    j.manifests = *std::move(manifests);
  }
  if (j.manifests.sum) {
    if (const auto fault = check_go_sum(*j.manifests.sum)) {
      return stopped_by(refusal(
          Reason::bad_go_sum, FindingKind::manifest_error,
          j.manifests.sum_path + ':' + std::to_string(fault->place.line) + ": " + fault->text,
          j.manifests.sum_path, fault->place.line));
    }
  }
  j.applied.before.mod = parse_go_mod(j.manifests.mod);
  j.applied.before.sum = j.manifests.sum.value_or("");
  return std::nullopt;
}

asio::awaitable<std::variant<Staged, AcquireStopped>> staged_now(JobPtr job) {
  asio::thread_pool& files = job->context.files;
  auto work = [job]() -> std::variant<Staged, AcquireStopped> {
    auto staged = read_staged(*job);
    if (!staged) return stopped_by(staged.error());
    return *std::move(staged);
  };
  co_return co_await offload(files, std::move(work));
}

asio::awaitable<Stopped> put_back(JobPtr job, Staged staged) {
  asio::thread_pool& files = job->context.files;
  auto work = [job, staged]() -> Stopped {
    auto written = write_staged(*job, staged);
    if (!written) return stopped_by(written.error());
    return std::nullopt;
  };
  co_return co_await offload(files, std::move(work));
}

AcquireStopped refused(Reason reason, FindingKind kind, std::string message) {
  return stopped_by(refusal(reason, kind, std::move(message)));
}

}  // namespace cupel::worker::mutation
