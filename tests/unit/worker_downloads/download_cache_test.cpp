#include "worker/downloads/download_cache.hpp"

#include "common/fs/files.hpp"
#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <vector>

namespace cupel::worker {
namespace {

namespace stdfs = std::filesystem;

const sumdb::ModuleVersion kOne{"a.example/Big/One", "v1.0.0"};
const sumdb::ModuleVersion kTwo{"a.example/two", "v1.0.0"};
const sumdb::ModuleVersion kThree{"b.example/three", "v1.2.3"};

class DownloadCacheTest : public ::testing::Test {
 protected:
  std::unique_ptr<DownloadCache> open(DownloadLimits limits = {}) {
    auto cache = DownloadCache::open(dir_ / "cache", limits);
    EXPECT_TRUE(cache) << cache.error().text();
    return *std::move(cache);
  }
  static Result<void> place(DownloadCache& cache, const sumdb::ModuleVersion& module,
                            const std::string& bytes, DownloadPart part = DownloadPart::zip) {
    auto staged = StagedFile::write(bytes, cache.staging());
    if (!staged) return staged.error();
    return cache.place(module, part, *std::move(staged));
  }
  static void write(const stdfs::path& file, const std::string& bytes) {
    (void)fs::remove_tree(file);
    std::ofstream(file, std::ios::binary) << bytes;
  }
  static std::size_t files_in(const stdfs::path& directory) {
    std::size_t count = 0;
    for (const auto& entry : stdfs::recursive_directory_iterator(directory)) {
      count += entry.is_regular_file() ? 1 : 0;
    }
    return count;
  }

  tests::TempDir dir_;
};

TEST_F(DownloadCacheTest, HasTheLayoutOfAFileProxyThatContainersCanRead) {
  const auto cache = open();
  ASSERT_TRUE(place(*cache, kOne, "zip"));
  ASSERT_TRUE(place(*cache, kOne, "mod", DownloadPart::go_mod));
  const stdfs::path versions = cache->mount() / "a.example/!big/!one/@v";
  EXPECT_EQ(*fs::read_file(versions / "v1.0.0.zip", 10), "zip");
  EXPECT_EQ(*fs::read_file(versions / "v1.0.0.mod", 10), "mod");
  struct stat facts{};
  for (stdfs::path path = versions; path != cache->mount().parent_path();
       path = path.parent_path()) {
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0755U) << path;
  }
  ASSERT_EQ(::stat((versions / "v1.0.0.zip").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0444U);
  EXPECT_TRUE(stdfs::is_empty(cache->staging()));
}

TEST_F(DownloadCacheTest, RemembersWhatItHoldsOverARestart) {
  {
    const auto cache = open();
    ASSERT_TRUE(place(*cache, kOne, "zip"));
    ASSERT_TRUE(cache->tidy());
  }
  const auto cache = open();
  EXPECT_TRUE(cache->has(kOne, DownloadPart::zip));
  EXPECT_FALSE(cache->has(kOne, DownloadPart::info));
  EXPECT_EQ(cache->bytes(), 3U);
}

TEST_F(DownloadCacheTest, RemovesWhatTheIndexDoesNotKnow) {
  stdfs::path stranger;
  {
    const auto cache = open();
    ASSERT_TRUE(place(*cache, kOne, "zip"));
    ASSERT_TRUE(cache->tidy());
    ASSERT_TRUE(place(*cache, kTwo, "never noted"));
    stranger = cache->mount() / "a.example/!big/!one/@v/list";
    write(stranger, "v1.0.0\n");
    write(cache->staging() / "new-half", "half");
  }
  const auto cache = open();
  EXPECT_TRUE(cache->has(kOne, DownloadPart::zip));
  EXPECT_FALSE(cache->has(kTwo, DownloadPart::zip));
  EXPECT_FALSE(stdfs::exists(stranger)) << "a list of versions has to be fresh";
  EXPECT_EQ(files_in(cache->mount()), 2U) << "the one zip, and the marker";
  EXPECT_TRUE(stdfs::is_empty(cache->staging()));
}

TEST_F(DownloadCacheTest, FindsAndRemovesDamagedVersions) {
  const auto cache = open();
  ASSERT_TRUE(place(*cache, kOne, "the whole zip"));
  ASSERT_TRUE(place(*cache, kOne, "mod", DownloadPart::go_mod));
  ASSERT_TRUE(place(*cache, kTwo, "another zip"));
  ASSERT_TRUE(place(*cache, kThree, "third zip"));
  write(cache->mount() / "a.example/!big/!one/@v/v1.0.0.zip", "the whol");
  (void)fs::remove_tree(cache->mount() / "a.example/two/@v/v1.0.0.zip");

  const auto damaged = cache->tidy();

  ASSERT_TRUE(damaged);
  EXPECT_EQ(*damaged, 2U);
  EXPECT_FALSE(cache->has(kOne, DownloadPart::go_mod));
  EXPECT_TRUE(cache->has(kThree, DownloadPart::zip));
  EXPECT_EQ(cache->bytes(), 9U);
  EXPECT_FALSE(stdfs::exists(cache->mount() / "a.example")) << "empty folders go as well";
}

TEST_F(DownloadCacheTest, ARecheckFindsDamageThatKeptTheSize) {
  const auto cache = open();
  ASSERT_TRUE(place(*cache, kOne, "the whole zip"));
  ASSERT_TRUE(place(*cache, kTwo, "another zip"));
  write(cache->mount() / "a.example/!big/!one/@v/v1.0.0.zip", "the whole zap");
  EXPECT_EQ(*cache->tidy(), 0U) << "sizes are all that it looks at";
  EXPECT_EQ(cache->to_blame(0, true).value(), true);
  EXPECT_FALSE(cache->has(kOne, DownloadPart::zip));
  EXPECT_TRUE(cache->has(kTwo, DownloadPart::zip));
}

TEST_F(DownloadCacheTest, ItIsToBlameForRunsThatSawADamagedFile) {
  const auto cache = open();
  ASSERT_TRUE(place(*cache, kOne, "the whole zip"));
  const auto before = cache->damaged();
  EXPECT_EQ(cache->to_blame(before, true).value(), false);
  write(cache->mount() / "a.example/!big/!one/@v/v1.0.0.zip", "the whole zap");

  EXPECT_EQ(cache->to_blame(before, true).value(), true);

  EXPECT_FALSE(cache->has(kOne, DownloadPart::zip));
  EXPECT_EQ(cache->to_blame(before, true).value(), true) << "another run that saw it";
  EXPECT_EQ(cache->to_blame(cache->damaged(), true).value(), false) << "one that began later";
}

TEST_F(DownloadCacheTest, FailuresThatMayHaveAnyCauseDontReadItAllTheTime) {
  const auto cache = open({.recheck_pause = 1'000'000});
  ASSERT_TRUE(place(*cache, kOne, "the whole zip"));
  EXPECT_EQ(cache->to_blame(0, false).value(), false);
  write(cache->mount() / "a.example/!big/!one/@v/v1.0.0.zip", "the whole zap");

  EXPECT_EQ(cache->to_blame(0, false).value(), false);
  EXPECT_EQ(cache->to_blame(0, true).value(), true);
}

TEST_F(DownloadCacheTest, TheLeastRecentlyUsedGoFirst) {
  const auto cache = open({.bytes_max = 20});
  ASSERT_TRUE(place(*cache, kOne, "0123456789"));
  ASSERT_TRUE(place(*cache, kTwo, "0123456789"));
  cache->used(kOne);
  ASSERT_TRUE(place(*cache, kThree, "0123456789"));
  ASSERT_TRUE(cache->tidy());
  EXPECT_TRUE(cache->has(kOne, DownloadPart::zip));
  EXPECT_FALSE(cache->has(kTwo, DownloadPart::zip));
  EXPECT_TRUE(cache->has(kThree, DownloadPart::zip));
  EXPECT_EQ(cache->bytes(), 20U);
}

TEST_F(DownloadCacheTest, TheOrderOfUseOutlivesARestart) {
  {
    const auto cache = open();
    ASSERT_TRUE(place(*cache, kOne, "0123456789"));
    ASSERT_TRUE(place(*cache, kTwo, "0123456789"));
    cache->used(kOne);
    ASSERT_TRUE(cache->tidy());
  }
  const auto cache = open({.bytes_max = 10});
  EXPECT_TRUE(cache->has(kOne, DownloadPart::zip));
  EXPECT_EQ(cache->versions(), 1U);
}

TEST_F(DownloadCacheTest, KeepsToItsCountOfVersions) {
  const auto cache = open({.versions_max = 2});
  for (const auto& module : {kOne, kTwo, kThree}) ASSERT_TRUE(place(*cache, module, "zip"));
  ASSERT_TRUE(cache->tidy());
  EXPECT_EQ(cache->versions(), 2U);
  EXPECT_FALSE(cache->has(kOne, DownloadPart::zip));
}

TEST_F(DownloadCacheTest, RefusesAFileOverItsLimit) {
  const auto cache = open({.file_bytes_max = 4});
  EXPECT_EQ(place(*cache, kOne, "12345").error().code, Errc::too_large);
  EXPECT_TRUE(stdfs::is_empty(cache->staging()));
  EXPECT_EQ(cache->bytes(), 0U);
}

TEST_F(DownloadCacheTest, TheSameFileMayBePlacedByManyAtOnce) {
  const auto cache = open();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&cache] {
      for (int n = 0; n < 25; ++n) EXPECT_TRUE(place(*cache, kOne, "the same"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cache->bytes(), 8U);
  EXPECT_EQ(*cache->tidy(), 0U);
  EXPECT_EQ(files_in(cache->mount()), 2U);
}

TEST_F(DownloadCacheTest, ADamagedIndexMeansAnEmptyCache) {
  {
    const auto cache = open();
    ASSERT_TRUE(place(*cache, kOne, "zip"));
    ASSERT_TRUE(cache->tidy());
  }
  write(dir_ / "cache/index", "something else");
  const auto cache = open();
  EXPECT_EQ(cache->versions(), 0U);
  EXPECT_EQ(files_in(cache->mount()), 1U);
}

}  // namespace
}  // namespace cupel::worker
