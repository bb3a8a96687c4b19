#include "common/fs/files.hpp"
#include "worker/core/engine/container_spec.hpp"
#include "worker/run/offload.hpp"
#include "worker/run/reaper.hpp"

#include <boost/asio/this_coro.hpp>

#include <filesystem>
#include <sys/stat.h>

namespace cupel::worker {

namespace asio = boost::asio;

namespace {

constexpr Duration kEmptyLimit = std::chrono::minutes(2);

/// The container that empties it: the wrapper does it, so any image will do.
RunRequest emptying_run(const std::string& image, const std::string& directory,
                        const std::string& source) {
  RunRequest request;
  request.profile = Profile::execute;
  request.command = {std::string(kWrapperPath), "--empty", "/gocache"};
  request.image = image;
  request.mounts.source = source;
  request.mounts.gocache = directory;
  request.limit = kEmptyLimit;
  request.check = CheckKind::custom;
  return request;
}

}  // namespace

asio::awaitable<Result<void>> empty_directory(RunPort& runs, asio::thread_pool& files,
                                              std::string image, std::string directory) {
  auto remove = [directory] { return fs::remove_tree(directory); };
  const Result<void> removed = co_await offload(files, remove);
  if (removed) co_return removed;
  // Without root, what the container's user made read-only is the container's user's to remove.
  const std::string source = directory + ".empty-" + fs::random_hex(4);
  if (::mkdir(source.c_str(), 0755) != 0) co_return removed;
  const RunReport report =
      co_await runs.run(emptying_run(image, directory, source), nullptr, OutputSink());
  std::error_code ignored;
  std::filesystem::remove(source, ignored);
  if (report.error) co_return *report.error;
  co_return co_await offload(files, std::move(remove));
}

}  // namespace cupel::worker
