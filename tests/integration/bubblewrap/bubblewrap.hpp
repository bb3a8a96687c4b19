/// Real bubblewrap for tests: a small image of our own, directories of our own, control groups of
/// our own.
#pragma once

#include "tests/integration/sandbox/sandbox.hpp"
#include "worker/bubblewrap/bubblewrap_runs.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace cupel::test {

class BubblewrapTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// An execute run of a shell script in the test image.
  [[nodiscard]] worker::RunRequest shell(const std::string& script);
  [[nodiscard]] worker::RunReport run(worker::RunRequest request,
                                      std::shared_ptr<worker::CancelToken> cancel = nullptr,
                                      worker::OutputSink sink = {});
  [[nodiscard]] worker::BubblewrapOptions options() const;
  void rebuild(worker::BubblewrapOptions options);
  /// With other means of the host: without control groups, say.
  void rebuild(worker::BubblewrapHost host, worker::BubblewrapOptions options);
  /// Processes of this machine that belong to the sandboxes of this test.
  [[nodiscard]] std::vector<std::string> left_behind() const;

  boost::asio::io_context io{1};
  boost::asio::thread_pool files{2};
  ScratchDir scratch;
  worker::BubblewrapHost host;
  std::unique_ptr<worker::BubblewrapRuns> runs;
  std::string image;
  worker::RunMounts mounts;
  std::string mark;  ///< Stands in the command line of every run.
};

}  // namespace cupel::test
