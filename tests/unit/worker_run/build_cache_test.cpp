// Seeds and fresh caches on real files, with runs that write what the go command would.
#include "worker/run/build_cache.hpp"

#include "common/fs/files.hpp"
#include "tests/support/temp_dir.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sys/stat.h>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;
namespace stdfs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void write(const stdfs::path& file, const std::string& text) {
  stdfs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

std::string text_of(const stdfs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {(std::istreambuf_iterator<char>(in)), {}};
}

std::set<std::string> names_in(const stdfs::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : stdfs::directory_iterator(directory)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

/// Answers as the go command would, by the words of the command.
class FakeRuns : public RunPort {
 public:
  asio::awaitable<RunReport> run(RunRequest request, std::shared_ptr<CancelToken> cancel,
                                 OutputSink) override {
    requests.push_back(request);
    RunReport report;
    report.started = report.end_marker = report.out.complete = true;
    report.exit_code = 0;
    const std::string word = request.command.at(1);
    const bool standard = request.mounts.modcache.empty();
    if (word == "list") {
      report.out.bytes = list;
    } else if (standard) {
      write(request.mounts.gocache + "/00/std-a", "standard");
      write(request.mounts.gocache + "/trim.txt", "0");
    } else {
      sources.push_back(names_in(request.mounts.source));
      report.exit_code = dependencies_exit;
      report.err.bytes = dependencies_exit == 0 ? "" : "d/a: no";
      if (word == "vet" && in_vet) in_vet(request.mounts.gocache);
    }
    if (cancel && cancel->cancelled()) report.ended_by = EndedBy::cancelled;
    co_return report;
  }

  std::size_t count(const std::string& word, bool standard) const {
    return static_cast<std::size_t>(std::ranges::count_if(requests, [&](const RunRequest& one) {
      return one.command.at(1) == word && one.mounts.modcache.empty() == standard;
    }));
  }

  std::vector<RunRequest> requests;
  std::vector<std::set<std::string>> sources;  ///< Of the runs that compile dependencies.
  std::string list =
      R"({"ImportPath":"d/a","Name":"a","Module":{"Path":"d","Version":"v1.0.0"}})"
      R"({"ImportPath":"m","Name":"m","Module":{"Path":"m","Main":true},"Imports":["d/a"]})";
  int dependencies_exit = 0;
  std::function<void(const std::string& cache)> in_vet = [](const std::string& cache) {
    write(cache + "/01/dep-d", std::string(100, 'd'));
  };
};

class BuildCachesTest : public ::testing::Test {
 protected:
  BuildCachesTest() { write(temp_.path() / "source/go.mod", kManifest); }

  BuildCaches caches(std::size_t count_max = 10, std::uint64_t bytes_max = 1U << 20U) {
    return {io_.get_executor(),
            runs_,
            files_,
            temp_.path() / "data",
            {.dependencies = {.bytes_max = bytes_max, .count_max = count_max}}};
  }

  DependencyWish wish() const {
    return {.source = (temp_.path() / "source").string(),
            .modcache = (temp_.path() / "modcache").string(),
            .unit = {.dir = ".",
                     .module_path = "m",
                     .go_version = "1.21",
                     .workspace = {},
                     .findings = {}},
            .packages = {"./..."},
            .tags = {}};
  }

  /// As many callers at once.
  std::vector<FreshCache> fresh(BuildCaches& caches, std::size_t callers = 1,
                                BuildCache mode = BuildCache::dependencies) {
    std::vector<FreshCache> made;
    for (std::size_t i = 0; i < callers; ++i) {
      asio::co_spawn(io_, caches.fresh("sha256:image", mode, nullptr, wish()),
                     [&made](const std::exception_ptr& failure, Result<FreshCache> cache) {
                       EXPECT_FALSE(failure);
                       EXPECT_TRUE(cache) << cache.error().text();
                       made.push_back(cache ? *cache : FreshCache{});
                     });
    }
    io_.restart();
    while (made.size() < callers && io_.run_one() > 0) {
    }
    return made;
  }

  void another_manifest(const std::string& version) {
    write(temp_.path() / "source/go.mod", "module m\n\ngo 1.21\n\nrequire d " + version + "\n");
  }

  stdfs::path kept() const { return temp_.path() / "data/seeds/dependencies"; }
  std::set<std::string> kept_names() const {
    std::set<std::string> names = names_in(kept());
    names.erase("locks");
    return names;
  }

  static constexpr const char* kManifest = "module m\n\ngo 1.21\n\nrequire d v1.0.0\n";
  tests::TempDir temp_;
  asio::io_context io_{1};
  asio::thread_pool files_{2};
  FakeRuns runs_;
};

TEST_F(BuildCachesTest, DependenciesAreCompiledOnceForCallersAtOnceAndLater) {
  BuildCaches all = caches();
  const auto together = fresh(all, 2);
  const auto later = fresh(all);
  for (const FreshCache& cache : {together[0], together[1], later[0]}) {
    EXPECT_EQ(cache.how, "seeded:linked, dependencies:linked") << cache.note;
    EXPECT_EQ(text_of(cache.directory + "/00/std-a"), "standard");
    EXPECT_EQ(text_of(cache.directory + "/01/dep-d"), std::string(100, 'd'));
  }
  struct stat facts{};
  ASSERT_EQ(::stat((later[0].directory + "/01/dep-d").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0444U);
  EXPECT_EQ(facts.st_nlink, 4U);
  EXPECT_EQ(runs_.count("list", false), 1U);
  EXPECT_EQ(runs_.count("vet", false), 1U);
  EXPECT_EQ(runs_.count("test", false), 1U);
}

// Facts of vet are found again under its flags alone.
TEST_F(BuildCachesTest, VetIsCalledAsTheCheckCallsIt) {
  BuildCaches all = caches();
  (void)fresh(all);
  for (const RunRequest& request : runs_.requests) {
    if (request.command.at(1) != "vet") continue;
    EXPECT_THAT(request.command, ElementsAre("go", "vet", "-json", "."));
  }
  EXPECT_EQ(runs_.count("vet", true) + runs_.count("vet", false), 2U);
}

TEST_F(BuildCachesTest, OnlyTheListSeesTheSourceAndNoRunExecutesATest) {
  BuildCaches all = caches();
  (void)fresh(all);
  for (const RunRequest& request : runs_.requests) {
    EXPECT_EQ(request.profile, Profile::execute);
    const bool list = request.command.at(1) == "list";
    EXPECT_EQ(request.mounts.source == wish().source, list) << request.command.at(1);
    if (request.command.at(1) == "test" && !request.mounts.modcache.empty()) {
      EXPECT_THAT(request.command, ::testing::Contains("-exec=true"));
    }
    EXPECT_NE(request.command.at(1), "generate");
    EXPECT_NE(request.command.at(1), "run");
  }
  ASSERT_FALSE(runs_.sources.empty());
  for (const auto& names : runs_.sources) {
    EXPECT_THAT(names, ElementsAre("go.mod", "go.sum", "seed.go", "seed_test.go"));
  }
}

TEST_F(BuildCachesTest, ANameOfTheStandardSeedNeverComesFromARunThatCompiledDependencies) {
  runs_.in_vet = [](const std::string& cache) {
    stdfs::remove(cache + "/00/std-a");
    write(cache + "/00/std-a", "poison");
    write(cache + "/00/own-a", "object");
    stdfs::create_symlink("/etc/passwd", cache + "/00/link-d");
    stdfs::create_directory_symlink("/etc", cache + "/02");
  };
  BuildCaches all = caches();
  const auto made = fresh(all);
  EXPECT_EQ(text_of(made[0].directory + "/00/std-a"), "standard");
  EXPECT_EQ(text_of(made[0].directory + "/00/own-a"), "object");
  EXPECT_FALSE(stdfs::exists(stdfs::symlink_status(made[0].directory + "/00/link-d")));
  EXPECT_FALSE(stdfs::exists(stdfs::symlink_status(made[0].directory + "/02")));
  EXPECT_EQ(text_of(fresh(all, 1, BuildCache::seeded)[0].directory + "/00/std-a"), "standard");
}

TEST_F(BuildCachesTest, WhatCantBeCompiledIsDoneWithoutAndNotTriedAgainAtOnce) {
  runs_.dependencies_exit = 1;
  BuildCaches all = caches();
  for (int i = 0; i < 2; ++i) {
    const auto made = fresh(all);
    EXPECT_EQ(made[0].how, "seeded:linked");
    EXPECT_THAT(made[0].note, HasSubstr("no seed of dependencies"));
    EXPECT_THAT(made[0].note, HasSubstr("go vet"));
    EXPECT_FALSE(stdfs::exists(made[0].directory + "/01"));
  }
  EXPECT_EQ(runs_.count("vet", false), 1U);
  EXPECT_THAT(kept_names(), IsEmpty());
}

TEST_F(BuildCachesTest, AListThatIsNotWholeMakesNoSeed) {
  runs_.list.pop_back();
  BuildCaches all = caches();
  EXPECT_EQ(fresh(all)[0].how, "seeded:linked");
  EXPECT_EQ(runs_.count("vet", false), 0U);
}

TEST_F(BuildCachesTest, AModuleThatRequiresNothingNeedsNoRunAndNoNote) {
  write(temp_.path() / "source/go.mod", "module m\n\ngo 1.21\n");
  BuildCaches all = caches();
  const auto made = fresh(all);
  EXPECT_EQ(made[0].how, "seeded:linked");
  EXPECT_EQ(made[0].note, "");
  EXPECT_EQ(runs_.count("list", false), 0U);
}

TEST_F(BuildCachesTest, AManifestThatIsALinkIsNotFollowed) {
  stdfs::remove(temp_.path() / "source/go.mod");
  stdfs::create_symlink("/etc/passwd", temp_.path() / "source/go.mod");
  BuildCaches all = caches();
  const auto made = fresh(all);
  EXPECT_EQ(made[0].how, "seeded:linked");
  EXPECT_THAT(made[0].note, HasSubstr("no seed of dependencies"));
  EXPECT_EQ(runs_.count("list", false), 0U);
}

TEST_F(BuildCachesTest, OtherManifestsAreAnotherSeed) {
  BuildCaches all = caches();
  (void)fresh(all);
  another_manifest("v1.1.0");
  (void)fresh(all);
  EXPECT_EQ(kept_names().size(), 2U);
  EXPECT_EQ(runs_.count("vet", false), 2U);
}

TEST_F(BuildCachesTest, TheLeastRecentlyUsedSeedGoesWhenThereAreTooMany) {
  BuildCaches all = caches(2);
  (void)fresh(all);
  const std::string first = *kept_names().begin();
  another_manifest("v1.1.0");
  (void)fresh(all);
  write(temp_.path() / "source/go.mod", kManifest);
  (void)fresh(all);  // the first one is now the latest used
  another_manifest("v1.2.0");
  EXPECT_EQ(fresh(all)[0].how, "seeded:linked, dependencies:linked");
  EXPECT_EQ(kept_names().size(), 2U);
  EXPECT_TRUE(kept_names().contains(first));
  EXPECT_EQ(runs_.count("vet", false), 3U);
}

TEST_F(BuildCachesTest, ASeedBeyondTheBytesIsDoneWithoutAndLeavesNothing) {
  BuildCaches all = caches(10, 99);
  const auto made = fresh(all);
  EXPECT_THAT(made[0].note, HasSubstr("100 bytes"));
  EXPECT_EQ(made[0].how, "seeded:linked");
  EXPECT_THAT(made[0].note, HasSubstr("no seed of dependencies"));
  EXPECT_EQ(text_of(made[0].directory + "/00/std-a"), "standard");
  EXPECT_THAT(kept_names(), IsEmpty());
  EXPECT_THAT(names_in(temp_.path() / "data/gocache"), ::testing::SizeIs(1));
}

TEST_F(BuildCachesTest, ASeedThatAnotherWorkerEvictsMeanwhileIsDoneWithout) {
  BuildCaches all = caches();
  (void)fresh(all);
  for (const std::string& name : kept_names()) stdfs::remove_all(kept() / name / "cache");
  const auto made = fresh(all);
  EXPECT_EQ(made[0].how, "seeded:linked");
  EXPECT_THAT(made[0].note, HasSubstr("no seed of dependencies"));
  EXPECT_EQ(text_of(made[0].directory + "/00/std-a"), "standard");
}

TEST_F(BuildCachesTest, AWorkerThatKeepsNoneSaysSo) {
  BuildCaches all = caches(10, 0);
  EXPECT_THAT(fresh(all)[0].note, HasSubstr("keeps none"));
  EXPECT_EQ(runs_.count("list", false), 0U);
}

TEST_F(BuildCachesTest, ASweepTakesWhatIsHalfBuiltAndLeavesWhatIsWholeOrBeingBuilt) {
  BuildCaches all = caches();
  (void)fresh(all);
  const std::set<std::string> whole = kept_names();
  write(kept() / ".building-0a11-x/cache/00/x", "half");
  write(kept() / "0b22/cache/00/x", "no marker");
  write(kept() / ".building-0c33-x/cache/00/x", "of another worker");
  write(kept() / ".building-0d44-x/complete", "evicted");
  const auto held = fs::FileLock::take(kept() / "locks/0c");
  ASSERT_TRUE(held);

  bool swept = false;
  asio::co_spawn(
      io_, all.sweep(),
      [&swept](const std::exception_ptr&, const Result<std::vector<std::string>>& stubborn) {
        ASSERT_TRUE(stubborn) << stubborn.error().text();
        EXPECT_TRUE(stubborn->empty());
        swept = true;
      });
  io_.restart();
  while (!swept && io_.run_one() > 0) {
  }

  std::set<std::string> left = kept_names();
  EXPECT_EQ(left.erase(".building-0c33-x"), 1U);
  EXPECT_EQ(left, whole);
}

}  // namespace
}  // namespace cupel::worker
