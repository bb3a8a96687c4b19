#include "tests/unit/common_wire/bulk_fixture.hpp"

namespace cupel::wire {
namespace {

class BulkUploadTest : public BulkTest {};

TEST_F(BulkUploadTest, ArrivesWhole) {
  const std::string bytes = some_bytes(20 * kChunk + 5);
  BulkUpload upload(kLease, sha256(bytes), bytes.size());

  deliver(upload, serve(upload.begin(kSession, 1)));
  pump(upload, bytes);

  EXPECT_EQ(upload.state(), TransferState::done);
  EXPECT_EQ(store.complete.at(sha256(bytes)), bytes);
  EXPECT_EQ(server.transfers(), 0U);
  EXPECT_EQ(server.counters().bytes_in, bytes.size());
}

TEST_F(BulkUploadTest, OfNothingIsDoneAtOnce) {
  BulkUpload upload(kLease, sha256(""), 0);

  deliver(upload, serve(upload.begin(kSession, 1)));

  EXPECT_EQ(upload.state(), TransferState::done);
  EXPECT_TRUE(store.complete.contains(sha256("")));
}

TEST_F(BulkUploadTest, OfWhatIsThereAlreadySendsNoByte) {
  const std::string bytes = some_bytes(1000);
  BulkUpload upload(kLease, stored(bytes), bytes.size());

  deliver(upload, serve(upload.begin(kSession, 1)));

  EXPECT_EQ(upload.state(), TransferState::done);
  EXPECT_EQ(server.counters().bytes_in, 0U);
}

TEST_F(BulkUploadTest, NeverSendsMoreThanItsCredit) {
  const std::string bytes = some_bytes(40 * kChunk);
  BulkUpload upload(kLease, sha256(bytes), bytes.size());
  EXPECT_FALSE(upload.next()) << "nothing before the coordinator is ready";
  const auto ready = serve(upload.begin(kSession, 1));
  EXPECT_FALSE(upload.next());
  deliver(upload, ready);

  std::size_t sent = 0;
  while (const auto piece = upload.next()) {
    static_cast<void>(upload.chunk(bytes.substr(piece->offset, piece->bytes)));
    ++sent;
  }

  EXPECT_EQ(sent, kBulkCredit);
}

TEST_F(BulkUploadTest, WithAChunkOverTheChunkSizeIsRefused) {
  static_cast<void>(serve(PutBegin{kSession, 1, kLease, sha256("x"), 4 * kChunk}));

  EXPECT_EQ(refused(serve(PutChunk{kSession, 1, 0, std::string(kChunk + 1, 'x')})),
            Errc::refused_by_policy);
  EXPECT_EQ(server.transfers(), 0U);
}

TEST_F(BulkUploadTest, ResumesAfterAReconnect) {
  const std::string bytes = some_bytes(12 * kChunk);
  BulkUpload upload(kLease, sha256(bytes), bytes.size());
  deliver(upload, serve(upload.begin(kSession, 1)));
  pump(upload, bytes, 5);
  upload.interrupt();
  EXPECT_EQ(upload.state(), TransferState::stalled);
  EXPECT_FALSE(upload.next());
  server.drop_session(kSession);

  deliver(upload, serve(upload.begin(kSession + 1, 2)));
  EXPECT_EQ(upload.next()->offset, 5 * kChunk);
  pump(upload, bytes);

  EXPECT_EQ(upload.state(), TransferState::done);
  EXPECT_EQ(server.counters().bytes_in, bytes.size()) << "nothing was sent twice";
}

TEST_F(BulkUploadTest, BeginsAgainWhenAChunkWasLost) {
  const std::string bytes = some_bytes(6 * kChunk);
  BulkUpload upload(kLease, sha256(bytes), bytes.size());
  deliver(upload, serve(upload.begin(kSession, 1)));
  static_cast<void>(upload.chunk(bytes.substr(0, kChunk)));  // lost on the way
  pump(upload, bytes, 1);
  EXPECT_EQ(upload.state(), TransferState::stalled);

  deliver(upload, serve(upload.begin(kSession, 2)));
  pump(upload, bytes);

  EXPECT_EQ(upload.state(), TransferState::done);
}

TEST_F(BulkUploadTest, PassesOverWhatArrivesTwice) {
  const std::string bytes = some_bytes(3 * kChunk);
  BulkUpload upload(kLease, sha256(bytes), bytes.size());
  const PutBegin begin = upload.begin(kSession, 1);
  deliver(upload, serve(begin));
  deliver(upload, serve(begin));
  while (const auto piece = upload.next()) {
    const PutChunk chunk = upload.chunk(bytes.substr(piece->offset, piece->bytes));
    deliver(upload, serve(chunk));
    deliver(upload, serve(chunk));
  }

  EXPECT_EQ(upload.state(), TransferState::done);
  EXPECT_EQ(server.counters().ignored, 3U);
  EXPECT_EQ(store.complete.at(sha256(bytes)), bytes);
}

TEST_F(BulkUploadTest, IgnoresWhatIsMeantForAnOlderTransfer) {
  const std::string bytes = some_bytes(3 * kChunk);
  BulkUpload upload(kLease, sha256(bytes), bytes.size());
  deliver(upload, serve(upload.begin(kSession, 1)));
  upload.interrupt();
  static_cast<void>(upload.begin(kSession, 2));

  upload.on(PutDone{1});
  upload.on(BulkRefuse{1, Errc::lease_lost, ""});
  upload.on(PutReady{1, 0, 8, false});

  EXPECT_EQ(upload.state(), TransferState::running);
  EXPECT_FALSE(upload.next());
}

TEST_F(BulkUploadTest, WithTheWrongBytesIsRefused) {
  const std::string bytes = some_bytes(2 * kChunk);
  BulkUpload upload(kLease, sha256("other bytes"), bytes.size());
  deliver(upload, serve(upload.begin(kSession, 1)));
  pump(upload, bytes);

  EXPECT_EQ(upload.state(), TransferState::failed);
  EXPECT_EQ(upload.error()->code, Errc::artifact_mismatch);
  EXPECT_EQ(server.counters().mismatched, 1U);
  EXPECT_TRUE(store.complete.empty());
}

TEST_F(BulkUploadTest, StartsOverWhenWhatLayThereWasWrong) {
  const std::string bytes = some_bytes(4 * kChunk);
  store.partial[sha256(bytes)] = std::string(kChunk, 'x');  // left there by a liar
  BulkUpload upload(kLease, sha256(bytes), bytes.size());
  deliver(upload, serve(upload.begin(kSession, 1)));
  pump(upload, bytes);
  ASSERT_EQ(upload.state(), TransferState::stalled);

  deliver(upload, serve(upload.begin(kSession, 2)));
  pump(upload, bytes);

  EXPECT_EQ(upload.state(), TransferState::done);
  EXPECT_EQ(store.complete.at(sha256(bytes)), bytes);
}

TEST_F(BulkUploadTest, WithoutALiveLeaseIsRefused) {
  const LiveLease stale{kLease.task, Token{kLease.token.value - 1}};
  BulkUpload upload(stale, sha256("x"), 1);
  deliver(upload, serve(upload.begin(kSession, 1)));

  EXPECT_EQ(upload.state(), TransferState::failed);
  EXPECT_EQ(upload.error()->code, Errc::lease_lost);
  EXPECT_TRUE(store.partial.empty());
}

TEST_F(BulkUploadTest, EndsWhenItsLeaseEnds) {
  const std::string bytes = some_bytes(6 * kChunk);
  BulkUpload upload(kLease, sha256(bytes), bytes.size());
  deliver(upload, serve(upload.begin(kSession, 1)));
  pump(upload, bytes, 2);
  store.lease_is_live = false;
  pump(upload, bytes, 1);

  EXPECT_EQ(upload.state(), TransferState::failed);
  EXPECT_EQ(store.partial.at(sha256(bytes)).size(), 2 * kChunk);
}

TEST_F(BulkUploadTest, OverTheLimitIsRefused) {
  EXPECT_EQ(refused(serve(PutBegin{kSession, 1, kLease, sha256("x"), kArtifactBytesMax + 1})),
            Errc::too_large);
  EXPECT_TRUE(store.partial.empty());
}

TEST_F(BulkUploadTest, BeyondThePromisedSizeIsRefused) {
  static_cast<void>(serve(PutBegin{kSession, 1, kLease, sha256("x"), 10}));

  EXPECT_EQ(refused(serve(PutChunk{kSession, 1, 0, std::string(11, 'x')})),
            Errc::refused_by_policy);
}

TEST_F(BulkUploadTest, OfEmptyChunksIsRefused) {
  static_cast<void>(serve(PutBegin{kSession, 1, kLease, sha256("x"), 10}));

  EXPECT_EQ(refused(serve(PutChunk{kSession, 1, 0, ""})), Errc::refused_by_policy);
}

TEST_F(BulkUploadTest, SaysWhenTheDiskIsFull) {
  store.disk_full = true;
  BulkUpload upload(kLease, sha256("x"), 1);
  deliver(upload, serve(upload.begin(kSession, 1)));
  pump(upload, "x");

  EXPECT_EQ(upload.error()->code, Errc::disk_full);
}

TEST_F(BulkUploadTest, CannotBeTouchedByAnotherKey) {
  const std::string bytes = some_bytes(4 * kChunk);
  BulkUpload upload(kLease, sha256(bytes), bytes.size());
  deliver(upload, serve(upload.begin(kSession, 1)));
  pump(upload, bytes, 1);

  // Same session and transfer id, another key: it is no transfer of that peer.
  EXPECT_TRUE(serve(PutChunk{kSession, 1, kChunk, "poison"}, kOther).empty());
  pump(upload, bytes);

  EXPECT_EQ(upload.state(), TransferState::done);
  EXPECT_EQ(server.counters().ignored, 1U);
}

TEST_F(BulkUploadTest, WaitsForAnotherWorkersUploadOfTheSameArtifact) {
  const std::string bytes = some_bytes(4 * kChunk);
  BulkUpload first(kLease, sha256(bytes), bytes.size());
  BulkUpload second(kLease, sha256(bytes), bytes.size());
  deliver(first, serve(first.begin(kSession, 1)));
  pump(first, bytes, 1);

  deliver(second, serve(second.begin(9, 1), kOther));
  EXPECT_EQ(second.state(), TransferState::stalled) << "told to come back";

  now += seconds(61);  // the first has gone silent
  deliver(second, serve(second.begin(9, 2), kOther));
  EXPECT_EQ(second.next()->offset, kChunk);
  EXPECT_EQ(server.transfers(), 1U);
}

TEST_F(BulkUploadTest, OfAStrangerDoesNotDisturbAnUploadThatRuns) {
  const std::string bytes = some_bytes(4 * kChunk);
  BulkUpload upload(kLease, sha256(bytes), bytes.size());
  deliver(upload, serve(upload.begin(kSession, 1)));
  const LiveLease guessed{TaskId{8}, Token{80}};

  EXPECT_EQ(refused(serve(PutBegin{kSession, 5, guessed, sha256(bytes), bytes.size()}, kOther)),
            Errc::lease_lost);
  pump(upload, bytes);

  EXPECT_EQ(upload.state(), TransferState::done);
}

TEST_F(BulkUploadTest, RefusesACoordinatorThatAsksForWhatIsNotThere) {
  BulkUpload upload(kLease, sha256("x"), 1);
  static_cast<void>(upload.begin(kSession, 1));

  upload.on(PutReady{1, 2, 8, false});

  EXPECT_EQ(upload.state(), TransferState::failed);
}

}  // namespace
}  // namespace cupel::wire
