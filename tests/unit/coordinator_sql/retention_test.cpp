#include "coordinator/fs/artifact_store.hpp"
#include "tests/unit/coordinator_sql/fixture.hpp"

#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>

namespace cupel::coordinator::sql {
namespace {

constexpr std::int64_t kDay = 86'400'000'000;

Result<std::uint64_t> expire(SqlWriter& writer, WallTime before, std::uint32_t limit = 1000) {
  std::promise<Result<std::uint64_t>> promise;
  writer.expire_events(
      before, limit, [&](Result<std::uint64_t> removed) { promise.set_value(std::move(removed)); });
  return promise.get_future().get();
}

Transition event(CampaignId campaign, std::int64_t day) {
  return EventAppended{campaign, "test", "{}", {day * kDay}};
}

using RetentionTest = StoreTest;
CUPEL_ON_BOTH_STORES(RetentionTest);

TEST_P(RetentionTest, OldEventsGoAndThoseOfOpenCampaignsStay) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  const std::uint64_t before = *reader_->last_event();
  for (const Transition& one :
       {event({}, 1), event(kCampaign, 1), event({}, 2), event({}, 9), event({}, 3)}) {
    ASSERT_TRUE(commit(*writer_, {one}));
  }

  EXPECT_EQ(*expire(*writer_, {5 * kDay}), 2U) << "not the open campaign's, not the last one";

  const auto left = reader_->events_after(before, std::nullopt, 100);
  ASSERT_TRUE(left);
  ASSERT_EQ(left->size(), 3U);
  EXPECT_EQ((*left)[0].campaign, kCampaign);
  ASSERT_TRUE(commit(*writer_, {CampaignChanged{kCampaign, CampaignState::cancelled, {6 * kDay}}}));
  EXPECT_EQ(*expire(*writer_, {5 * kDay}), 1U);
}

TEST_P(RetentionTest, NumbersGoOnAfterEverythingOldIsGone) {
  ASSERT_TRUE(commit(*writer_, {event({}, 1), event({}, 1), event({}, 1)}));
  const std::uint64_t last = *reader_->last_event();
  ASSERT_TRUE(expire(*writer_, {100 * kDay}));
  writer_.reset();
  writer_ = open_writer();

  const auto applied = commit(*writer_, {event({}, 2)});

  ASSERT_TRUE(applied);
  EXPECT_EQ(applied->events.front().seq, last + 1);
}

TEST_P(RetentionTest, OneCommitRemovesNoMoreThanItsLimit) {
  for (int i = 0; i < 25; ++i) ASSERT_TRUE(commit(*writer_, {event({}, 1)}));

  EXPECT_EQ(*expire(*writer_, {5 * kDay}, 10), 10U);
  EXPECT_EQ(*expire(*writer_, {5 * kDay}, 10), 10U);
  EXPECT_EQ(*expire(*writer_, {5 * kDay}, 10), 4U);
}

TEST_P(RetentionTest, EventsThatShareARowAreCountedOneByOne) {
  ASSERT_TRUE(commit(*writer_, {event({}, 1), event({}, 1), event({}, 1)}));
  ASSERT_TRUE(commit(*writer_, {event({}, 9)}));
  EXPECT_EQ(*expire(*writer_, {5 * kDay}), 3U);
}

TEST_P(RetentionTest, AnOpenCampaignHoldsBackTheAgeOfArtifacts) {
  EXPECT_FALSE(reader_->artifacts_needed()->open_since);
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  EXPECT_TRUE(reader_->artifacts_needed()->open_since);
}

class ExpiryTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = fs::ArtifactStore::open(dir_.path() / "artifacts", {1000, 0});
    ASSERT_TRUE(opened);
    store_.emplace(std::move(*opened));
  }
  Digest put(const std::string& bytes, std::int64_t day) {
    const Digest digest = sha256(bytes);
    EXPECT_TRUE(store_->open_put(digest, bytes.size()));
    EXPECT_TRUE(store_->append(digest, 0, bytes));
    EXPECT_TRUE(store_->finish_put(digest));
    age(store_->path(digest), day);
    return digest;
  }
  static void age(const std::filesystem::path& file, std::int64_t day) {
    const timespec time{.tv_sec = day * 86'400, .tv_nsec = 0};
    const timespec both[] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), both, 0), 0);
  }
  ScratchDir dir_;
  std::optional<fs::ArtifactStore> store_;
};

TEST_F(ExpiryTest, OldArtifactsGoUnlessTheyAreNeeded) {
  const Digest old = put("old", 1);
  const Digest tool = put("tool", 1);
  const Digest asked_for = put("asked for", 1);
  const Digest young = put("young", 9);
  EXPECT_TRUE(store_->open_put(asked_for, 9)->complete) << "touched: somebody sends it again";

  const auto expired =
      store_->expire({.before = {5 * kDay}, .partials_before = {}, .keep = {tool}, .stop = {}});

  ASSERT_TRUE(expired);
  EXPECT_EQ(expired->removed, 1U);
  EXPECT_EQ(expired->removed_bytes, 3U);
  EXPECT_EQ(expired->kept, 3U);
  EXPECT_FALSE(store_->size(old));
  EXPECT_TRUE(store_->size(tool));
  EXPECT_TRUE(store_->size(young));
}

TEST_F(ExpiryTest, UploadsThatNeverEndedGo) {
  const Digest digest = sha256("whole");
  ASSERT_TRUE(store_->open_put(digest, 5));
  ASSERT_TRUE(store_->append(digest, 0, "wh"));
  age(dir_.path() / "artifacts" / "partial" / digest.hex(), 1);

  ASSERT_TRUE(
      store_->expire({.before = {}, .partials_before = {5 * kDay}, .keep = {}, .stop = {}}));

  EXPECT_EQ(store_->open_put(digest, 5)->offset, 0U);
}

}  // namespace
}  // namespace cupel::coordinator::sql
