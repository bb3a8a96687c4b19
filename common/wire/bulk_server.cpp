// The coordinator's side of all transfers.
#include "common/wire/bulk.hpp"

#include <algorithm>
#include <utility>

namespace cupel::wire {
namespace {

Error error_of(Errc code, std::string what) {
  return {.code = code, .what = std::move(what), .detail = {}, .hint = {}};
}

}  // namespace

BulkServer::BulkServer(BulkPort& port, BulkServerLimits limits) : port_(port), limits_(limits) {}

std::vector<BulkToWorker> BulkServer::on_message(const BulkPeer& peer, BulkToCoordinator message,
                                                 TimePoint now) {
  Answers answers;
  Faults& faults = faults_of(peer.key, now);
  if (faults.left < 1) {
    ++counters_.rate_limited;
    return answers;
  }
  const std::uint64_t before = counters_.refused + counters_.ignored;
  std::visit([&](const auto& alternative) { on(peer, alternative, now, answers); }, message);
  faults.left -= static_cast<double>(counters_.refused + counters_.ignored - before);
  return answers;
}

void BulkServer::on_malformed(const BulkPeer& peer, TimePoint now) {
  ++counters_.malformed;
  Faults& faults = faults_of(peer.key, now);
  if (faults.left >= 1) faults.left -= 1;
}

BulkServer::Faults& BulkServer::faults_of(const std::string& key, TimePoint now) {
  const auto [entry, added] = faults_.try_emplace(key, Faults{limits_.faults_burst, now});
  static_cast<void>(added);
  Faults& faults = entry->second;
  const double seconds = std::chrono::duration<double>(now - faults.filled).count();
  faults.left = std::min(limits_.faults_burst, faults.left + seconds * limits_.faults_per_s);
  faults.filled = now;
  return faults;
}

std::uint64_t BulkServer::spent_of(const LiveLease& lease) const {
  const auto found = spent_.find(lease.token);
  return found == spent_.end() ? 0 : found->second;
}

void BulkServer::charge(const LiveLease& lease, std::uint64_t bytes) {
  spent_[lease.token] += bytes;
  if (spent_.size() > limits_.leases_remembered) spent_.erase(spent_.begin());
}

void BulkServer::on(const BulkPeer& peer, const PutBegin& message, TimePoint now,
                    Answers& answers) {
  const Id id{peer.key, message.session, message.transfer};
  if (message.size > limits_.artifact_bytes_max) {
    return refuse(message.transfer,
                  error_of(Errc::too_large, "an artifact has at most " +
                                                std::to_string(limits_.artifact_bytes_max) +
                                                " bytes, not " + std::to_string(message.size)),
                  answers);
  }
  if (const auto same = puts_.find(id);
      same != puts_.end() && same->second.digest == message.digest) {
    // Arrived twice: the answer again.
    answers.emplace_back(PutReady{message.transfer, same->second.announced, kBulkCredit, false});
    return;
  }
  if (puts_.contains(id) || gets_.contains(id)) {
    return refuse(message.transfer, error_of(Errc::conflict, "this transfer has begun already"),
                  answers);
  }
  if (auto allowed =
          port_.may_put(peer, message.session, message.lease, message.digest, message.size);
      !allowed) {
    return refuse(message.transfer, allowed.error(), answers);
  }
  // Only now: a stranger to the lease must not disturb an upload that runs.
  if (!take_over(message.digest, peer.key, now)) {
    return refuse(message.transfer,
                  error_of(Errc::retry_later, "another worker sends this artifact right now"),
                  answers);
  }
  if (const auto full = no_room(peer.key)) return refuse(message.transfer, *full, answers);
  if (spent_of(message.lease) + limits_.put_overhead_bytes + message.size >
      limits_.lease_bytes_max) {
    return refuse(message.transfer,
                  error_of(Errc::too_large, "a task may add at most " +
                                                std::to_string(limits_.lease_bytes_max) +
                                                " bytes of artifacts"),
                  answers);
  }
  const auto opened = port_.open_put(message.digest, message.size);
  if (!opened) return refuse(message.transfer, opened.error(), answers);
  charge(message.lease, limits_.put_overhead_bytes);
  if (opened->complete) {
    answers.emplace_back(PutReady{message.transfer, message.size, 0, true});
    return;
  }
  const std::uint64_t offset = std::min(opened->offset, message.size);
  const auto [put, added] =
      puts_.emplace(id, Put{message.digest, message.lease, message.size, offset, offset, now});
  static_cast<void>(added);
  if (offset == message.size) return finish(put, answers);
  answers.emplace_back(PutReady{message.transfer, offset, kBulkCredit, false});
}

void BulkServer::on(const BulkPeer& peer, const PutChunk& message, TimePoint now,
                    Answers& answers) {
  const auto found = puts_.find(Id{peer.key, message.session, message.transfer});
  if (found == puts_.end() || message.offset < found->second.offset) {
    ++counters_.ignored;
    return;
  }
  Put& put = found->second;
  put.heard = now;
  const auto end = [&](const Error& error) {
    refuse(message.transfer, error, answers);
    puts_.erase(found);
  };
  if (message.offset > put.offset) {
    return end(error_of(Errc::retry_later, "a chunk is missing: begin again"));
  }
  if (message.bytes.empty() || message.bytes.size() > kBulkChunkBytes ||
      message.bytes.size() > put.size - put.offset) {
    return end(
        error_of(Errc::refused_by_policy, "a chunk that is empty, too long, or beyond the size"));
  }
  // The lease may have ended, or the session, since the upload began.
  if (auto allowed = port_.may_put(peer, message.session, put.lease, put.digest, put.size);
      !allowed) {
    return end(allowed.error());
  }
  if (auto appended = port_.append(put.digest, put.offset, message.bytes); !appended) {
    return end(appended.error());
  }
  put.offset += message.bytes.size();
  counters_.bytes_in += message.bytes.size();
  charge(put.lease, message.bytes.size());
  if (put.offset == put.size) return finish(found, answers);
  if (put.offset - put.announced >= std::uint64_t{kBulkCredit} * kBulkChunkBytes / 2) {
    put.announced = put.offset;
    answers.emplace_back(PutReady{message.transfer, put.offset, kBulkCredit, false});
  }
}

void BulkServer::finish(std::map<Id, Put>::iterator put, Answers& answers) {
  const std::uint64_t transfer = put->first.transfer;
  const auto finished = port_.finish_put(put->second.digest);
  puts_.erase(put);
  if (!finished) {
    if (finished.error().code == Errc::artifact_mismatch) ++counters_.mismatched;
    return refuse(transfer, finished.error(), answers);
  }
  ++counters_.puts_done;
  answers.emplace_back(PutDone{transfer});
}

void BulkServer::on(const BulkPeer& peer, const GetBegin& message, TimePoint now,
                    Answers& answers) {
  const Id id{peer.key, message.session, message.transfer};
  if (const auto same = gets_.find(id);
      same != gets_.end() && same->second.digest == message.digest) {
    ++counters_.ignored;
    return;
  }
  if (puts_.contains(id) || gets_.contains(id)) {
    return refuse(message.transfer, error_of(Errc::conflict, "this transfer has begun already"),
                  answers);
  }
  if (auto allowed = port_.may_get(peer, message.session, message.lease, message.digest);
      !allowed) {
    return refuse(message.transfer, allowed.error(), answers);
  }
  // A worker that begins again has given up what it began before for the same artifact.
  std::erase_if(gets_, [&](const auto& entry) {
    return entry.first.key == peer.key && entry.second.digest == message.digest &&
           entry.second.lease == message.lease;
  });
  if (const auto full = no_room(peer.key)) return refuse(message.transfer, *full, answers);
  const auto size = port_.open_get(message.digest);
  if (!size) return refuse(message.transfer, size.error(), answers);
  if (message.offset > *size) {
    return refuse(message.transfer,
                  error_of(Errc::refused_by_policy, "the artifact ends before that offset"),
                  answers);
  }
  if (message.offset == *size) {
    // Nothing is left to send, but the worker must learn that it has everything.
    answers.emplace_back(GetChunk{message.transfer, *size, *size, {}});
    ++counters_.gets_done;
    return;
  }
  gets_.emplace(id, Get{message.digest, message.lease, *size, message.offset, now});
}

void BulkServer::on(const BulkPeer& peer, const GetCredit& message, TimePoint now,
                    Answers& answers) {
  const auto found = gets_.find(Id{peer.key, message.session, message.transfer});
  if (found == gets_.end()) {
    ++counters_.ignored;
    return;
  }
  Get& get = found->second;
  get.heard = now;
  const auto end = [&](const Error& error) {
    refuse(message.transfer, error, answers);
    gets_.erase(found);
  };
  if (auto allowed = port_.may_get(peer, message.session, get.lease, get.digest); !allowed) {
    return end(allowed.error());
  }
  // Everything that the credit allows is sent at once, so none is left over from one call to the
  // next.
  for (std::uint32_t i = 0; i < std::min(message.chunks, kBulkCreditMax); ++i) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(kBulkChunkBytes, get.size - get.offset));
    auto bytes = port_.read(get.digest, get.offset, wanted);
    if (!bytes) return end(bytes.error());
    if (bytes->size() != wanted) {
      return end(error_of(Errc::io_error, "the artifact is shorter than its record says"));
    }
    answers.emplace_back(GetChunk{message.transfer, get.offset, get.size, *std::move(bytes)});
    get.offset += wanted;
    counters_.bytes_out += wanted;
    if (get.offset < get.size) continue;
    ++counters_.gets_done;
    gets_.erase(found);
    return;
  }
}

void BulkServer::drop_session(std::uint64_t session) {
  const auto of_session = [session](const auto& entry) { return entry.first.session == session; };
  std::erase_if(puts_, of_session);
  std::erase_if(gets_, of_session);
}

void BulkServer::tick(TimePoint now) {
  const auto silent = [this, now](const auto& entry) {
    return now - entry.second.heard > limits_.idle_max;
  };
  std::erase_if(puts_, silent);
  std::erase_if(gets_, silent);
  // A full allowance needs no record.
  const std::chrono::duration<double> refill(limits_.faults_burst / limits_.faults_per_s);
  std::erase_if(faults_, [&](const auto& entry) { return now - entry.second.filled > refill; });
}

void BulkServer::refuse(std::uint64_t transfer, const Error& error, Answers& answers) {
  ++counters_.refused;
  answers.emplace_back(BulkRefuse{transfer, error.code, error.what});
}

std::optional<Error> BulkServer::no_room(const std::string& key) const {
  const auto of_key = [&key](const auto& entry) { return entry.first.key == key; };
  const auto own = std::ranges::count_if(puts_, of_key) + std::ranges::count_if(gets_, of_key);
  if (static_cast<std::size_t>(own) >= limits_.transfers_per_key_max) {
    return error_of(Errc::retry_later, "this worker has too many transfers at once");
  }
  if (transfers() >= limits_.transfers_max) {
    return error_of(Errc::retry_later, "there are too many transfers at once");
  }
  return std::nullopt;
}

bool BulkServer::take_over(const Digest& digest, const std::string& key, TimePoint now) {
  const auto other = std::ranges::find_if(
      puts_, [&digest](const auto& entry) { return entry.second.digest == digest; });
  if (other == puts_.end()) return true;
  if (other->first.key != key && now - other->second.heard <= limits_.idle_max) return false;
  puts_.erase(other);
  return true;
}

}  // namespace cupel::wire
