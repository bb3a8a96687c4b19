/// What a test of runs needs, whatever carries them out: directories and an image of its own, a
/// shell script as a run, and a look at what was left behind.
#pragma once

#include "common/fs/growth_watch.hpp"
#include "worker/ports/run_port.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::test {

/// Runs a coroutine to its end on the context.
template <typename T>
T await(boost::asio::io_context& io, boost::asio::awaitable<T> task) {
  std::exception_ptr failure;
  std::optional<T> value;
  boost::asio::co_spawn(io, std::move(task), [&](std::exception_ptr error, T result) {
    failure = error;
    value.emplace(std::move(result));
  });
  io.restart();
  while (!value && io.run_one() > 0) {
  }
  if (failure) std::rethrow_exception(failure);
  return std::move(*value);
}

/// A directory below the build tree, removed with everything in it.
class ScratchDir {
 public:
  ScratchDir();
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// A new directory for the container's user.
  [[nodiscard]] std::string open_dir(const std::string& name) const;

 private:
  std::string path_;
};

void write_file(const std::string& path, std::string_view content);

/// busybox of this machine, and the names that the test images have of it.
inline constexpr const char* kBusyboxOfHost = "/bin/busybox";  // package busybox-static
[[nodiscard]] const std::vector<std::string>& busybox_names();

class RunLab {
 public:
  RunLab();
  RunLab(const RunLab&) = delete;
  RunLab& operator=(const RunLab&) = delete;
  virtual ~RunLab() = default;

  /// Failures of the test say what is missing.
  virtual void set_up() = 0;
  /// A failure of the test for everything that was left.
  virtual void tear_down() = 0;
  [[nodiscard]] virtual worker::RunPort& port() = 0;
  [[nodiscard]] virtual std::size_t runs_under_way() const = 0;
  /// Processes or containers of this lab's runs that are still there.
  [[nodiscard]] virtual std::vector<std::string> left_behind() = 0;
  virtual void set_mount_budget(std::optional<std::uint64_t> bytes,
                                std::optional<std::uint64_t> inodes) = 0;

  /// An execute run of a shell script in the test image.
  [[nodiscard]] worker::RunRequest shell(const std::string& script) const;
  [[nodiscard]] worker::RunReport run(worker::RunRequest request,
                                      std::shared_ptr<worker::CancelToken> cancel = nullptr,
                                      worker::OutputSink sink = {});

  boost::asio::io_context io{1};
  boost::asio::thread_pool files{2};
  ScratchDir scratch;
  std::string image;
  worker::RunMounts mounts;
  std::uint32_t pids = 64;  ///< Limit of every run.
  std::string mark;         ///< Stands in the command line of every run.
};

}  // namespace cupel::test
