#include "tests/integration/engines/engine_test.hpp"

#include "tests/integration/bubblewrap/bubblewrap.hpp"
#include "tests/integration/engines/own_engine.hpp"
#include "tests/integration/sandbox/sandbox.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>

namespace cupel::test {

namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

struct Row {
  EngineKind kind;
  Promise promise;
  std::string_view because;
  std::string_view note = {};  ///< Only where runs have this note: it depends on the machine.
};

/// All that is not as with Docker. docs/security.md tells the same to people.
constexpr std::array kExceptions = {
    Row{EngineKind::bubblewrap, Promise::memory_limit, "needs control groups",
        "limit of memory not enforced"},
    Row{EngineKind::bubblewrap, Promise::memory_counted, "needs control groups",
        "limit of memory not enforced"},
    Row{EngineKind::bubblewrap, Promise::pids_counted, "needs control groups",
        "limit of pids held by RLIMIT_NPROC only"},
    Row{EngineKind::bubblewrap, Promise::own_network, "has the host's network or none"},
    Row{EngineKind::runsc, Promise::outlives_limits,
        "limits hold gVisor as a whole, and who meets them ends all of it"},
    Row{EngineKind::runsc, Promise::out_of_reach, "gVisor lets a user end process 1"},
    Row{EngineKind::runsc, Promise::out_of_sight, "nor does a process hide from its user there"},
    Row{EngineKind::runsc, Promise::no_new_privs_told, "gVisor's /proc doesn't say it"},
};

/// One service for all tests of this process: it takes a second to start.
const Result<OwnEngine>& podman() {
  static const Result<OwnEngine> kPodman = OwnEngine::start("podman");
  return kPodman;
}
const Result<OwnEngine>& gvisor() {
  static const Result<OwnEngine> kGvisor = OwnEngine::start("runsc");
  return kGvisor;
}

}  // namespace

std::string_view name(EngineKind kind) {
  static constexpr std::array<std::string_view, 4> kNames = {"docker", "bubblewrap", "podman",
                                                             "runsc"};
  return kNames.at(static_cast<std::size_t>(kind));
}

void EngineTest::SetUp() {
  const auto own = [this](const Result<OwnEngine>& engine, SandboxLab::Engine wanted) {
    if (!engine) GTEST_SKIP() << engine.error().text();
    wanted.socket = engine->socket();
    lab = std::make_unique<SandboxLab>(std::move(wanted));
  };
  switch (GetParam()) {
    case EngineKind::docker: lab = std::make_unique<SandboxLab>(); break;
    case EngineKind::bubblewrap: lab = std::make_unique<BubblewrapLab>(); break;
    case EngineKind::podman: own(podman(), {}); break;
    case EngineKind::runsc: own(gvisor(), {.socket = {}, .execute_runtime = "runsc"}); break;
  }
  if (!lab) return;
  // gVisor's own threads and its stubs of processes count as well: 64 don't get it started.
  if (GetParam() == EngineKind::runsc) lab->pids = 512;
  lab->set_up();
}

void EngineTest::TearDown() {
  if (lab) lab->tear_down();
}

bool EngineTest::keeps(Promise promise) {
  const auto* const row = std::ranges::find_if(
      kExceptions, [&](const Row& r) { return r.kind == GetParam() && r.promise == promise; });
  if (row == kExceptions.end()) return true;
  // Where it depends on the machine, every run says so.
  return !row->note.empty() &&
         ::testing::Value(run(shell("true")).notes, Each(Not(HasSubstr(std::string(row->note)))));
}

void EngineTest::expect_no_proof(const worker::RunReport& report) {
  EXPECT_FALSE(report.end_marker);
  EXPECT_EQ(report.exit_code, -1);
  EXPECT_EQ(report.ended_by, worker::EndedBy::engine);
  EXPECT_FALSE(report.out.complete || report.err.complete);
}

INSTANTIATE_TEST_SUITE_P(All, EngineTest,
                         ::testing::Values(EngineKind::docker, EngineKind::bubblewrap,
                                           EngineKind::podman, EngineKind::runsc),
                         [](const auto& kind) { return std::string(name(kind.param)); });

}  // namespace cupel::test
