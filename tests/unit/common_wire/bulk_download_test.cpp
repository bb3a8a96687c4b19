#include "tests/unit/common_wire/bulk_fixture.hpp"

namespace cupel::wire {
namespace {

class BulkDownloadTest : public BulkTest {};

TEST_F(BulkDownloadTest, ArrivesWhole) {
  const std::string bytes = some_bytes(25 * kChunk + 3);
  BulkDownload download(kLease, stored(bytes), kArtifactBytesMax);

  pump(download, download.begin(kSession, 1));

  EXPECT_EQ(download.state(), TransferState::done);
  EXPECT_EQ(fetched, bytes);
  EXPECT_EQ(server.transfers(), 0U);
}

TEST_F(BulkDownloadTest, OfNothingIsDone) {
  BulkDownload download(kLease, stored(""), kArtifactBytesMax);

  pump(download, download.begin(kSession, 1));

  EXPECT_EQ(download.state(), TransferState::done);
  EXPECT_EQ(fetched, "");
}

TEST_F(BulkDownloadTest, GetsNoMoreThanItsCredit) {
  const std::string bytes = some_bytes(60 * kChunk);
  BulkDownload download(kLease, stored(bytes), kArtifactBytesMax);
  const auto begin = download.begin(kSession, 1);

  EXPECT_TRUE(serve(begin.begin).empty());
  EXPECT_EQ(serve(begin.credit).size(), kBulkCredit);
  EXPECT_EQ(serve(GetCredit{kSession, 1, 1'000'000}).size(), kBulkCreditMax)
      << "a greedy peer gets no more at once";
}

TEST_F(BulkDownloadTest, ResumesAfterALoss) {
  const std::string bytes = some_bytes(20 * kChunk);
  BulkDownload download(kLease, stored(bytes), kArtifactBytesMax);

  pump(download, download.begin(kSession, 1), [](std::size_t number) { return number == 6; });
  ASSERT_EQ(download.state(), TransferState::stalled);
  EXPECT_EQ(download.received(), 6 * kChunk);
  pump(download, download.begin(kSession, 2));

  EXPECT_EQ(download.state(), TransferState::done);
  EXPECT_EQ(fetched, bytes);
}

TEST_F(BulkDownloadTest, PassesOverWhatArrivesTwice) {
  const std::string bytes = some_bytes(kChunk + 1);
  BulkDownload download(kLease, stored(bytes), kArtifactBytesMax);
  static_cast<void>(download.begin(kSession, 1));
  const GetChunk first{1, 0, bytes.size(), bytes.substr(0, kChunk)};

  EXPECT_EQ(download.on(first).append.size(), kChunk);
  EXPECT_EQ(download.on(first).append, "");
  EXPECT_EQ(download.on(GetChunk{9, kChunk, bytes.size(), "y"}).append, "") << "another transfer";
  EXPECT_EQ(download.on(GetChunk{1, kChunk, bytes.size(), bytes.substr(kChunk)}).append.size(), 1U);

  EXPECT_EQ(download.state(), TransferState::done);
}

TEST_F(BulkDownloadTest, WithTheWrongBytesFails) {
  const Digest promised = sha256("what was promised");
  store.complete[promised] = "something else";
  BulkDownload download(kLease, promised, kArtifactBytesMax);

  pump(download, download.begin(kSession, 1));

  EXPECT_EQ(download.state(), TransferState::failed);
  EXPECT_EQ(download.error()->code, Errc::artifact_mismatch);
}

TEST_F(BulkDownloadTest, OverItsLimitFailsBeforeAByteIsKept) {
  const std::string bytes = some_bytes(1001);
  BulkDownload download(kLease, stored(bytes), 1000);

  pump(download, download.begin(kSession, 1));

  EXPECT_EQ(download.error()->code, Errc::too_large);
  EXPECT_EQ(fetched, "");
}

TEST_F(BulkDownloadTest, ThatGrowsOnTheWayFails) {
  BulkDownload download(kLease, sha256("x"), 1000);
  static_cast<void>(download.begin(kSession, 1));
  static_cast<void>(download.on(GetChunk{1, 0, 10, "12345"}));

  EXPECT_EQ(download.on(GetChunk{1, 5, 900, "12345"}).append, "");
  EXPECT_EQ(download.error()->code, Errc::malformed_message);

  BulkDownload longer(kLease, sha256("x"), 1000);
  static_cast<void>(longer.begin(kSession, 1));
  EXPECT_EQ(longer.on(GetChunk{1, 0, 3, "12345"}).append, "");
  EXPECT_EQ(longer.error()->code, Errc::malformed_message);
}

TEST_F(BulkDownloadTest, WithoutALeaseIsRefused) {
  const Digest digest = stored("secret");
  BulkDownload download({TaskId{8}, Token{80}}, digest, 1000);

  pump(download, download.begin(kSession, 1));

  EXPECT_EQ(download.error()->code, Errc::lease_lost);
  EXPECT_EQ(fetched, "");
}

TEST_F(BulkDownloadTest, EndsWhenItsLeaseEnds) {
  const std::string bytes = some_bytes(20 * kChunk);
  BulkDownload download(kLease, stored(bytes), kArtifactBytesMax);
  const auto begin = download.begin(kSession, 1);
  static_cast<void>(serve(begin.begin));
  store.lease_is_live = false;

  EXPECT_EQ(refused(serve(begin.credit)), Errc::lease_lost);
  EXPECT_EQ(server.transfers(), 0U);
}

TEST_F(BulkDownloadTest, OfWhatIsNotThereFails) {
  BulkDownload download(kLease, sha256("nowhere"), 1000);

  pump(download, download.begin(kSession, 1));

  EXPECT_EQ(download.error()->code, Errc::not_found);
}

TEST_F(BulkDownloadTest, BeyondTheEndIsRefused) {
  EXPECT_EQ(refused(serve(GetBegin{kSession, 1, kLease, stored("abc"), 4})),
            Errc::refused_by_policy);
}

TEST_F(BulkDownloadTest, LearnsThatItHasEverything) {
  const std::string bytes = some_bytes(10);
  const Digest digest = stored(bytes);

  const auto answers = serve(GetBegin{kSession, 1, kLease, digest, 10});

  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(std::get<GetChunk>(answers[0]).size, 10U);
}

}  // namespace
}  // namespace cupel::wire
