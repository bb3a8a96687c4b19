#include "worker/core/seeds/dependencies.hpp"

#include <gmock/gmock.h>

namespace cupel::worker::seeds {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// One package of a list: its own fields follow the path.
std::string package(const std::string& path, const std::string& fields) {
  return R"({"ImportPath":")" + path + "\"," + fields + "}\n";
}
std::string standard(const std::string& path) {
  return package(path, R"("Name":"x","Standard":true)");
}
std::string own(const std::string& path, const std::string& imports) {
  return package(path, R"("Name":"x","Module":{"Path":"m","Main":true},)" + imports);
}
std::string foreign(const std::string& path, const std::string& more = R"("Imports":["fmt"])") {
  return package(path, R"("Name":"x","Module":{"Path":"d","Version":"v1.0.0"},)" + more);
}

TEST(DependencyImports, AreWhatPackagesAndTestsOfTheUnitImportOfOtherModules) {
  const auto found = dependency_imports(
      standard("fmt") + foreign("d/a") + foreign("d/b") + foreign("d/c") + foreign("d/deep") +
      own("m", R"("Imports":["d/a","fmt"],"TestImports":["d/b"],"XTestImports":["d/c","m"])"));
  EXPECT_TRUE(found.complete);
  EXPECT_THAT(found.paths, ElementsAre("d/a", "d/b", "d/c"));
}

TEST(DependencyImports, LeaveOutWhateverReachesAPackageOfTheRepository) {
  const auto found = dependency_imports(
      standard("fmt") + foreign("d/back", R"("Imports":["m/lib"])") +
      foreign("d/far", R"("Imports":["d/back"])") + foreign("d/fine") + own("m/lib", "\"x\":0") +
      own("m", R"("Imports":["d/far","d/fine","m/lib"])"));
  EXPECT_THAT(found.paths, ElementsAre("d/fine"));
}

TEST(DependencyImports, LeaveOutADirectoryInAModulesPlaceAndKeepAModuleInItsPlace) {
  const auto replaced = [](const std::string& path, const std::string& by) {
    return package(
        path,
        R"("Name":"x","Module":{"Path":"d","Version":"v1.0.0","Replace":{"Path":"e")" + by + "}}");
  };
  const auto found =
      dependency_imports(replaced("d/local", "") + replaced("d/other", R"(,"Version":"v1.1.0")") +
                         own("m", R"("Imports":["d/local","d/other"])"));
  EXPECT_THAT(found.paths, ElementsAre("d/other"));
}

TEST(DependencyImports, LeaveOutCgoObjectFilesAndWhatImportsThem) {
  const auto found = dependency_imports(
      foreign("d/c", R"("CgoFiles":["c.go"],"Imports":["C","unsafe"])") +
      foreign("d/swig", R"("SwigFiles":["s.swig"])") +
      foreign("d/object", R"("SysoFiles":["o_linux.syso"])") +
      foreign("d/over", R"("Imports":["d/c"])") + foreign("d/raw", R"("Imports":["unsafe"])") +
      package("net", R"("Name":"net","Standard":true,"CgoFiles":["cgo.go"])") +
      foreign("d/net", R"("Imports":["net"])") +
      own("m", R"("Imports":["d/c","d/swig","d/object","d/over","d/raw","d/net"])"));
  EXPECT_THAT(found.paths, ElementsAre("d/net", "d/raw"));
}

TEST(DependencyImports, LeaveOutCommandsBrokenPackagesAndWhatWasNotListed) {
  const auto found = dependency_imports(
      package("d/cmd", R"("Name":"main","Module":{"Path":"d","Version":"v1.0.0"})") +
      foreign("d/broken", R"("Error":{"Err":"no"})") +
      foreign("d/needs", R"("Imports":["d/nowhere"])") + foreign("d/fine") + standard("fmt") +
      own("m", R"("Imports":["d/cmd","d/broken","d/needs","d/nowhere","d/fine"])"));
  EXPECT_THAT(found.paths, ElementsAre("d/fine"));
}

TEST(DependencyImports, IgnoreHowATestSeesAPackage) {
  const auto found = dependency_imports(
      package("d/a [m.test]",
              R"("Name":"a","ForTest":"m","Module":{"Path":"d","Version":"v1.0.0"})") +
      own("m", R"("TestImports":["d/a"])"));
  EXPECT_TRUE(found.complete);
  EXPECT_THAT(found.paths, IsEmpty());
}

TEST(DependencyImports, SurviveACycle) {
  const auto found =
      dependency_imports(foreign("d/a", R"("Imports":["d/b"])") +
                         foreign("d/b", R"("Imports":["d/a"])") + own("m", R"("Imports":["d/a"])"));
  EXPECT_THAT(found.paths, ElementsAre("d/a"));
}

// The paths become lines of a program of ours.
TEST(DependencyImports, NeverTakeAPathThatCouldBecomeCode) {
  for (const char* const path :
       {"d/\\\"\\n)\\nfunc init() { evil() }", "d/`", "d\\\\n", "d a", "d;"}) {
    const auto found = dependency_imports(foreign(path, "\"x\":0") +
                                          own("m", R"("Imports":[")" + std::string(path) + "\"]"));
    EXPECT_TRUE(found.complete) << path;
    EXPECT_THAT(found.paths, IsEmpty()) << path;
  }
}

TEST(DependencyImports, SayWhenTheListIsNotWhole) {
  EXPECT_FALSE(dependency_imports("").complete);
  EXPECT_FALSE(dependency_imports("go: no such tool").complete);
  const std::string list = foreign("d/a") + own("m", R"("Imports":["d/a"])");
  EXPECT_TRUE(dependency_imports(list).complete);
  EXPECT_FALSE(dependency_imports(list.substr(0, list.size() - 3)).complete);
  EXPECT_FALSE(dependency_imports(std::string(100, '{')).complete);
}

TEST(ImportingProgram, ImportsEachForItsObjectsAlone) {
  EXPECT_EQ(importing_program({"d/a", "d/b"}),
            "package seed\n\nimport (\n\t_ \"d/a\"\n\t_ \"d/b\"\n)\n");
}

}  // namespace
}  // namespace cupel::worker::seeds
