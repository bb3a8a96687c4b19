#include "tests/unit/worker_acquire/scripted_runs.hpp"
#include "worker/fs/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::worker {
namespace {

namespace stdfs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::read_text;
using tests::write_text;

class ModulesTest : public testing::Test {
 protected:
  /// Acquires the repository and takes its first unit.
  void acquire(const std::string& more = ":") {
    tests::make_repository(fixture_.repo(), more);
    auto acquired = fixture_.source();
    if (auto* stopped = std::get_if<AcquireStopped>(&acquired)) {
      FAIL() << stopped->message;
    }
    facts_ = std::get<SourceAcquired>(acquired).facts;
    unit_ = facts_.units.at(0);
    fixture_.runs.requests.clear();
  }
  ModulesAcquired acquired() {
    auto answer = fixture_.modules(facts_.commit, unit_);
    if (auto* modules = std::get_if<ModulesAcquired>(&answer)) return std::move(*modules);
    ADD_FAILURE() << std::get<AcquireStopped>(answer).message;
    return {};
  }
  AcquireStopped stopped() {
    auto answer = fixture_.modules(facts_.commit, unit_);
    if (auto* why = std::get_if<AcquireStopped>(&answer)) return std::move(*why);
    ADD_FAILURE() << "acquired";
    return {};
  }
  std::vector<std::string> commands() {
    std::vector<std::string> lines;
    for (const auto& request : fixture_.runs.requests) lines.push_back(command_line(request));
    return lines;
  }
  UnitWorkspace recorded() {
    return fixture_.workspaces()
        .find_unit(RepositoryId{2}, facts_.commit, UnitId{3})
        .value_or(UnitWorkspace{});
  }

  AcquireFixture fixture_;
  SourceFacts facts_;
  UnitInfo unit_;
};

TEST_F(ModulesTest, AModuleThatLacksNothingKeepsItsSnapshot) {
  acquire();
  const auto modules = acquired();
  EXPECT_FALSE(modules.facts.completed);
  EXPECT_EQ(modules.facts.tree, facts_.tree);
  EXPECT_THAT(modules.findings, IsEmpty());
  EXPECT_THAT(commands(), ElementsAre("go mod download -modfile=/staging/go.mod -json all",
                                      "go mod verify -modfile=/staging/go.mod"));
  EXPECT_EQ(recorded().source,
            fixture_.workspaces().find_source(RepositoryId{2}, facts_.commit)->snapshot);
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("modcache", "source"))
      << "staging and caches are gone";
}

TEST_F(ModulesTest, MissingSumsAreCompletedInASecondSnapshot) {
  acquire();
  fixture_.runs.script = [](const RunRequest& request) {
    write_text(request.mounts.staging + "/go.sum",
               "ex.test/x v1.0.0 h1:x=\nex.test/x v1.0.0/go.mod h1:y=\n");
    write_text(request.mounts.modcache + "/cache/download/ex.test/x/@v/v1.0.0.zip", "zip");
    return ended(0, "{\"Path\": \"ex.test/x\", \"Version\": \"v1.0.0\"}");
  };
  const auto modules = acquired();
  EXPECT_TRUE(modules.facts.completed);
  EXPECT_NE(modules.facts.tree, facts_.tree);
  EXPECT_EQ(modules.facts.modules, 1U);
  ASSERT_EQ(modules.findings.size(), 1U);
  EXPECT_EQ(modules.findings[0].kind, FindingKind::note);
  EXPECT_THAT(modules.findings[0].message, HasSubstr("go_sum_incomplete"));
  EXPECT_THAT(read_text(recorded().source + "/go.sum"), HasSubstr("h1:x="));
  EXPECT_EQ(*tree_digest(recorded().source), modules.facts.tree);
  const auto base = fixture_.workspaces().find_source(RepositoryId{2}, facts_.commit)->snapshot;
  EXPECT_FALSE(stdfs::exists(base + "/go.sum")) << "the commit's own snapshot is untouched";
}

TEST_F(ModulesTest, AMissingGoLineIsWrittenBeforeGoWritesItsOwn) {
  acquire("printf 'module ex.test/r\\n' > go.mod");
  std::string staged;
  fixture_.runs.script = [&](const RunRequest& request) {
    staged = read_text(request.mounts.staging + "/go.mod");
    return ended(0);
  };
  const auto modules = acquired();
  EXPECT_EQ(staged, "module ex.test/r\n\ngo 1.16\n");
  EXPECT_TRUE(modules.facts.completed);
  EXPECT_EQ(modules.unit.go_version, "1.16");
  ASSERT_EQ(modules.findings.size(), 1U);
  EXPECT_THAT(modules.findings[0].message, HasSubstr("go_line_added"));
  EXPECT_EQ(read_text(recorded().source + "/go.mod"), staged);
}

TEST_F(ModulesTest, ASumFileThatIsThereIsStaged) {
  acquire("echo 'ex.test/x v1.0.0 h1:x=' > go.sum");
  std::string staged;
  fixture_.runs.script = [&](const RunRequest& request) {
    staged = read_text(request.mounts.staging + "/go.sum");
    return ended(0);
  };
  EXPECT_FALSE(acquired().facts.completed);
  EXPECT_EQ(staged, "ex.test/x v1.0.0 h1:x=\n");
}

TEST_F(ModulesTest, AMalformedSumFileNeedsNoRun) {
  acquire("printf 'a v1 h1:x=\\n<<<<<<< HEAD\\n' > go.sum");
  const auto why = stopped();
  EXPECT_EQ(why.refusal.reason, Reason::bad_go_sum);
  EXPECT_THAT(commands(), IsEmpty());
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("source"));
}

TEST_F(ModulesTest, VendoredUnitsAcquireNothing) {
  acquire("mkdir vendor; touch vendor/modules.txt");
  ASSERT_TRUE(unit_.vendored);
  const auto modules = acquired();
  EXPECT_THAT(commands(), IsEmpty());
  EXPECT_FALSE(modules.facts.completed);
  EXPECT_TRUE(stdfs::is_empty(recorded().modcache));
}

TEST_F(ModulesTest, AWorkspaceIsStagedWithAbsolutePaths) {
  acquire(
      "rm go.mod; mkdir a b; for d in a b; do printf \"module ex.test/$d\\n\\ngo 1.24\\n\" > "
      "$d/go.mod; done;"
      " printf 'go 1.24\\nuse (\\n\\t./a\\n\\t./b\\n)\\n' > go.work");
  ASSERT_EQ(unit_.workspace, "go.work");
  std::string staged;
  fixture_.runs.script = [&](const RunRequest& request) {
    staged = read_text(request.mounts.staging + "/go.work");
    write_text(request.mounts.staging + "/go.work.sum", "ex.test/x v1.0.0 h1:x=\n");
    return ended(0, "ex.test/a/gone: no required module provides package ex.test/a/gone\n");
  };
  const auto modules = acquired();
  EXPECT_EQ(staged, "go 1.24\nuse \"/src/a\"\nuse \"/src/b\"\n");
  ASSERT_EQ(fixture_.runs.requests.size(), 1U);
  EXPECT_THAT(command_line(fixture_.runs.requests[0]), HasSubstr("go list -e -deps -test"));
  EXPECT_EQ(fixture_.runs.requests[0].workdir, "a");
  EXPECT_TRUE(fixture_.runs.requests[0].go.workspace_staged);
  EXPECT_TRUE(modules.facts.completed);
  EXPECT_EQ(read_text(recorded().source + "/go.work.sum"), "ex.test/x v1.0.0 h1:x=\n");
  EXPECT_THAT(read_text(recorded().source + "/go.work"), HasSubstr("./a"))
      << "the repository's own";
}

TEST_F(ModulesTest, InAWorkspaceAModuleOutOfReachIsNotTheRepositorysFault) {
  acquire("printf 'go 1.24\\nuse .\\n' > go.work");
  fixture_.runs.script = [](const RunRequest&) {
    return ended(0,
                 "ex.test/x: ex.test/x@v1.0.0: Get \"https://p.ex.test\": dial tcp: i/o timeout\n");
  };
  EXPECT_EQ(stopped().refusal.reason, Reason::upstream);
}

TEST_F(ModulesTest, WhatGoSaysBecomesTheReason) {
  acquire();
  fixture_.runs.script = [](const RunRequest&) {
    return ended(
        1, "", "go: /staging/go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)\n");
  };
  const auto why = stopped();
  EXPECT_EQ(why.kind, AcquireStopped::Kind::refusal);
  EXPECT_EQ(why.refusal.reason, Reason::requires_newer_toolchain);
  EXPECT_EQ(why.refusal.message,
            "go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)");
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("source"));
}

TEST_F(ModulesTest, AMissingModuleThatNothingNeedsIsNoObstacle) {
  acquire();
  const std::string missing =
      "{\"Path\": \"x\", \"Version\": \"v1.0.0\", \"Error\": \"x@v1.0.0: reading https://p/x: 404 "
      "Not Found\"}";
  int list_exit = 0;
  fixture_.runs.script = [&](const RunRequest& request) {
    const std::string line = command_line(request);
    if (line.find("download") != std::string::npos) return ended(1, missing);
    if (line.find("list") != std::string::npos) return ended(list_exit);
    return ended(1, "", "x v1.0.0: missing ziphash\n");
  };
  static_cast<void>(acquired());
  list_exit = 1;
  const auto why = stopped();
  EXPECT_EQ(why.refusal.reason, Reason::module_not_found);
  EXPECT_EQ(why.refusal.findings.at(0).package, "x@v1.0.0");
}

TEST_F(ModulesTest, ModifiedModulesAreAMismatch) {
  acquire();
  fixture_.runs.script = [](const RunRequest& request) {
    const bool verify = command_line(request).find("verify") != std::string::npos;
    return verify ? ended(1, "", "ex.test/x v1.0.0: dir has been modified (/modcache/ex.test/x)\n")
                  : ended(0);
  };
  EXPECT_EQ(stopped().refusal.reason, Reason::checksum_mismatch);
}

TEST_F(ModulesTest, FaultsOfTheFleetAreNoAnswer) {
  acquire();
  fixture_.runs.script = [](const RunRequest&) {
    RunReport report;
    report.error = Error{Errc::engine_unreachable, "no engine", {}, {}};
    return report;
  };
  EXPECT_EQ(stopped().kind, AcquireStopped::Kind::interrupted);
  fixture_.cancel->cancel();
  fixture_.runs.script = [](const RunRequest&) { return ended(0); };
  EXPECT_EQ(stopped().kind, AcquireStopped::Kind::interrupted);
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("source"));
}

TEST_F(ModulesTest, WithoutASnapshotTheWorkspaceIsLost) {
  acquire();
  facts_.commit = std::string(40, '0');
  EXPECT_EQ(stopped().kind, AcquireStopped::Kind::lost);
}

TEST_F(ModulesTest, AUnitThatWasRefusedStaysRefused) {
  acquire("echo nonsense > go.mod");
  const auto why = stopped();
  EXPECT_EQ(why.refusal.reason, Reason::bad_go_mod);
  EXPECT_THAT(commands(), IsEmpty());
}

TEST_F(ModulesTest, AManifestThatAContainerMadeALinkIsNotFollowed) {
  acquire();
  fixture_.runs.script = [](const RunRequest& request) {
    stdfs::remove(request.mounts.staging + "/go.mod");
    stdfs::create_symlink("/etc/hostname", request.mounts.staging + "/go.mod");
    return ended(0);
  };
  EXPECT_EQ(stopped().kind, AcquireStopped::Kind::interrupted);
}

}  // namespace
}  // namespace cupel::worker
