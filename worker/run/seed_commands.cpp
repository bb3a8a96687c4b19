#include "worker/run/seed_commands.hpp"

#include "common/fs/files.hpp"
#include "worker/run/reaper.hpp"
#include "worker/run/seed_files.hpp"

namespace cupel::worker {

namespace asio = boost::asio;

namespace {

constexpr std::uint64_t kSeedBytesNeeded = 3ULL << 30U;

RunRequest seed_run(const SeedLimits& limits, const SeedScratch& scratch,
                    std::vector<std::string> command) {
  RunRequest request;
  request.profile = Profile::execute;
  request.command = std::move(command);
  request.image = scratch.image;
  request.mounts.source = scratch.source();
  request.mounts.modcache = scratch.modcache;
  request.mounts.gocache = scratch.cache();
  request.limits = limits.each;
  request.limit = limits.time;
  request.check = CheckKind::build;
  return request;
}

}  // namespace

Result<void> make_seed_scratch(const SeedScratch& scratch,
                               const std::vector<std::pair<std::string, std::string>>& files) {
  const std::filesystem::path root = scratch.directory.parent_path();
  if (const auto made = fs::ensure_private_dir(root); !made) return made;
  const auto space = fs::space_of(root);
  if (space && space->bytes_free < kSeedBytesNeeded) {
    return Error{.code = Errc::disk_full,
                 .what = "no room for a seeded build cache",
                 .detail = {},
                 .hint = {}};
  }
  if (const auto made = fs::ensure_private_dir(scratch.directory); !made) return made;
  if (const auto made = make_open_dir(scratch.source()); !made) return made;
  for (const auto& [name, text] : files) {
    const std::filesystem::path file = std::filesystem::path(scratch.source()) / name;
    if (const auto written = fs::write_file_durably(file, text, 0444); !written) return written;
  }
  return {};
}

Result<void> seed_run_ended(const RunReport& report, const SeedCommand& command) {
  if (report.error) return *report.error;
  if (report.ended_by == EndedBy::itself && (report.exit_code == 0 || command.may_remark)) {
    return {};
  }
  return Error{
      .code = report.ended_by == EndedBy::cancelled ? Errc::cancelled : Errc::process_failed,
      .what = "the seed run '" + command.words.at(0) + " " + command.words.at(1) +
              "' ended with exit code " + std::to_string(report.exit_code),
      .detail = capped_detail(report.err.bytes),
      .hint = {}};
}

// `runs` outlives the call (seed_commands.hpp).
// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters)
asio::awaitable<Result<void>> run_seed_commands(RunPort& runs, SeedLimits limits,
                                                SeedScratch scratch,
                                                std::vector<SeedCommand> commands,
                                                std::shared_ptr<CancelToken> cancel) {
  for (const SeedCommand& command : commands) {
    const RunReport report =
        co_await runs.run(seed_run(limits, scratch, command.words), cancel, OutputSink());
    if (const auto ended = seed_run_ended(report, command); !ended) co_return ended;
  }
  co_return Result<void>();
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters)
asio::awaitable<void> discard_scratch(RunPort& runs, asio::thread_pool& files,
                                      SeedScratch scratch) {
  for (const std::string& directory :
       {scratch.directory.string(), left_beside(scratch.directory)}) {
    const Result<void> removed = co_await empty_directory(runs, files, scratch.image, directory);
    (void)removed;
  }
}

}  // namespace cupel::worker
