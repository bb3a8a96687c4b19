// The worker's side of a transfer.
#include "common/wire/bulk.hpp"

#include <algorithm>
#include <utility>

namespace cupel::wire {
namespace {

// How often an upload starts over after the coordinator found other bytes than promised in what an
// earlier transfer, perhaps another worker's, had left there.
constexpr std::uint32_t kMismatchesMax = 1;

bool is_temporary(Errc code) {
  return code == Errc::retry_later || code == Errc::not_ready;
}

}  // namespace

BulkUpload::BulkUpload(LiveLease lease, Digest digest, std::uint64_t size)
    : lease_(lease), digest_(digest), size_(size) {}

PutBegin BulkUpload::begin(std::uint64_t session, std::uint64_t transfer) {
  session_ = session;
  transfer_ = transfer;
  ready_ = false;
  resumed_ = false;
  sent_ = 0;
  window_end_ = 0;
  state_ = TransferState::running;
  return {session, transfer, lease_, digest_, size_};
}

std::optional<BulkUpload::Piece> BulkUpload::next() const {
  if (state_ != TransferState::running || !ready_ || sent_ >= size_ || sent_ >= window_end_) {
    return std::nullopt;
  }
  return Piece{sent_,
               static_cast<std::size_t>(std::min({size_ - sent_, window_end_ - sent_,
                                                  static_cast<std::uint64_t>(kBulkChunkBytes)}))};
}

PutChunk BulkUpload::chunk(std::string bytes) {
  PutChunk message{session_, transfer_, sent_, std::move(bytes)};
  sent_ += message.bytes.size();
  return message;
}

void BulkUpload::on(const PutReady& message) {
  if (state_ != TransferState::running || message.transfer != transfer_) return;
  if (message.complete) {
    confirmed_ = size_;
    state_ = TransferState::done;
    return;
  }
  if (message.offset > size_ || message.credit > kBulkCreditMax) {
    state_ = TransferState::failed;
    error_ = Error{.code = Errc::malformed_message,
                   .what = "the coordinator asks for bytes that this upload doesn't have",
                   .detail = {},
                   .hint = {}};
    return;
  }
  if (!std::exchange(ready_, true)) {
    sent_ = message.offset;
    resumed_ = message.offset > 0;
  }
  confirmed_ = std::max(confirmed_, message.offset);
  window_end_ =
      std::max(window_end_, message.offset + message.credit * std::uint64_t{kBulkChunkBytes});
}

void BulkUpload::on(const PutDone& message) {
  if (state_ != TransferState::running || message.transfer != transfer_) return;
  confirmed_ = size_;
  state_ = TransferState::done;
}

void BulkUpload::on(const BulkRefuse& message) {
  if (state_ != TransferState::running || message.transfer != transfer_) return;
  const bool start_over =
      message.code == Errc::artifact_mismatch && resumed_ && mismatches_++ < kMismatchesMax;
  if (start_over) confirmed_ = 0;
  if (start_over || is_temporary(message.code)) {
    state_ = TransferState::stalled;
    return;
  }
  state_ = TransferState::failed;
  error_ = Error{.code = message.code,
                 .what = "the coordinator refused the artifact " + digest_.hex(),
                 .detail = message.text,
                 .hint = {}};
}

void BulkUpload::interrupt() {
  if (state_ == TransferState::running) state_ = TransferState::stalled;
}

BulkDownload::BulkDownload(LiveLease lease, Digest digest, std::uint64_t size_max)
    : lease_(lease), digest_(digest), size_max_(size_max) {}

BulkDownload::Begin BulkDownload::begin(std::uint64_t session, std::uint64_t transfer) {
  session_ = session;
  transfer_ = transfer;
  owed_ = 0;
  state_ = TransferState::running;
  return {{session, transfer, lease_, digest_, received_}, {session, transfer, kBulkCredit}};
}

BulkDownload::Step BulkDownload::on(GetChunk message) {
  Step step;
  if (state_ != TransferState::running || message.transfer != transfer_) return step;
  if (message.size > size_max_) {
    fail(Errc::too_large, "it has " + std::to_string(message.size) + " bytes, more than the " +
                              std::to_string(size_max_) + " that are allowed here");
    return step;
  }
  if (size_ && *size_ != message.size) {
    fail(Errc::malformed_message, "its size changed on the way");
    return step;
  }
  size_ = message.size;
  if (message.offset != received_) {
    // Twice: passed over. A gap: something was lost, and only another beginning fills it.
    if (message.offset > received_) state_ = TransferState::stalled;
    return step;
  }
  if (message.bytes.size() > *size_ - received_) {
    fail(Errc::malformed_message, "more bytes came than it has");
    return step;
  }
  if (message.bytes.empty() && *size_ != 0) {
    fail(Errc::malformed_message, "a piece of it is empty");
    return step;
  }
  hash_.update(message.bytes);
  received_ += message.bytes.size();
  step.append = std::move(message.bytes);
  if (received_ == *size_) {
    if (hash_.finish() == digest_) {
      state_ = TransferState::done;
    } else {
      fail(Errc::artifact_mismatch, "the bytes have another digest");
    }
    return step;
  }
  if (++owed_ >= kBulkCredit / 2) {
    step.credit = GetCredit{session_, transfer_, std::exchange(owed_, 0)};
  }
  return step;
}

void BulkDownload::on(const BulkRefuse& message) {
  if (state_ != TransferState::running || message.transfer != transfer_) return;
  if (is_temporary(message.code)) {
    state_ = TransferState::stalled;
    return;
  }
  fail(message.code, "the coordinator refused it");
  error_->detail = message.text;
}

void BulkDownload::interrupt() {
  if (state_ == TransferState::running) state_ = TransferState::stalled;
}

void BulkDownload::fail(Errc code, std::string what) {
  state_ = TransferState::failed;
  error_ = Error{.code = code,
                 .what = "artifact " + digest_.hex() + ": " + std::move(what),
                 .detail = {},
                 .hint = {}};
}

}  // namespace cupel::wire
