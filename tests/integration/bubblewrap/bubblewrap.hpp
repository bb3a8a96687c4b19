/// Real bubblewrap for tests: a small image of our own, directories of our own, control groups of
/// our own.
#pragma once

#include "tests/integration/sandbox/run_lab.hpp"
#include "worker/bubblewrap/bubblewrap_runs.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace cupel::test {

class BubblewrapLab : public RunLab {
 public:
  void set_up() override;
  void tear_down() override;
  worker::RunPort& port() override { return *runs; }
  std::size_t runs_under_way() const override { return runs->live_runs().size(); }
  std::vector<std::string> left_behind() override;
  void set_mount_budget(std::optional<std::uint64_t> bytes,
                        std::optional<std::uint64_t> inodes) override;

  [[nodiscard]] worker::BubblewrapOptions options() const;
  void rebuild(worker::BubblewrapOptions options);
  /// With other means of the host: without control groups, say.
  void rebuild(worker::BubblewrapHost host, worker::BubblewrapOptions options);

  worker::BubblewrapHost host;
  std::unique_ptr<worker::BubblewrapRuns> runs;
};

class BubblewrapTest : public ::testing::Test, protected BubblewrapLab {
 protected:
  void SetUp() override { set_up(); }
  void TearDown() override { tear_down(); }
};

}  // namespace cupel::test
