#include "tests/unit/worker_mutate/fake_go.hpp"
#include "worker/fs/snapshot.hpp"

namespace cupel::worker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::read_text;

class KindsTest : public MutateTest {};

TEST_F(KindsTest, AGoVersionRaisesTheLineAndNothingElse) {
  acquire();
  const auto done = mutated(GoVersionChange{"1.26", true});
  EXPECT_EQ(done.facts.go_before, "1.24");
  EXPECT_EQ(done.facts.go_after, "1.26");
  EXPECT_EQ(done.unit.go_version, "1.26");
  EXPECT_THAT(done.facts.gates, IsEmpty());
  EXPECT_THAT(done.patch, HasSubstr("-go 1.24\n+go 1.26\n"));
  EXPECT_THAT(commands(), testing::Not(Contains(HasSubstr("tidy"))));
}

TEST_F(KindsTest, AReplacementByAVersionIsALineOfGoMod) {
  acquire();
  Replace replace;
  replace.modules = {{"ex.test/a", ModuleSource{"ex.test/fork", "v1.5.0"}}};
  const auto done = mutated(replace);
  EXPECT_THAT(done.patch, HasSubstr("+replace ex.test/a => ex.test/fork v1.5.0\n"));
  EXPECT_THAT(done.facts.gates, IsEmpty());
  EXPECT_EQ(done.facts.not_affected, NotAffected::none);
}

TEST_F(KindsTest, AReplacementOfAModuleThatIsAbsentMeansNothing) {
  acquire();
  Replace replace;
  replace.modules = {{"ex.test/x", ModuleSource{"ex.test/fork", "v1.5.0"}}};
  const auto done = mutated(replace);
  EXPECT_EQ(done.facts.not_affected, NotAffected::module_absent);
  EXPECT_EQ(done.facts.tree, facts_.tree);
}

TEST_F(KindsTest, ACandidateFromGitStandsBesideTheCode) {
  acquire();
  const auto library = fixture_.dir() / "library";
  tests::make_repository(library,
                         "mkdir lib; printf 'module ex.test/a\\n\\ngo 1.24\\n' > lib/go.mod; echo "
                         "package a > lib/a.go");
  Replace replace;
  replace.modules = {{"ex.test/a", GitSource{"file://" + library.string(), "main"}}};

  const auto done = mutated(replace);

  EXPECT_THAT(read_text(after().source + "/go.mod"),
              HasSubstr("replace ex.test/a => ./.cupel-candidate/0/lib\n"));
  EXPECT_EQ(read_text(after().source + "/.cupel-candidate/0/lib/a.go"), "package a\n");
  EXPECT_EQ(done.patch, "") << "a candidate is for testing, not for a patch";
  EXPECT_NE(done.facts.tree, facts_.tree);
  ASSERT_EQ(done.facts.resolved.size(), 1U);
  EXPECT_EQ(done.facts.resolved[0].version, tests::shell_output(library, "git rev-parse HEAD"));
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("modcache", "source", "source"));
}

TEST_F(KindsTest, APatchNeedsNoRun) {
  acquire();
  const auto done =
      mutated(ApplyPatch{"--- a/ok/ok.go\n+++ b/ok/ok.go\n@@ -1 +1,2 @@\n package ok\n+var X = 1\n"
                         "--- /dev/null\n+++ b/new/n.go\n@@ -0,0 +1 @@\n+package n\n"});
  EXPECT_THAT(commands(), IsEmpty());
  EXPECT_EQ(read_text(after().source + "/ok/ok.go"), "package ok\nvar X = 1\n");
  EXPECT_EQ(read_text(after().source + "/new/n.go"), "package n\n");
  EXPECT_EQ(done.unit.go_version, "1.24");
  tests::write_text(fixture_.dir() / "p.patch", done.patch);
  tests::shell(fixture_.repo(), "git apply ../p.patch");
}

TEST_F(KindsTest, APatchThatDoesNotFitNamesFileAndLine) {
  acquire();
  const auto why =
      stopped(ApplyPatch{"--- a/ok/ok.go\n+++ b/ok/ok.go\n@@ -1 +1 @@\n-package other\n+x\n"});
  EXPECT_EQ(why.refusal.reason, Reason::upgrade_not_applicable);
  EXPECT_THAT(why.message, HasSubstr("ok/ok.go:1"));
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("source"));
}

TEST_F(KindsTest, APatchGoesThroughNoLink) {
  acquire("ln -s /etc etc; ln -s ok/ok.go link.go");
  for (const char* path : {"etc/passwd", "link.go"}) {
    const std::string diff =
        std::string("--- a/") + path + "\n+++ b/" + path + "\n@@ -1 +1 @@\n-package ok\n+x\n";
    EXPECT_EQ(stopped(ApplyPatch{diff}).refusal.reason, Reason::upgrade_not_applicable) << path;
  }
}

TEST_F(KindsTest, AVendoredUnitIsChangedInACopyOfTheTree) {
  acquire(
      "mkdir -p vendor/ex.test/a; echo 'package a' > vendor/ex.test/a/a.go; echo '# ex.test/a "
      "v1.0.0' > vendor/modules.txt");
  ASSERT_TRUE(unit_.vendored);
  go_.before = [](const RunRequest& request, const std::string& verb) -> std::optional<RunReport> {
    if (verb != "mod vendor") return std::nullopt;
    std::filesystem::remove(request.mounts.staging + "/vendor/modules.txt");
    tests::write_text(request.mounts.staging + "/vendor/modules.txt", "# ex.test/a v1.1.0\n");
    return ended(0);
  };

  const auto done = mutated(upgrade("ex.test/a", "v1.1.0"));

  EXPECT_THAT(commands(), Contains("go -C /staging get ex.test/a@v1.1.0"));
  EXPECT_EQ(commands().back(), "go -C /staging mod vendor");
  EXPECT_EQ(read_text(after().source + "/vendor/modules.txt"), "# ex.test/a v1.1.0\n");
  EXPECT_THAT(done.patch, HasSubstr("+++ b/vendor/modules.txt"));
  EXPECT_TRUE(after().acquired) << "a vendored unit needs no modules";
}

TEST_F(KindsTest, AMemberOfAWorkspaceIsChangedInACopyOfTheTree) {
  acquire(
      "mkdir m; git mv -f go.mod m/go.mod 2>/dev/null || mv go.mod m/go.mod; printf 'module "
      "ex.test/m\\n\\ngo 1.24\\n\\nrequire ex.test/a v1.0.0\\n' > m/go.mod; printf 'go "
      "1.24\\n\\nuse ./m\\n' > go.work");
  ASSERT_EQ(unit_.workspace, "go.work");
  const auto done = mutated(upgrade("ex.test/a", "v1.1.0"));
  EXPECT_THAT(commands(), Contains("go -C /staging/m get ex.test/a@v1.1.0"));
  EXPECT_TRUE(fixture_.runs.requests.at(0).go.workspace_staged);
  EXPECT_THAT(done.patch, HasSubstr("+++ b/m/go.mod"));
}

TEST_F(KindsTest, AnInterruptedChangeLeavesNothing) {
  acquire();
  fixture_.cancel->cancel();
  const auto why = stopped(upgrade("ex.test/a", "v1.1.0"));
  EXPECT_EQ(why.kind, AcquireStopped::Kind::interrupted);
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("source"));
}

}  // namespace
}  // namespace cupel::worker
