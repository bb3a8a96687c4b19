#include "worker/downloads/module_fill.hpp"

#include "common/fs/files.hpp"
#include "tests/support/recorded_sumdb.hpp"
#include "tests/support/temp_dir.hpp"
#include "worker/downloads/zip_sum.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace cupel::worker {
namespace {

namespace stdfs = std::filesystem;
using tests::RecordedSumdb;

const sumdb::ModuleVersion kErrors{"github.com/pkg/errors", "v0.9.1"};
constexpr const char* kInfoPath = "github.com/pkg/errors/@v/v0.9.1.info";
constexpr const char* kLookupPath = "lookup/github.com/pkg/errors@v0.9.1";

class ModuleFillTest : public ::testing::Test {
 protected:
  void SetUp() override {
    stdfs::create_directories(versions());
    write(versions() / "v0.9.1.zip", RecordedSumdb::read("module/v0.9.1.zip"));
    write(versions() / "v0.9.1.mod", RecordedSumdb::read("module/v0.9.1.mod"));
    write(versions() / "v0.9.1.info", R"({"Version":"v0.9.1","Time":"1999-01-01T00:00:00Z"})");
    write(versions() / "list", "v0.9.1\n");
    write(versions() / "v0.9.1.lock", "");
    server_.instead[kInfoPath] = RecordedSumdb::read("module/v0.9.1.info");
    stdfs::create_directories(dir_ / "trees");
    cache_ = *DownloadCache::open(dir_ / "cache", {.file_bytes_max = 1 << 20});
    database_ = std::make_unique<sumdb::ChecksumDatabase>(
        sumdb::DatabaseSettings{.database = RecordedSumdb::database(),
                                .proxies = sumdb::module_proxies("https://proxy.example"),
                                .directory = dir_ / "trees"},
        server_.fetch());
    fill_ = std::make_unique<ModuleFill>(
        *cache_, *database_, sumdb::module_proxies("https://proxy.example"), server_.fetch());
  }
  [[nodiscard]] stdfs::path modcache() const { return dir_ / "modcache"; }
  [[nodiscard]] stdfs::path versions() const {
    return modcache() / "cache/download/github.com/pkg/errors/@v";
  }
  static void write(const stdfs::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
  }
  FillReport fill() { return fill_->fill(modcache(), stop_); }
  [[nodiscard]] std::string cached(const std::string& ending) const {
    const auto bytes =
        fs::read_file(cache_->mount() / "github.com/pkg/errors/@v" / ("v0.9.1." + ending), 1 << 20);
    return bytes ? *bytes : std::string();
  }

  tests::TempDir dir_;
  RecordedSumdb server_;
  std::unique_ptr<DownloadCache> cache_;
  std::unique_ptr<sumdb::ChecksumDatabase> database_;
  std::unique_ptr<ModuleFill> fill_;
  std::atomic<bool> stop_ = false;
};

TEST_F(ModuleFillTest, TakesWhatTheDatabaseProves) {
  const FillReport report = fill();
  EXPECT_EQ(report.counts.versions, 1U);
  EXPECT_TRUE(report.errors.empty()) << report.errors.front().text();
  EXPECT_EQ(cached("zip"), RecordedSumdb::read("module/v0.9.1.zip"));
  EXPECT_EQ(cached("mod"), RecordedSumdb::read("module/v0.9.1.mod"));
  EXPECT_GT(report.counts.bytes, cached("zip").size());
}

TEST_F(ModuleFillTest, TheInfoIsThatOfTheProxyAndNotOfTheContainer) {
  (void)fill();
  EXPECT_EQ(cached("info"), R"({"Time":"2020-01-14T19:47:44Z","Version":"v0.9.1"})");
}

TEST_F(ModuleFillTest, HoldsNoListOfVersions) {
  (void)fill();
  EXPECT_FALSE(stdfs::exists(cache_->mount() / "github.com/pkg/errors/@v/list"));
}

TEST_F(ModuleFillTest, AsksNobodyForWhatIsThere) {
  (void)fill();
  server_.asked.clear();
  const FillReport report = fill();
  EXPECT_EQ(report.counts.versions, 0U);
  EXPECT_TRUE(server_.asked.empty());
}

TEST_F(ModuleFillTest, RefusesAZipThatWasChanged) {
  std::string zip = RecordedSumdb::read("module/v0.9.1.zip");
  // One letter of a stored name in the central directory and in the local header: another module.
  for (std::size_t at = zip.find("errors.go"); at != std::string::npos;
       at = zip.find("errors.go", at + 1)) {
    zip[at] = 'E';
  }
  write(versions() / "v0.9.1.zip", zip);
  const FillReport report = fill();
  EXPECT_EQ(report.counts.changed, 1U);
  EXPECT_EQ(cached("zip"), "");
  EXPECT_EQ(cached("info"), "");
  ASSERT_EQ(report.errors.size(), 1U);
  EXPECT_EQ(report.errors.front().code, Errc::artifact_mismatch);
  EXPECT_TRUE(stdfs::is_empty(cache_->staging()));
}

TEST_F(ModuleFillTest, RefusesAZipThatIsCutOrNoZip) {
  write(versions() / "v0.9.1.zip", RecordedSumdb::read("module/v0.9.1.zip").substr(0, 9000));
  EXPECT_EQ(fill().counts.changed, 1U);
  write(versions() / "v0.9.1.zip", "no zip");
  EXPECT_EQ(fill().counts.changed, 1U);
  EXPECT_EQ(cached("zip"), "");
}

TEST_F(ModuleFillTest, RefusesAGoModThatWasChanged) {
  write(versions() / "v0.9.1.mod", "module github.com/pkg/errors\n\ngo 1.99\n");
  const FillReport report = fill();
  EXPECT_EQ(report.counts.changed, 1U);
  EXPECT_EQ(cached("mod"), "");
  EXPECT_EQ(cached("zip"), "") << "a run that changed one file is not believed for another";
}

TEST_F(ModuleFillTest, FollowsNoLink) {
  const std::string zip = RecordedSumdb::read("module/v0.9.1.zip");
  write(dir_ / "elsewhere.zip", zip);
  stdfs::remove(versions() / "v0.9.1.zip");
  stdfs::create_symlink(dir_ / "elsewhere.zip", versions() / "v0.9.1.zip");
  const FillReport report = fill();
  EXPECT_EQ(report.counts.failed, 1U);
  EXPECT_EQ(cached("zip"), "");
  stdfs::rename(modcache() / "cache/download/github.com", dir_ / "github.com");
  stdfs::create_directory_symlink(dir_ / "github.com", modcache() / "cache/download/github.com");
  EXPECT_TRUE(RunModules::open(modcache())->list().empty());
}

TEST_F(ModuleFillTest, AFileOverTheLimitIsLeftOut) {
  write(versions() / "v0.9.1.zip", std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(fill().counts.unknown, 1U);
  EXPECT_EQ(cached("zip"), "");
}

TEST_F(ModuleFillTest, NothingIsTakenFromADatabaseThatLies) {
  std::string answer = RecordedSumdb::read(kLookupPath);
  char& letter = answer[answer.size() - 20];
  letter = letter == 'A' ? 'B' : 'A';
  server_.instead[kLookupPath] = answer;
  const FillReport report = fill();
  EXPECT_EQ(report.counts.forged, 1U);
  EXPECT_EQ(cache_->versions(), 0U);
}

TEST_F(ModuleFillTest, AModuleThatTheDatabaseDoesNotKnowIsAskedForOnce) {
  server_.statuses[kLookupPath] = 404;
  EXPECT_EQ(fill().counts.unknown, 1U);
  EXPECT_EQ(fill().counts.unknown, 0U);
  EXPECT_EQ(server_.count("lookup/"), 1U);
  EXPECT_EQ(cache_->versions(), 0U);
}

TEST_F(ModuleFillTest, WithoutAnInfoTheRestIsOfUse) {
  server_.instead.erase(kInfoPath);
  const FillReport report = fill();
  EXPECT_EQ(report.counts.versions, 1U);
  EXPECT_EQ(cached("info"), "");
  EXPECT_NE(cached("zip"), "");
}

TEST_F(ModuleFillTest, AModuleCacheWithoutDownloadsIsNoError) {
  (void)fs::remove_tree(modcache() / "cache");
  const FillReport report = fill();
  EXPECT_TRUE(report.errors.empty());
  EXPECT_EQ(report.counts.versions, 0U);
}

TEST_F(ModuleFillTest, AStopEndsItBeforeTheFirstQuestion) {
  stop_ = true;
  EXPECT_EQ(fill().counts.versions, 0U);
  EXPECT_TRUE(server_.asked.empty());
}

TEST(PlainInfo, IsVersionAndTimeOfExactlyThisVersion) {
  EXPECT_EQ(
      *plain_info(R"({"Version":"v1.0.0","Time":"2020-01-14T19:47:44Z","Origin":{}})", "v1.0.0"),
      R"({"Time":"2020-01-14T19:47:44Z","Version":"v1.0.0"})");
  EXPECT_EQ(*plain_info(R"({"Version":"v1.0.0"})", "v1.0.0"), R"({"Version":"v1.0.0"})");
  for (const char* odd : {"", "[]", "{}", R"({"Version":"v1.0.1"})", R"({"Version":1})",
                          R"({"Version":"v1.0.0","Time":5})", R"({"Version":"v1.0.0","Time":"x"})",
                          R"({"Version":"v1.0.0","Time":"2020-01-14T19:47:44\n"})"}) {
    EXPECT_FALSE(plain_info(odd, "v1.0.0")) << odd;
  }
}

TEST(ZipSum, IsBoundedByWhatIsReallyUnpacked) {
  const std::string zip = std::string(CUPEL_SOURCE_DIR) + "/tests/fixtures/sumdb/module/v0.9.1.zip";
  EXPECT_EQ(*zip_sum(zip), "h1:FEBLx1zS214owpjy7qsBeixbURkuhQAwrK5UwLGTwt4=");
  EXPECT_EQ(zip_sum(zip, {.unpacked_bytes = 1000}).error().code, Errc::too_large);
  EXPECT_EQ(zip_sum(zip, {.files = 2}).error().code, Errc::too_large);
  EXPECT_FALSE(zip_sum(zip + ".none"));
}

}  // namespace
}  // namespace cupel::worker
