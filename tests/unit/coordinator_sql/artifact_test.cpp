#include "coordinator/fs/artifact_store.hpp"
#include "coordinator/fs/live_logs.hpp"
#include "coordinator/fs/plan_store.hpp"
#include "tests/unit/coordinator_sql/fixture.hpp"

namespace cupel::coordinator::fs {
namespace {

class ArtifactTest : public testing::Test {
 protected:
  ArtifactStore open(ArtifactLimits limits = {1000, 0}) {
    auto store = ArtifactStore::open(dir_.path() / "artifacts", limits);
    EXPECT_TRUE(store);
    return std::move(*store);
  }
  sql::ScratchDir dir_;
  const std::string bytes_ = "some bytes of a log";
  const Digest digest_ = sha256(bytes_);
};

TEST_F(ArtifactTest, AnInterruptedUploadGoesOnWhereItEnded) {
  {
    ArtifactStore store = open();
    ASSERT_EQ(store.open_put(digest_, bytes_.size())->offset, 0U);
    ASSERT_TRUE(store.append(digest_, 0, bytes_.substr(0, 5)));
    EXPECT_FALSE(store.size(digest_));
  }
  ArtifactStore store = open();

  ASSERT_EQ(store.open_put(digest_, bytes_.size())->offset, 5U);
  ASSERT_TRUE(store.append(digest_, 5, bytes_.substr(5)));
  ASSERT_TRUE(store.finish_put(digest_));

  EXPECT_EQ(store.size(digest_), bytes_.size());
  EXPECT_EQ(*store.read(digest_, 5, 5), "bytes");
  EXPECT_TRUE(store.open_put(digest_, bytes_.size())->complete);
}

TEST_F(ArtifactTest, BytesThatAreNotThePromisedOnesAreDropped) {
  ArtifactStore store = open();
  ASSERT_TRUE(store.open_put(digest_, 5));
  ASSERT_TRUE(store.append(digest_, 0, "wrong"));

  EXPECT_EQ(store.finish_put(digest_).error().code, Errc::artifact_mismatch);
  EXPECT_FALSE(store.size(digest_));
  EXPECT_EQ(store.open_put(digest_, 5)->offset, 0U);
}

TEST_F(ArtifactTest, APieceAtTheWrongPlaceIsRefused) {
  ArtifactStore store = open();
  ASSERT_TRUE(store.open_put(digest_, bytes_.size()));
  EXPECT_EQ(store.append(digest_, 3, "x").error().code, Errc::conflict);
}

TEST_F(ArtifactTest, SizeAndReserveAreLimits) {
  ArtifactStore store = open({1000, 0});
  EXPECT_EQ(store.open_put(digest_, 1001).error().code, Errc::too_large);
  ASSERT_TRUE(store.open_put(digest_, 10));
  EXPECT_EQ(store.append(digest_, 0, std::string(1001, 'x')).error().code, Errc::too_large);
  ArtifactStore full = open({1000, UINT64_MAX / 2});
  EXPECT_EQ(full.open_put(sha256("other"), 10).error().code, Errc::disk_full);
}

TEST_F(ArtifactTest, AnUploadInOneGoStaysOnlyWhenItsDigestIsRight) {
  const ArtifactStore store = open();
  {
    auto upload = store.upload(digest_);
    ASSERT_TRUE(upload);
    ASSERT_TRUE((*upload)->write("wrong"));
    EXPECT_EQ((*upload)->finish().error().code, Errc::artifact_mismatch);
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path() / "artifacts" / "incoming"));
  auto upload = store.upload(digest_);
  ASSERT_TRUE((*upload)->write(bytes_));
  ASSERT_EQ(*(*upload)->finish(), bytes_.size());
  EXPECT_EQ(store.size(digest_), bytes_.size());
}

LogTail tail(std::uint64_t token, std::uint64_t offset, std::string bytes) {
  return {{7}, {token}, CheckKind::test, Stream::out, offset, std::move(bytes)};
}

TEST(LiveLogs, PutsPiecesTogetherAndIgnoresRepetitions) {
  LiveLogs logs;
  logs.add(tail(1, 0, "abc"));
  logs.add(tail(1, 1, "bcd"));
  logs.add(tail(1, 0, "ab"));

  const auto view = logs.read({7}, CheckKind::test, Stream::out);

  ASSERT_TRUE(view);
  EXPECT_EQ(view->bytes, "abcd");
  EXPECT_EQ(view->offset, 0U);
}

TEST(LiveLogs, StartsAnewAfterAGapOrForAnotherAttempt) {
  LiveLogs logs;
  logs.add(tail(1, 0, "abc"));
  logs.add(tail(1, 10, "xyz"));
  EXPECT_EQ(logs.read({7}, CheckKind::test, Stream::out)->offset, 10U);
  logs.add(tail(2, 0, "new"));
  EXPECT_EQ(logs.read({7}, CheckKind::test, Stream::out)->bytes, "new");
}

TEST(LiveLogs, KeepsTheEndOfAStreamAndItsTotalInBounds) {
  LiveLogs logs({4, 6});
  logs.add(tail(1, 0, "abcdef"));
  EXPECT_EQ(logs.read({7}, CheckKind::test, Stream::out)->bytes, "cdef");
  EXPECT_EQ(logs.read({7}, CheckKind::test, Stream::out)->offset, 2U);
  logs.add({{8}, {1}, CheckKind::test, Stream::out, 0, "1234"});
  EXPECT_FALSE(logs.read({7}, CheckKind::test, Stream::out));
  EXPECT_EQ(logs.bytes(), 4U);
  logs.drop({8});
  EXPECT_EQ(logs.bytes(), 0U);
}

TEST(PlanStore, GivesBackWhatWasPutAndRefusesPaths) {
  const sql::ScratchDir dir;
  auto plans = PlanStore::open(dir.path() / "plans");
  ASSERT_TRUE(plans);
  const auto id = plans->put("{}");
  ASSERT_TRUE(id);

  EXPECT_EQ(*plans->get(*id), "{}");
  EXPECT_EQ(plans->get("p-../../etc/passwd").error().code, Errc::not_found);
  EXPECT_EQ(plans->get("p-7").error().code, Errc::not_found);
}

}  // namespace
}  // namespace cupel::coordinator::fs
