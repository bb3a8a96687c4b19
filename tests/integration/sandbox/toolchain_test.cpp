// Runs of a real Go toolchain image. Where no image with the label cupel.image.go is present there
// is nothing to test, and the cases say so.
#include "tests/integration/sandbox/sandbox.hpp"
#include "worker/run/build_cache.hpp"
#include "worker/run/reaper.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>

namespace cupel::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using worker::EndedBy;
using worker::RunReport;
using worker::RunRequest;

class ToolchainTest : public SandboxTest {
 protected:
  void write_module() {
    write_file(mounts.source + "/a.go", "package a\n\nfunc Two() int { return 2 }\n");
    write_file(mounts.source + "/a_test.go",
               "package a\n\nimport (\n\t\"net/http\"\n\t\"os/user\"\n\t\"testing\"\n)\n\n"
               "func TestTwo(t *testing.T) {\n\tif Two() != 2 || http.StatusOK != 200 {\n"
               "\t\tt.Fatal()\n\t}\n\tif _, err := user.Current(); err != nil "
               "{\n\t\tt.Fatal(err)\n\t}\n}\n");
  }
};

TEST_F(ToolchainTest, TheToolchainWorksOfflineAndKnowsItsUser) {
  for (const char* const compiler : {"0", "1"}) {
    const std::string go_image = toolchain(compiler);
    if (go_image.empty()) continue;
    write_module();

    const RunReport environment =
        run(go(go_image, {"go", "env", "CGO_ENABLED", "GOFLAGS", "GOWORK"}));
    const RunReport tested = run(go(go_image, {"go", "test", "-json", "./..."}));

    EXPECT_EQ(environment.out.bytes,
              std::string(compiler) + "\n-mod=readonly -buildvcs=false\noff\n");
    EXPECT_EQ(tested.exit_code, 0) << tested.out.bytes << tested.err.bytes;
    EXPECT_TRUE(tested.out.complete);
  }
}

TEST_F(ToolchainTest, AHungTestDumpsItsGoroutinesBeforeItIsKilled) {
  const std::string go_image = toolchain("0");
  if (go_image.empty()) return;
  write_file(mounts.source + "/a.go", "package a\n");
  write_file(mounts.source + "/a_test.go",
             "package a\n\nimport \"testing\"\n\nfunc TestHangs(t *testing.T) {\n"
             "\tprintln(\"hanging\")\n\tselect {}\n}\n");
  // Compiled beforehand, so that the limit meets the test and not the compiler.
  ASSERT_EQ(run(go(go_image, {"go", "test", "-run=^$", "."})).exit_code, 0);
  RunRequest request = go(go_image, {"go", "test", "-v", "."});
  request.dump_goroutines = true;
  request.limit = 20s;

  const RunReport report = run(request);

  EXPECT_EQ(report.ended_by, EndedBy::check_limit);
  EXPECT_THAT(report.out.bytes + report.err.bytes, HasSubstr("SIGQUIT"));
  EXPECT_THAT(report.out.bytes + report.err.bytes, HasSubstr("TestHangs"));
}

TEST_F(ToolchainTest, ASeededCacheIsBuiltOnceLinkedReadOnlyAndUsed) {
  const std::string go_image = toolchain("0");
  if (go_image.empty()) return;
  write_module();
  worker::BuildCaches caches(io.get_executor(), *executor, files, scratch.path() + "/data");
  std::vector<worker::FreshCache> made;
  for (int i = 0; i < 2; ++i) {  // both want the seed that neither has
    boost::asio::co_spawn(io, caches.fresh(go_image, BuildCache::seeded, nullptr),
                          [&made](const std::exception_ptr&, Result<worker::FreshCache> cache) {
                            EXPECT_TRUE(cache) << cache.error().text();
                            made.push_back(cache ? *cache : worker::FreshCache{});
                          });
  }
  io.restart();
  while (made.size() < 2 && io.run_one() > 0) {
  }

  EXPECT_EQ(made[0].how, "seeded:linked");
  EXPECT_NE(made[0].directory, made[1].directory);
  RunRequest attack =
      go(go_image, {"sh", "-c",
                    "f=$(ls -S /gocache/00/*-d | head -1); "
                    "(echo x >> $f) 2>/dev/null && echo appended; "
                    "chmod 0666 $f 2>/dev/null && echo changed; "
                    "(: > $f) 2>/dev/null && echo truncated; touch /gocache/00/new && echo ok"});
  attack.mounts.gocache = made[0].directory;
  EXPECT_EQ(run(attack).out.bytes, "ok\n");

  RunRequest test = go(go_image, {"go", "test", "-json", "-x", "./..."});
  test.mounts.gocache = made[1].directory;
  const RunReport tested = run(test);
  EXPECT_EQ(tested.exit_code, 0) << tested.err.bytes;
  // Only the module's own packages are compiled: everything of net/http came from the seed.
  EXPECT_EQ(tested.err.bytes.find(
                "/compile -o $WORK/b001/_pkg_.a -trimpath \"$WORK/b001=>\" -p net/http"),
            std::string::npos);
  EXPECT_LT(tested.wall, 15s);
  for (const worker::FreshCache& cache : made) {
    EXPECT_TRUE(await(io, worker::empty_directory(*executor, files, image, cache.directory)));
  }
}

TEST_F(ToolchainTest, DependenciesAreCompiledOnceAndNothingOfTheRepositoryRuns) {
  const std::string go_image = toolchain("0");
  if (go_image.empty()) return;
  const std::string fixtures = CUPEL_SOURCE_DIR "/tests/fixtures/";
  std::filesystem::copy(
      fixtures + "hostile/cache/victim", mounts.source,
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  RunRequest download = go(go_image, {"go", "mod", "download"});
  download.profile = worker::Profile::acquire;
  download.mounts.fixture_proxy = fixtures + "cases/_proxy";
  ASSERT_EQ(run(download).exit_code, 0);
  worker::BuildCaches caches(io.get_executor(), *executor, files, scratch.path() + "/data",
                             {.dependencies = {.bytes_max = 1U << 30U, .count_max = 10}});
  const worker::DependencyWish wish{.source = mounts.source,
                                    .modcache = mounts.modcache,
                                    .unit = {.dir = ".",
                                             .module_path = "example.com/victim",
                                             .go_version = "1.20",
                                             .workspace = {},
                                             .findings = {}},
                                    .packages = {"./..."},
                                    .tags = {}};
  const auto compiled_by = [&](BuildCache mode, const std::string& how) {
    const auto cache = await(io, caches.fresh(go_image, mode, nullptr, wish));
    EXPECT_TRUE(cache) << cache.error().text();
    EXPECT_EQ(cache->how, how) << cache->note;
    std::string said;
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"go", "build", "-x", "-o", "/dev/null", "./..."},
          {"go", "vet", "-json", "-x", "./..."},
          {"go", "test", "-json", "-x", "./right"}}) {
      RunRequest request = go(go_image, command);
      request.mounts.gocache = cache->directory;
      const RunReport report = run(request);
      EXPECT_EQ(report.exit_code, 0) << report.err.bytes;
      said += report.out.bytes + report.err.bytes;
    }
    EXPECT_TRUE(await(io, worker::empty_directory(*executor, files, image, cache->directory)));
    return said;
  };

  const std::string first =
      compiled_by(BuildCache::dependencies, "seeded:linked, dependencies:linked");
  const std::string second =
      compiled_by(BuildCache::dependencies, "seeded:linked, dependencies:linked");
  const std::string without = compiled_by(BuildCache::seeded, "seeded:linked");

  // What compiles a package, or finds its facts, goes into the package's directory.
  constexpr const char* kDependency = "/modcache/ex.test/dep/tra@v1.0.0";
  EXPECT_THAT(without, HasSubstr(kDependency));
  EXPECT_THAT(first, ::testing::Not(HasSubstr(kDependency)));
  EXPECT_THAT(second, ::testing::Not(HasSubstr(kDependency)));
  EXPECT_THAT(second, HasSubstr("/src/right"));
  // Facts of the standard library are there too, for the flags of both checks.
  constexpr const char* kVetOfStandard = "\"ID\": \"net/http\"";
  for (const std::string& said : {first, without}) {
    EXPECT_EQ(said.find(kVetOfStandard), std::string::npos);
  }
}

}  // namespace
}  // namespace cupel::test
