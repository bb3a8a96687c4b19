/// A real engine for tests: a small image of our own, directories of our own, a fleet id of our
/// own, so that parallel tests and other people's containers are never touched.
#pragma once

#include "common/docker/client.hpp"
#include "tests/integration/sandbox/run_lab.hpp"
#include "worker/run/run_executor.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cupel::test {

class SandboxLab : public RunLab {
 public:
  struct Engine {
    std::string socket = {};           ///< Empty: the one of this machine.
    std::string execute_runtime = {};  ///< Empty: the engine's own choice.
  };
  SandboxLab() = default;
  explicit SandboxLab(Engine engine) : wanted_(std::move(engine)) {}

  void set_up() override;
  void tear_down() override;
  worker::RunPort& port() override { return *executor; }
  std::size_t runs_under_way() const override { return executor->live_runs().size(); }
  std::vector<std::string> left_behind() override;
  void set_mount_budget(std::optional<std::uint64_t> bytes,
                        std::optional<std::uint64_t> inodes) override;

  /// The newest toolchain image with ("1") or without ("0") a C compiler; empty when there is none.
  [[nodiscard]] std::string toolchain(const std::string& with_compiler);
  /// An execute run of a command in a toolchain image, with a campaign's default limits.
  [[nodiscard]] worker::RunRequest go(const std::string& toolchain_image,
                                      std::vector<std::string> command);
  [[nodiscard]] std::vector<docker::ContainerSummary> our_containers();
  [[nodiscard]] worker::ExecutorOptions options() const;
  void rebuild(worker::ExecutorOptions options);

  std::unique_ptr<docker::Client> engine;
  std::unique_ptr<worker::RunExecutor> executor;
  FleetId fleet;

 private:
  Engine wanted_;
  engine::Quirks quirks_;
  std::uint32_t engine_cpus_ = 0;
  std::string tag_;
};

class SandboxTest : public ::testing::Test, protected SandboxLab {
 protected:
  SandboxTest() = default;
  explicit SandboxTest(Engine wanted) : SandboxLab(std::move(wanted)) {}
  void SetUp() override { set_up(); }
  void TearDown() override { tear_down(); }
};

}  // namespace cupel::test
