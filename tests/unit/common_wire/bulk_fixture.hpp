/// Transfers over messages in memory, with everything that a network and a peer can do to them.
#pragma once

#include "common/wire/bulk.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>

namespace cupel::wire {

using std::chrono::seconds;

inline constexpr std::size_t kChunk = kBulkChunkBytes;
inline const BulkPeer kPeer{"route-1", "key-1"};
inline const BulkPeer kOther{"route-2", "key-2"};
inline const LiveLease kLease{TaskId{7}, Token{70}};
inline constexpr std::uint64_t kSession = 42;
inline constexpr TimePoint kNow{seconds(1000)};

inline std::string some_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<char>(state >> 24U);
  }
  return bytes;
}

inline Error refusal(Errc code) {
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

}  // namespace cupel::wire
