// Transfers over messages in memory, with everything that a network and a peer can do to them.
#include "common/wire/bulk.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>

namespace cupel::wire {
namespace {

using std::chrono::seconds;

constexpr std::size_t kChunk = kBulkChunkBytes;
const BulkPeer kPeer{"route-1", "key-1"};
const BulkPeer kOther{"route-2", "key-2"};
const LiveLease kLease{TaskId{7}, Token{70}};
constexpr std::uint64_t kSession = 42;
constexpr TimePoint kNow{seconds(1000)};

std::string some_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<char>(state >> 24U);
  }
  return bytes;
}

Error refusal(Errc code) {
  return {.code = code, .what = "refused", .detail = {}, .hint = {}};
}

/// The coordinator's artifacts in memory; one lease is live.
class FakeStore : public BulkPort {
 public:
  Result<void> may_put(const BulkPeer& peer, std::uint64_t, const LiveLease& lease, const Digest&,
                       std::uint64_t) override {
    return allowed(peer, lease);
  }
  Result<void> may_get(const BulkPeer& peer, std::uint64_t, const LiveLease& lease,
                       const Digest&) override {
    return allowed(peer, lease);
  }
  Result<Opened> open_put(const Digest& digest, std::uint64_t) override {
    if (complete.contains(digest)) return Opened{0, true};
    return Opened{partial[digest].size(), false};
  }
  Result<void> append(const Digest& digest, std::uint64_t offset, std::string_view bytes) override {
    if (disk_full) return refusal(Errc::disk_full);
    EXPECT_EQ(partial[digest].size(), offset) << "the server must append in order";
    partial[digest] += bytes;
    return {};
  }
  Result<void> finish_put(const Digest& digest) override {
    std::string bytes = std::move(partial[digest]);
    partial.erase(digest);
    if (sha256(bytes) != digest) return refusal(Errc::artifact_mismatch);
    complete[digest] = std::move(bytes);
    return {};
  }
  Result<std::uint64_t> open_get(const Digest& digest) override {
    const auto found = complete.find(digest);
    if (found == complete.end()) return refusal(Errc::not_found);
    return std::uint64_t{found->second.size()};
  }
  Result<std::string> read(const Digest& digest, std::uint64_t offset, std::size_t bytes) override {
    return complete.at(digest).substr(offset, bytes);
  }

  std::map<Digest, std::string> partial;
  std::map<Digest, std::string> complete;
  bool lease_is_live = true;
  bool disk_full = false;

 private:
  Result<void> allowed(const BulkPeer& peer, const LiveLease& lease) const {
    if (peer.key != kPeer.key && peer.key != kOther.key) return refusal(Errc::not_trusted);
    if (!lease_is_live || lease != kLease) return refusal(Errc::lease_lost);
    return {};
  }
};

class BulkTest : public testing::Test {
 protected:
  std::vector<BulkToWorker> serve(BulkToCoordinator message, const BulkPeer& peer = kPeer) {
    return server.on_message(peer, std::move(message), now);
  }
  static Errc refused(const std::vector<BulkToWorker>& answers) {
    if (answers.size() != 1 || !std::holds_alternative<BulkRefuse>(answers[0])) return Errc::bug;
    return std::get<BulkRefuse>(answers[0]).code;
  }
  static void deliver(BulkUpload& upload, const std::vector<BulkToWorker>& answers) {
    for (const BulkToWorker& answer : answers) {
      if (const auto* ready = std::get_if<PutReady>(&answer)) upload.on(*ready);
      if (const auto* done = std::get_if<PutDone>(&answer)) upload.on(*done);
      if (const auto* refuse = std::get_if<BulkRefuse>(&answer)) upload.on(*refuse);
    }
  }
  /// Sends every chunk that the window allows, at most `chunks_max`.
  std::size_t pump(BulkUpload& upload, const std::string& bytes, std::size_t chunks_max = 100'000) {
    std::size_t sent = 0;
    while (const auto piece = upload.next()) {
      if (sent == chunks_max) break;
      ++sent;
      deliver(upload, serve(upload.chunk(bytes.substr(piece->offset, piece->bytes))));
    }
    return sent;
  }
  /// Fetches until the download rests; `lose` says which chunk never arrives.
  void pump(
      BulkDownload& download, const BulkDownload::Begin& begin,
      const std::function<bool(std::size_t)>& lose = [](std::size_t) { return false; }) {
    std::deque<BulkToCoordinator> to_server{begin.begin, begin.credit};
    std::size_t number = 0;
    while (!to_server.empty()) {
      for (BulkToWorker& answer : serve(std::move(to_server.front()))) {
        if (auto* chunk = std::get_if<GetChunk>(&answer)) {
          if (lose(number++)) continue;
          BulkDownload::Step step = download.on(std::move(*chunk));
          fetched += step.append;
          if (step.credit) to_server.emplace_back(*step.credit);
        }
        if (const auto* refuse = std::get_if<BulkRefuse>(&answer)) download.on(*refuse);
      }
      to_server.pop_front();
    }
  }
  Digest stored(const std::string& bytes) {
    const Digest digest = sha256(bytes);
    store.complete[digest] = bytes;
    return digest;
  }

  FakeStore store;
  BulkServer server{store, {}};
  TimePoint now = kNow;
  std::string fetched;
};

// ---- uploads ---------------------------------------------------------------------------------

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

// ---- downloads -------------------------------------------------------------------------------

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

// ---- limits ----------------------------------------------------------------------------------

TEST_F(BulkTest, AWorkerHasAFewTransfersAtOnce) {
  for (std::uint64_t i = 1; i <= 16; ++i) {
    EXPECT_EQ(refused(serve(PutBegin{kSession, i, kLease, sha256(std::to_string(i)), 10})),
              Errc::bug)
        << "not refused";
  }
  EXPECT_EQ(refused(serve(PutBegin{kSession, 17, kLease, sha256("17"), 10})), Errc::retry_later);
  EXPECT_EQ(refused(serve(PutBegin{9, 1, kLease, sha256("9"), 10}, kOther)), Errc::bug)
      << "another worker has its own share";
}

TEST_F(BulkTest, ForgetsSilentTransfersAndThoseOfADeadSession) {
  static_cast<void>(serve(PutBegin{kSession, 1, kLease, sha256("1"), 10}));
  static_cast<void>(serve(GetBegin{kSession, 2, kLease, stored("abc"), 0}));
  static_cast<void>(serve(PutBegin{9, 1, kLease, sha256("2"), 10}, kOther));
  EXPECT_EQ(server.transfers(), 3U);

  server.drop_session(9);
  EXPECT_EQ(server.transfers(), 2U);
  server.tick(now + seconds(60));
  EXPECT_EQ(server.transfers(), 2U);
  server.tick(now + seconds(61));
  EXPECT_EQ(server.transfers(), 0U);
}

TEST_F(BulkTest, ATransferIdServesOneTransfer) {
  static_cast<void>(serve(PutBegin{kSession, 1, kLease, sha256("1"), 10}));

  EXPECT_EQ(refused(serve(PutBegin{kSession, 1, kLease, sha256("2"), 10})), Errc::conflict);
  EXPECT_EQ(refused(serve(GetBegin{kSession, 1, kLease, stored("abc"), 0})), Errc::conflict);
}

}  // namespace
}  // namespace cupel::wire
