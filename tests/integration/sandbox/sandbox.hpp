/// A real engine for tests: a small image of our own, directories of our own, a fleet id of our
/// own, so that parallel tests and other people's containers are never touched.
#pragma once

#include "common/docker/client.hpp"
#include "worker/run/run_executor.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
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

class SandboxTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// An execute run of a shell script in the test image.
  [[nodiscard]] worker::RunRequest shell(const std::string& script);
  [[nodiscard]] worker::RunReport run(worker::RunRequest request,
                                      std::shared_ptr<worker::CancelToken> cancel = nullptr,
                                      worker::OutputSink sink = {});
  /// The newest toolchain image with ("1") or without ("0") a C compiler; empty when there is none.
  [[nodiscard]] std::string toolchain(const std::string& with_compiler);
  /// An execute run of a command in a toolchain image, with a campaign's default limits.
  [[nodiscard]] worker::RunRequest go(const std::string& toolchain_image,
                                      std::vector<std::string> command);
  [[nodiscard]] std::vector<docker::ContainerSummary> our_containers();
  [[nodiscard]] worker::ExecutorOptions options() const;
  void rebuild(worker::ExecutorOptions options);

  boost::asio::io_context io{1};
  boost::asio::thread_pool files{2};
  ScratchDir scratch;
  std::unique_ptr<docker::Client> engine;
  std::unique_ptr<worker::RunExecutor> executor;
  std::string image;
  worker::RunMounts mounts;
  FleetId fleet;

 private:
  std::string tag_;
};

}  // namespace cupel::test
