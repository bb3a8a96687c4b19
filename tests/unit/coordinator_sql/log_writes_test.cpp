// The write-ahead log of the SQLite store, whose pages are written together.
#include "tests/unit/coordinator_sql/fixture.hpp"

#include <fstream>

namespace cupel::coordinator::sql {
namespace {

/// Write calls of this process so far.
std::uint64_t write_calls() {
  std::ifstream file("/proc/self/io");
  for (std::string key; file >> key;) {
    std::uint64_t value = 0;
    file >> value;
    if (key == "syscw:") return value;
  }
  return 0;
}

/// `count` events that fill about a page each.
std::vector<Transition> pages(std::uint32_t count) {
  std::vector<Transition> batch;
  for (std::uint32_t i = 1; i <= count; ++i) {
    batch.push_back(EventAppended{{i}, "a", R"({"x":")" + std::string(3'000, 'x') + "\"}", {}});
  }
  return batch;
}

class LogWritesTest : public testing::Test {
 protected:
  LogWritesTest() {
    EXPECT_TRUE(prepare_store(store_));
    auto writer = SqlWriter::open(store_);
    EXPECT_TRUE(writer);
    if (writer) writer_ = std::move(*writer);
  }
  ScratchDir dir_;
  std::filesystem::path file_ = dir_.path() / "store.db";
  StoreLocation store_{file_};
  std::unique_ptr<SqlWriter> writer_;
};

TEST_F(LogWritesTest, ThePagesOfACommitAreWrittenTogether) {
  ASSERT_TRUE(commit(*writer_, pages(1)));
  const std::uint64_t before = write_calls();

  ASSERT_TRUE(commit(*writer_, pages(100)));

  EXPECT_LT(write_calls() - before, 40U) << "two calls a page would be above 200";
}

TEST_F(LogWritesTest, WhatIsCommittedIsInTheFiles) {
  ASSERT_TRUE(commit(*writer_, pages(100)));

  // As after a power cut: only what is in the files.
  const auto copy = dir_.path() / "copy.db";
  std::filesystem::copy_file(file_, copy);
  std::filesystem::copy_file(file_.string() + "-wal", copy.string() + "-wal");

  const auto reader = SqlReader::open(StoreLocation{copy});
  ASSERT_TRUE(reader);
  const auto last = (*reader)->last_event();
  ASSERT_TRUE(last) << last.error().text();
  EXPECT_EQ(*last, 100U);
}

TEST_F(LogWritesTest, ATransactionLargerThanTheCacheReadsItsOwnPagesBack) {
  constexpr std::uint32_t kPages = 5'000;  // 20 MB, and the cache has 12

  const auto done = commit(*writer_, pages(kPages));

  ASSERT_TRUE(done) << done.error().text();
  const auto reader = SqlReader::open(store_);
  ASSERT_TRUE(reader);
  for (const std::uint64_t campaign : {1U, kPages / 2, kPages}) {
    const auto events = (*reader)->events_after(0, CampaignId{campaign}, 10);
    ASSERT_TRUE(events) << events.error().text();
    ASSERT_EQ(events->size(), 1U) << campaign;
    EXPECT_EQ(events->front().body.size(), 3'008U);
  }
}

}  // namespace
}  // namespace cupel::coordinator::sql
