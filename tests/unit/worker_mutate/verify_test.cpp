#include "tests/unit/worker_mutate/fake_go.hpp"
#include "worker/fs/snapshot.hpp"

#include <sys/stat.h>

namespace cupel::worker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class VerifyTest : public MutateTest {
 protected:
  void change() {
    acquire();
    made_ = mutated(upgrade("ex.test/a", "v1.1.0"));
    fixture_.runs.requests.clear();
  }
  /// `verb` answers this; the rest as the fake does.
  void answers(const std::string& wanted, RunReport report) {
    go_.before = [this, wanted, report](const RunRequest& request,
                                        const std::string& verb) -> std::optional<RunReport> {
      if (verb == "mod verify") verified_ = request.mounts.modcache;
      if (verb == wanted) return report;
      return verb == "mod verify" ? std::optional(ended(0, "all modules verified\n"))
                                  : std::nullopt;
    };
  }
  Mutated looked(const std::string& version = "v1.1.0") {
    auto answer = mutate(NoChange{}, 0, {{"ex.test/a", version}});
    if (auto* done = std::get_if<Mutated>(&answer)) return std::move(*done);
    ADD_FAILURE() << std::get<AcquireStopped>(answer).message;
    return {};
  }
  /// What acquire adds to the after side before that is run.
  void complete(const std::string& go_sum) {
    go_.before = [go_sum](const RunRequest& request,
                          const std::string& verb) -> std::optional<RunReport> {
      if (verb == "mod download") {
        std::filesystem::remove(request.mounts.staging + "/go.sum");
        tests::write_text(request.mounts.staging + "/go.sum", go_sum);
      }
      return std::nullopt;
    };
    const auto answer = fixture_.wait(acquire_modules(
        fixture_.context(), AcquireModules{facts_.commit, unit_, Side::after, 0}, fixture_.cancel));
    ASSERT_TRUE(std::holds_alternative<ModulesAcquired>(answer));
    ASSERT_EQ(tests::read_text(after().source + "/go.sum"), go_sum);
    (void)fixture_.workspaces().evict(UINT64_MAX);  // removes what was replaced
  }
  std::vector<std::string> gates(const Mutated& of) {
    std::vector<std::string> all;
    for (const auto& one : of.facts.gates) all.emplace_back(name(one.gate));
    return all;
  }

  Mutated made_;
  std::string verified_;
};

TEST_F(VerifyTest, AnAfterSideAsItWasMadeHasNoGate) {
  change();
  answers("", {});

  const Mutated seen = looked();

  EXPECT_THAT(seen.facts.gates, IsEmpty());
  EXPECT_EQ(seen.facts.tree, made_.facts.tree);
  EXPECT_EQ(seen.facts.patch, made_.facts.patch);
  EXPECT_EQ(seen.facts.patch_bytes, made_.facts.patch_bytes);
  EXPECT_EQ(seen.patch, "") << "its bytes are the coordinator's already";
  EXPECT_THAT(commands(), ElementsAre("go mod tidy -modfile=/staging/go.mod",
                                      "go mod verify -modfile=/staging/go.mod",
                                      "go list -m -modfile=/staging/go.mod -json all"));
  EXPECT_EQ(verified_, after().modcache) << "the cache that the after side was run with";
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("modcache", "source", "source"));
}

TEST_F(VerifyTest, WhatAcquireCompletedIsNoPartOfThePatch) {
  change();
  complete("ex.test/a v1.1.0 h1:x=\n");
  complete("ex.test/a v1.1.0 h1:x=\nex.test/b v1.0.0 h1:y=\n");
  // As the real one: it drops what nothing needs.
  go_.before = [](const RunRequest& request, const std::string& verb) -> std::optional<RunReport> {
    if (verb == "mod verify") return ended(0, "all modules verified\n");
    if (verb == "mod tidy") std::filesystem::remove(request.mounts.staging + "/go.sum");
    return std::nullopt;
  };

  const Mutated seen = looked();

  EXPECT_THAT(seen.facts.gates, IsEmpty());
  EXPECT_EQ(seen.facts.tree, made_.facts.tree);
  EXPECT_EQ(seen.facts.patch, made_.facts.patch);
  EXPECT_NE(after().facts.tree, made_.facts.tree) << "what was run";
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("modcache", "source", "source"));
}

TEST_F(VerifyTest, FilesThatChangedSinceAreAnotherTree) {
  change();
  answers("", {});
  const std::string file = after().source + "/go.mod";
  ASSERT_EQ(::chmod(after().source.c_str(), 0755), 0);
  std::filesystem::remove(file);
  tests::write_text(file, std::string(kGoMod) + "// touched\n");

  const Mutated seen = looked();

  EXPECT_THAT(gates(seen), Contains("candidate_tree_mismatch"));
  EXPECT_NE(seen.facts.patch, made_.facts.patch);
}

TEST_F(VerifyTest, ATidyThatChangesSomethingIsAGate) {
  change();
  go_.before = [this](const RunRequest&, const std::string& verb) -> std::optional<RunReport> {
    if (verb == "mod verify") return ended(0, "all modules verified\n");
    if (verb != "mod tidy") return std::nullopt;
    go_.write_go_mod(go_.go_mod() + "// more\n");
    return ended(0);
  };

  EXPECT_THAT(gates(looked()), ElementsAre("not_tidy"));
}

TEST_F(VerifyTest, AModuleThatIsNotAsItWasDownloadedIsAGate) {
  change();
  answers("mod verify",
          ended(1, "ex.test/a v1.1.0: dir has been modified (/modcache/ex.test/a)\n"));
  const Mutated seen = looked();
  EXPECT_THAT(gates(seen), ElementsAre("verify_failed"));
  EXPECT_EQ(seen.facts.gates.front().detail,
            "go mod verify: ex.test/a v1.1.0: dir has been modified (/modcache/ex.test/a)");

  // Exit code 0 alone proves nothing.
  answers("mod verify", ended(0, ""));
  EXPECT_THAT(gates(looked()), ElementsAre("verify_failed"));
}

TEST_F(VerifyTest, ATargetThatIsSelectedAtAnotherVersionIsAGate) {
  change();
  answers("", {});

  const Mutated seen = looked("v1.1.1");

  EXPECT_THAT(gates(seen), ElementsAre("target_not_in_build_list"));
  EXPECT_EQ(seen.facts.gates.front().detail, "ex.test/a@v1.1.1: selected is v1.1.0");
}

TEST_F(VerifyTest, ARunThatProvesNothingIsNoAnswer) {
  change();
  RunReport killed = ended(1);
  killed.oom_kills = 1;
  answers("mod tidy", killed);

  auto answer = mutate(NoChange{}, 0, {});

  ASSERT_TRUE(std::holds_alternative<AcquireStopped>(answer));
  EXPECT_EQ(std::get<AcquireStopped>(answer).refusal.reason, Reason::resource_memory);
}

TEST_F(VerifyTest, WithoutTheAfterSideItIsLost) {
  acquire();

  auto answer = mutate(NoChange{}, 0, {});

  ASSERT_TRUE(std::holds_alternative<AcquireStopped>(answer));
  EXPECT_EQ(std::get<AcquireStopped>(answer).kind, AcquireStopped::Kind::lost);
}

}  // namespace
}  // namespace cupel::worker
