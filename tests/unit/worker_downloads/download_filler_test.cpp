#include "worker/downloads/download_filler.hpp"

#include "tests/support/http_git_server.hpp"
#include "tests/support/recorded_sumdb.hpp"
#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

namespace cupel::worker {
namespace {

class DownloadFillerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto versions = dir_ / "modcache/cache/download/github.com/pkg/errors/@v";
    std::filesystem::create_directories(versions);
    for (const char* name : {"v0.9.1.zip", "v0.9.1.mod"}) {
      std::ofstream(versions / name, std::ios::binary)
          << tests::RecordedSumdb::read(std::string("module/") + name);
    }
  }
  std::unique_ptr<DownloadFiller> start(std::uint16_t port, std::uint64_t disk_reserve = 0) {
    auto filler = DownloadFiller::start(
        {.limits = {},
         .directory = dir_ / "cache",
         .database = tests::RecordedSumdb::database(),
         .proxies = sumdb::module_proxies("http://127.0.0.1:" + std::to_string(port)),
         .http = {},
         .disk_reserve_bytes = disk_reserve},
        [this](const FillReport& report, std::uint64_t /*bytes*/) { reports_.push_back(report); });
    EXPECT_TRUE(filler) << filler.error().text();
    return *std::move(filler);
  }
  [[nodiscard]] std::string modcache() const { return (dir_ / "modcache").string(); }
  /// Nobody listens there any more.
  static std::uint16_t closed_port() { return tests::Listener().port(); }

  tests::TempDir dir_;
  std::vector<FillReport> reports_;
};

TEST_F(DownloadFillerTest, CountsWhatNobodyAnsweredAndLetsTheModuleCacheGo) {
  const auto filler = start(closed_port());
  const auto keep = std::make_shared<int>(1);
  EXPECT_TRUE(filler->take(modcache(), keep));
  filler->wait_until_idle();
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_.front().counts.failed, 1U);
  EXPECT_EQ(keep.use_count(), 1);
  EXPECT_EQ(filler->cache().versions(), 0U);
}

TEST_F(DownloadFillerTest, AddsNothingWhereTheDiskIsKeptForOthers) {
  const auto filler = start(closed_port(), UINT64_MAX);
  EXPECT_TRUE(filler->take(modcache(), nullptr));
  filler->wait_until_idle();
  EXPECT_TRUE(reports_.empty());
}

TEST_F(DownloadFillerTest, HasAShortQueueAndEndsWhileItWaitsForAnAnswer) {
  const tests::SilentServer silent;
  auto filler = start(silent.port());
  std::size_t taken = 0;
  while (taken <= DownloadFiller::kQueueMax + 1 && filler->take(modcache(), nullptr)) ++taken;
  EXPECT_GE(taken, DownloadFiller::kQueueMax);
  EXPECT_LE(taken, DownloadFiller::kQueueMax + 1);
  const auto begin = std::chrono::steady_clock::now();

  filler.reset();

  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10))
      << "less than the limit of a request";
}

}  // namespace
}  // namespace cupel::worker
