/// The same promises, asked of every engine that can carry out runs. What one of them can't keep
/// stands in a table (engine_test.cpp), and is asserted to be so.
#pragma once

#include "tests/integration/sandbox/run_lab.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cupel::test {

enum class EngineKind : std::uint8_t {
  docker,      ///< This machine's engine.
  bubblewrap,  ///< No engine.
  podman,      ///< Podman's service.
  runsc,       ///< A Docker Engine whose execute runs are gVisor's.
};
[[nodiscard]] std::string_view name(EngineKind kind);

/// What not every engine can promise.
enum class Promise : std::uint8_t {
  memory_limit,       ///< What takes more memory is killed.
  memory_counted,     ///< And counted, also where only a child was.
  pids_counted,       ///< That processes met their limit is seen.
  own_network,        ///< A run with a network has one of its own.
  outlives_limits,    ///< The wrapper sees how the command met its limit of memory or processes.
  out_of_reach,       ///< The command can't end the wrapper.
  out_of_sight,       ///< Nor see its variables and which files it has open.
  no_new_privs_told,  ///< /proc says that no new privileges can be had.
};

class EngineTest : public ::testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] worker::RunRequest shell(const std::string& script) const {
    return lab->shell(script);
  }
  [[nodiscard]] worker::RunReport run(worker::RunRequest request,
                                      std::shared_ptr<worker::CancelToken> cancel = nullptr,
                                      worker::OutputSink sink = {}) {
    return lab->run(std::move(request), std::move(cancel), std::move(sink));
  }
  /// False where the table says so; the test then asserts what happens instead.
  [[nodiscard]] bool keeps(Promise promise);

  /// Whatever it was, nobody can take it for a pass or a failure of the code.
  static void expect_no_proof(const worker::RunReport& report);

  std::unique_ptr<RunLab> lab;
};

}  // namespace cupel::test
