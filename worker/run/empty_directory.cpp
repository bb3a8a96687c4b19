#include "common/fs/files.hpp"
#include "worker/core/engine/container_spec.hpp"
#include "worker/run/offload.hpp"
#include "worker/run/reaper.hpp"

#include <boost/asio/this_coro.hpp>

#include <filesystem>
#include <string>
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

/// Opens what is ours there to the container's user, whose own files lie below. Nothing runs in it,
/// and the folder above is closed to everybody else.
void open_up(const std::string& directory) {
  (void)::chmod(directory.c_str(), 0777);
  std::error_code ec;
  std::filesystem::recursive_directory_iterator entries(
      directory, std::filesystem::directory_options::skip_permission_denied, ec);
  for (; !ec && entries != std::filesystem::recursive_directory_iterator(); entries.increment(ec)) {
    if (entries->symlink_status(ec).type() != std::filesystem::file_type::directory) continue;
    if (::chmod(entries->path().c_str(), 0777) != 0) entries.disable_recursion_pending();
  }
}

}  // namespace

asio::awaitable<Result<void>> empty_directory(RunPort& runs, asio::thread_pool& files,
                                              std::string image, std::string directory) {
  auto remove = [directory] { return fs::remove_tree(directory); };
  auto try_it = [directory, remove] {
    Result<void> removed = remove();
    if (!removed) open_up(directory);
    return removed;
  };
  const Result<void> removed = co_await offload(files, try_it);
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
