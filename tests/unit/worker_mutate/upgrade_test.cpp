#include "tests/unit/worker_mutate/fake_go.hpp"
#include "worker/fs/snapshot.hpp"

namespace cupel::worker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::read_text;

class UpgradeTest : public MutateTest {};

TEST_F(UpgradeTest, AnExactVersionNeedsSevenRunsAndGivesAnAfterSide) {
  acquire();

  const auto done = mutated(upgrade("ex.test/a", "v1.1.0"));

  EXPECT_THAT(commands(), ElementsAre("go list -m -modfile=/staging/go.mod -json all",
                                      "go get -modfile=/staging/go.mod ex.test/a@v1.1.0",
                                      "go mod tidy -modfile=/staging/go.mod",
                                      "go mod tidy -modfile=/staging/go.mod",
                                      "go mod graph -modfile=/staging/go.mod",
                                      "go list -m -modfile=/staging/go.mod -json all"));
  for (const auto& request : fixture_.runs.requests) EXPECT_EQ(request.profile, Profile::mutate);
  EXPECT_EQ(done.facts.not_affected, NotAffected::none);
  EXPECT_THAT(done.facts.gates, IsEmpty());
  EXPECT_EQ(done.facts.resolved, (std::vector<ModuleTarget>{{"ex.test/a", "v1.1.0"}}));
  EXPECT_NE(done.facts.tree, facts_.tree);
  EXPECT_EQ(done.facts.patch, sha256(done.patch));
  EXPECT_THAT(done.patch, HasSubstr("-\tex.test/a v1.0.0\n+\tex.test/a v1.1.0\n"));
  EXPECT_THAT(read_text(after().source + "/go.mod"), HasSubstr("ex.test/a v1.1.0"));
  EXPECT_EQ(*tree_digest(after().source), done.facts.tree);
  EXPECT_FALSE(after().acquired) << "its modules are not all here";
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("modcache", "source", "source"));
}

TEST_F(UpgradeTest, ThePatchAppliesToTheVeryCommit) {
  acquire();
  const auto done = mutated(upgrade("ex.test/a", "v1.1.0"));
  tests::write_text(fixture_.dir() / "p.patch", done.patch);
  tests::shell(fixture_.repo(), "git apply --check ../p.patch && git apply ../p.patch");
  EXPECT_EQ(read_text(fixture_.repo() / "go.mod"), read_text(after().source + "/go.mod"));
}

TEST_F(UpgradeTest, ManyModulesAreAskedInOneRun) {
  acquire();
  go_.proxy = {{"ex.test/a", {"v1.0.0", "v1.1.0", "v1.2.0-rc.1"}}, {"ex.test/b", {"v1.0.1"}}};
  Upgrade rules;
  rules.modules = {{"ex.test/a", "latest"}, {"ex.test/b", "patch"}};

  const auto done = mutated(rules);

  EXPECT_THAT(commands(), testing::Contains(HasSubstr("-versions")).Times(1));
  EXPECT_THAT(commands(), Contains("go list -e -m -modfile=/staging/go.mod -json ex.test/a@v1.1.0 "
                                   "ex.test/b@v1.0.1"))
      << "publish times of eligible versions only";
  EXPECT_THAT(commands(),
              Contains("go get -modfile=/staging/go.mod ex.test/a@v1.1.0 ex.test/b@v1.0.1"));
  EXPECT_THAT(words_of(done.findings), Contains("selected: ex.test/a v1.0.0 -> v1.1.0 (latest)"));
  EXPECT_THAT(words_of(after().findings), Contains("selected: ex.test/a v1.0.0 -> v1.1.0 (latest)"))
      << "the runs of the after side say what changed";
  ASSERT_EQ(done.facts.candidates.size(), 2U);
  EXPECT_EQ(done.facts.candidates[0].latest, "v1.2.0-rc.1");
  EXPECT_THAT(done.facts.candidates[0].notes, ElementsAre("v1.2.0-rc.1: a pre-release"));
}

TEST_F(UpgradeTest, AYoungVersionWaits) {
  acquire();
  go_.proxy = {{"ex.test/a", {"v1.0.0", "v1.1.0"}}};
  go_.published = "2999-01-01T00:00:00Z";
  const auto done = mutated(upgrade("ex.test/a", "latest"));
  EXPECT_EQ(done.facts.not_affected, NotAffected::already_at_version);
  EXPECT_EQ(done.facts.tree, facts_.tree);
  EXPECT_EQ(after().source, "");
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("source"));
}

TEST_F(UpgradeTest, AnotherMajorIsOnlyNamed) {
  acquire();
  go_.proxy = {{"ex.test/a", {"v1.0.0"}}, {"ex.test/a/v2", {"v2.0.0"}}};
  const auto done = mutated(upgrade("ex.test/a", "latest"));
  EXPECT_EQ(done.facts.not_affected, NotAffected::major_available);
  EXPECT_THAT(words_of(done.findings), Contains(HasSubstr("ex.test/a/v2 v2.0.0")));
}

TEST_F(UpgradeTest, WhatAUnitDoesNotHaveDoesNotAffectIt) {
  acquire();
  EXPECT_EQ(mutated(upgrade("ex.test/x", "v1.0.0")).facts.not_affected, NotAffected::module_absent);
  EXPECT_EQ(mutated(upgrade("ex.test/a", "v1.0.0")).facts.not_affected,
            NotAffected::already_at_version);
  EXPECT_THAT(commands(), testing::Each("go list -m -modfile=/staging/go.mod -json all"));
}

TEST_F(UpgradeTest, ABranchIsNoVersion) {
  acquire();
  const auto why = stopped(upgrade("ex.test/a", "master"));
  EXPECT_EQ(why.refusal.reason, Reason::bad_version_query);
  EXPECT_EQ(why.refusal.findings.at(0).kind, FindingKind::upgrade_error);
  EXPECT_THAT(why.message, HasSubstr("master"));
}

TEST_F(UpgradeTest, AFailedGetLeavesNothingBehind) {
  acquire();
  go_.before = [](const RunRequest&, const std::string& verb) -> std::optional<RunReport> {
    if (verb != "get") return std::nullopt;
    return ended(1, {}, "go: ex.test/a@v1.1.0 requires go >= 1.99 (running go 1.26.8)\n");
  };
  const auto why = stopped(upgrade("ex.test/a", "v1.1.0"));
  EXPECT_EQ(why.refusal.reason, Reason::requires_newer_toolchain);
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("source"));
}

TEST_F(UpgradeTest, ATidyThatDropsTheTargetLeavesTheTreeAsItWas) {
  acquire();
  go_.before = [&](const RunRequest&, const std::string& verb) -> std::optional<RunReport> {
    if (verb != "mod tidy") return std::nullopt;
    go_.write_go_mod("module ex.test/r\n\ngo 1.24\n\nrequire ex.test/b v1.0.0\n");
    return ended(0);
  };
  const auto done = mutated(upgrade("ex.test/a", "v1.1.0"));
  EXPECT_EQ(done.facts.not_affected, NotAffected::not_used);
  EXPECT_EQ(done.facts.tree, facts_.tree);
  EXPECT_EQ(done.patch, "");
}

TEST_F(UpgradeTest, AFailedTidyKeepsTheManifestsOfGet) {
  acquire();
  go_.before = [&](const RunRequest&, const std::string& verb) -> std::optional<RunReport> {
    if (verb != "mod tidy") return std::nullopt;
    go_.write_go_mod("half written");
    return ended(1, {},
                 "go: ex.test/r tested by\n\tex.test/gone: cannot find module providing "
                 "package ex.test/gone\n");
  };
  const auto done = mutated(upgrade("ex.test/a", "v1.1.0"));
  ASSERT_EQ(done.facts.gates.size(), 1U);
  EXPECT_EQ(done.facts.gates[0].gate, Gate::tidy_failed);
  EXPECT_THAT(read_text(after().source + "/go.mod"), HasSubstr("ex.test/a v1.1.0"));
}

TEST_F(UpgradeTest, ARepetitionAppliesWhatWasResolved) {
  acquire();
  auto answer = mutate(upgrade("ex.test/a", "latest"), 0, {{"ex.test/a", "v1.0.7"}});
  EXPECT_EQ(std::get<Mutated>(answer).facts.resolved.at(0).version, "v1.0.7");
  EXPECT_THAT(commands(), testing::Not(Contains(HasSubstr("-versions"))));
}

TEST_F(UpgradeTest, VariantsStandBesideEachOther) {
  acquire();
  (void)mutated(upgrade("ex.test/a", "v1.1.0"), 0);
  (void)mutated(upgrade("ex.test/b", "v1.5.0"), 4);
  EXPECT_THAT(read_text(after(0).source + "/go.mod"), HasSubstr("ex.test/a v1.1.0"));
  EXPECT_THAT(read_text(after(4).source + "/go.mod"), HasSubstr("ex.test/b v1.5.0"));
  EXPECT_NE(after(0).modcache, after(4).modcache);
}

TEST_F(UpgradeTest, AcquireFillsTheAfterSideFurther) {
  acquire();
  (void)mutated(upgrade("ex.test/a", "v1.1.0"));
  const UnitWorkspace made = after();
  fixture_.runs.requests.clear();
  fixture_.runs.script = [](const RunRequest& request) {
    tests::write_text(request.mounts.staging + "/go.sum", "ex.test/a v1.1.0 h1:x=\n");
    std::filesystem::remove(request.mounts.staging + "/go.mod");
    tests::write_text(request.mounts.staging + "/go.mod", "module ex.test/r\n\ngo 1.99\n");
    return ended(0);
  };

  auto answer = fixture_.wait(acquire_modules(
      fixture_.context(), AcquireModules{facts_.commit, unit_, Side::after, 0}, fixture_.cancel));

  ASSERT_TRUE(std::holds_alternative<ModulesAcquired>(answer));
  EXPECT_EQ(fixture_.runs.requests.at(0).mounts.modcache, made.modcache);
  EXPECT_TRUE(after().acquired);
  EXPECT_EQ(after().modcache, made.modcache);
  EXPECT_THAT(read_text(after().source + "/go.sum"), HasSubstr("h1:x="));
  EXPECT_THAT(read_text(after().source + "/go.mod"), HasSubstr("ex.test/a v1.1.0"))
      << "go.mod is the change's own";
  EXPECT_THAT(words_of(after().findings), Contains(HasSubstr("go_sum_incomplete")));
  EXPECT_FALSE(fixture_.workspaces().find_unit(RepositoryId{2}, facts_.commit, UnitId{3}))
      << "the before side is another slot";
}

TEST_F(UpgradeTest, AnAfterSideThatIsNotHereIsLost) {
  acquire();
  auto answer = fixture_.wait(acquire_modules(
      fixture_.context(), AcquireModules{facts_.commit, unit_, Side::after, 0}, fixture_.cancel));
  EXPECT_EQ(std::get<AcquireStopped>(answer).kind, AcquireStopped::Kind::lost);
}

TEST_F(UpgradeTest, AFixIsTakenThoughItIsYoung) {
  acquire();
  go_.proxy = {{"ex.test/a", {"v1.0.1", "v1.0.2", "v1.1.0"}}};
  go_.published = "2999-01-01T00:00:00Z";
  Upgrade rules;
  rules.select = Select::vulnerable;
  Mutate work;
  work.commit = facts_.commit;
  work.unit = unit_;
  work.change = rules;
  work.vulnerabilities = {{"GO-1", "ex.test/a", "v1.0.0", "v1.0.2", VulnLevel::symbol, "", "", ""}};
  auto answer =
      fixture_.wait(worker::mutate(fixture_.context(), std::move(work), {}, fixture_.cancel));
  EXPECT_EQ(std::get<Mutated>(answer).facts.resolved,
            (std::vector<ModuleTarget>{{"ex.test/a", "v1.0.2"}}));
}

TEST_F(UpgradeTest, TheSmallestStepIsOne) {
  acquire();
  go_.proxy = {{"ex.test/a", {"v1.1.0"}}, {"ex.test/b", {"v1.0.1"}}};
  Upgrade rules;
  rules.select = Select::smallest;
  EXPECT_EQ(mutated(rules).facts.resolved, (std::vector<ModuleTarget>{{"ex.test/b", "v1.0.1"}}));
}

}  // namespace
}  // namespace cupel::worker
