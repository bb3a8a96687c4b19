// Changes in the mutate profile: a real engine, a real go command, the file proxy of the cases.
// Where no image with the label cupel.image.go is present there is nothing to test, and the cases
// say so.
#include "tests/integration/sandbox/toolchain_fixture.hpp"
#include "worker/mutate/mutate.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace cupel::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using worker::AcquireStopped;
using worker::Mutated;

const std::string kCases = std::string(CUPEL_SOURCE_DIR) + "/tests/fixtures/cases";

class MutateEngineTest : public ToolchainFixture {
 protected:
  worker::AcquireContext context(UnitId unit) override {
    worker::AcquireContext context = ToolchainFixture::context(unit);
    context.policy.fixture_proxy = kCases + "/_proxy";
    return context;
  }

  /// The repository of a case, or a folder that `script` makes, acquired as far as its snapshot.
  void acquire(const std::string& folder, const std::string& script = ":") {
    const std::string repo = scratch.path() + "/repo";
    std::filesystem::create_directories(repo);
    if (!folder.empty()) {
      std::filesystem::copy(kCases + '/' + folder + "/repo", repo,
                            std::filesystem::copy_options::recursive);
    }
    acquire_folder(repo, script);
  }

  std::variant<Mutated, AcquireStopped> mutate(Change change) {
    Mutate work;
    work.commit = facts_.commit;
    work.unit = facts_.units.at(0);
    work.change = std::move(change);
    return await(io, worker::mutate(context(UnitId{3}), std::move(work), {},
                                    std::make_shared<worker::CancelToken>()));
  }
  Mutated mutated(Change change) {
    auto answer = mutate(std::move(change));
    if (auto* done = std::get_if<Mutated>(&answer)) return std::move(*done);
    ADD_FAILURE() << std::get<AcquireStopped>(answer).message;
    return {};
  }
  static Upgrade to(const std::string& module, const std::string& version) {
    Upgrade rules;
    rules.modules = {{module, version}};
    return rules;
  }
  static std::vector<std::string> words_of(const Mutated& done) {
    std::vector<std::string> words;
    for (const auto& one : done.findings) words.push_back(one.message);
    return words;
  }
  std::string after(const std::string& file) {
    const auto unit = workspaces_->find_unit(RepositoryId{2}, facts_.commit, UnitId{3},
                                             worker::slot_of(Side::after, 0));
    return unit ? tests::read_text(unit->source + '/' + file) : std::string();
  }
};

TEST_F(MutateEngineTest, AnUpgradeIsAppliedAndItsPatchApplies) {
  if (toolchain_.empty()) return;
  acquire("170-upgrade-breaks-build-removed-api");

  const auto done = mutated(to("ex.test/dep/apibreak", "v1.1.0"));

  EXPECT_THAT(done.facts.gates, IsEmpty()) << done.facts.gates.at(0).detail;
  EXPECT_THAT(after("go.mod"), HasSubstr("ex.test/dep/apibreak v1.1.0"));
  EXPECT_THAT(after("go.sum"), HasSubstr("ex.test/dep/apibreak v1.1.0 h1:"));
  EXPECT_THAT(after("go.sum"), testing::Not(HasSubstr("v1.0.0")));
  ASSERT_EQ(done.facts.moved.size(), 1U);
  tests::write_text(scratch.path() + "/p.patch", done.patch);
  tests::shell(scratch.path() + "/repo", "git apply --index ../p.patch");
  EXPECT_EQ(tests::read_text(scratch.path() + "/repo/go.sum"), after("go.sum"));
}

TEST_F(MutateEngineTest, QueriesOfSeveralModulesAreOneDiscovery) {
  if (toolchain_.empty()) return;
  acquire("",
          "printf 'module ex.test/q\\n\\ngo 1.24\\n\\nrequire (\\n\\tex.test/dep/major "
          "v1.0.0\\n\\tex.test/dep/newgo v1.0.0\\n\\tex.test/dep/retr v1.0.0\\n)\\n' > go.mod; "
          "mkdir p; printf 'package p\\n\\nimport (\\n\\t_ \"ex.test/dep/major\"\\n\\t_ "
          "\"ex.test/dep/newgo\"\\n\\t_ \"ex.test/dep/retr\"\\n)\\n' > p/p.go");
  Upgrade rules;
  rules.modules = {{"ex.test/dep/major", "latest"},
                   {"ex.test/dep/newgo", "patch"},
                   {"ex.test/dep/retr", "latest"}};

  const auto done = mutated(rules);

  EXPECT_EQ(done.facts.resolved, (std::vector<ModuleTarget>{{"ex.test/dep/major", "v1.1.0"}}));
  EXPECT_THAT(words_of(done), Contains(HasSubstr("major_available: ex.test/dep/major/v2 v2.0.0")));
  EXPECT_THAT(words_of(done), Contains(HasSubstr("already_at_version: ex.test/dep/retr v1.0.0")))
      << "what its author retracted is no candidate, and nothing goes down";
}

TEST_F(MutateEngineTest, AVersionThatNeedsANewerGoIsRefusedInGosWords) {
  if (toolchain_.empty()) return;
  acquire("179-latest-is-too-new");
  const auto answer = mutate(to("ex.test/dep/newgo", "latest"));
  const auto& why = std::get<AcquireStopped>(answer).refusal;
  EXPECT_EQ(why.reason, Reason::requires_newer_toolchain);
  EXPECT_THAT(why.message, HasSubstr("requires go >= 1.99"));
}

TEST_F(MutateEngineTest, TheGoLineIsRaisedAlone) {
  if (toolchain_.empty()) return;
  acquire("170-upgrade-breaks-build-removed-api");
  const auto done = mutated(GoVersionChange{"1.25", true});
  EXPECT_THAT(done.patch, HasSubstr("-go 1.24\n+go 1.25\n"));
  EXPECT_EQ(done.facts.go_after, "1.25");
  EXPECT_THAT(done.facts.gates, IsEmpty());
}

TEST_F(MutateEngineTest, ACandidateFromGitIsBuiltInPlaceOfTheModule) {
  if (toolchain_.empty()) return;
  acquire("170-upgrade-breaks-build-removed-api");
  const std::string library = scratch.path() + "/library";
  tests::make_repository(library,
                         "rm -r ok; printf 'module ex.test/dep/apibreak\\n\\ngo 1.20\\n' > "
                         "go.mod; printf 'package apibreak\\n\\nfunc Old() int { return 7 "
                         "}\\n' > x.go");
  Replace replace;
  replace.modules = {{"ex.test/dep/apibreak", GitSource{"file://" + library, ""}}};

  const auto done = mutated(replace);

  EXPECT_THAT(after("go.mod"), HasSubstr("=> ./.cupel-candidate/0"));
  EXPECT_THAT(after(".cupel-candidate/0/x.go"), HasSubstr("return 7"));
  EXPECT_EQ(done.facts.not_affected, NotAffected::none);
}

TEST_F(MutateEngineTest, AVendoredUnitIsVendoredAgain) {
  if (toolchain_.empty()) return;
  acquire("172-upgrade-breaks-test-only",
          "mkdir -p vendor/ex.test/dep/behav; printf '# ex.test/dep/behav v1.0.0\\n## "
          "explicit\\nex.test/dep/behav\\n' > vendor/modules.txt; printf 'package behav\\n' > "
          "vendor/ex.test/dep/behav/b.go");
  ASSERT_TRUE(facts_.units.at(0).vendored);
  const auto done = mutated(to("ex.test/dep/behav", "v1.1.0"));
  EXPECT_THAT(after("vendor/modules.txt"), HasSubstr("# ex.test/dep/behav v1.1.0"));
  EXPECT_THAT(done.patch, HasSubstr("b/vendor/modules.txt"));
}

TEST_F(MutateEngineTest, AMemberOfAWorkspaceIsChangedWhereItStands) {
  if (toolchain_.empty()) return;
  acquire("",
          "mkdir -p m/p; printf 'module ex.test/m\\n\\ngo 1.24\\n\\nrequire ex.test/dep/behav "
          "v1.0.0\\n' > m/go.mod; printf 'package p\\n\\nimport _ \"ex.test/dep/behav\"\\n' > "
          "m/p/p.go; printf 'go 1.24\\n\\nuse ./m\\n' > go.work");
  ASSERT_EQ(facts_.units.at(0).workspace, "go.work");
  const auto done = mutated(to("ex.test/dep/behav", "v1.1.0"));
  EXPECT_THAT(after("m/go.mod"), HasSubstr("ex.test/dep/behav v1.1.0"));
  EXPECT_THAT(done.patch, HasSubstr("+++ b/m/go.mod"));
}

}  // namespace
}  // namespace cupel::test
