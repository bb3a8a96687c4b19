#include "worker/zmq/bulk_link.hpp"

#include "common/crash/message_points.hpp"
#include "common/wire/bulk.hpp"
#include "common/wire/codec.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMailboxMax = 64;
constexpr Duration kStall = std::chrono::seconds(15);
constexpr Duration kRetryFirst = std::chrono::milliseconds(250);
constexpr Duration kRetryMax = std::chrono::seconds(10);

Error limit_spent(const Digest& digest) {
  return {.code = Errc::retry_later,
          .what = "transfer of artifact sha256:" + digest.hex() + " took longer than it may",
          .detail = {},
          .hint = {}};
}

Error stopped_error() {
  return {.code = Errc::cancelled, .what = "the worker stops", .detail = {}, .hint = {}};
}

Error given_up_error(const Digest& digest) {
  return {.code = Errc::cancelled,
          .what = "nobody needs artifact sha256:" + digest.hex() + " any more",
          .detail = {},
          .hint = {}};
}

std::uint64_t transfer_of(const BulkToWorker& message) {
  return std::visit([](const auto& m) { return m.transfer; }, message);
}

/// A file that is written in order and removed unless it is kept.
class NewFile {
 public:
  explicit NewFile(std::string path)
      : path_(std::move(path)),
        fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) {}
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    if (!kept_) ::unlink(path_.c_str());
  }
  [[nodiscard]] Result<void> append(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        return Error{errno == ENOSPC ? Errc::disk_full : Errc::io_error,
                     "write " + path_,
                     std::strerror(errno),
                     {}};
      }
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
  }
  [[nodiscard]] bool open() const { return fd_ >= 0; }
  void keep() { kept_ = true; }

 private:
  std::string path_;
  int fd_;
  bool kept_ = false;
};

}  // namespace

/// Messages of one transfer id and the timer that wakes its coroutine.
struct BulkLink::Mailbox {
  explicit Mailbox(asio::io_context& io) : wake(io) {}
  std::deque<BulkToWorker> messages;
  asio::steady_timer wake;
};

/// Keeps a mailbox reachable under the transfer id of the moment.
class BulkLink::Registration {
 public:
  explicit Registration(BulkLink& link) : link_(link), box_(link.io_) {}
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() { link_.mailboxes_.erase(id_); }

  std::uint64_t renew() {
    link_.mailboxes_.erase(id_);
    box_.messages.clear();
    id_ = ++link_.last_transfer_;
    link_.mailboxes_[id_] = &box_;
    return id_;
  }

  /// Waits for a message, a change of session or `until`.
  asio::awaitable<void> wait(Clock::time_point until) {
    if (!box_.messages.empty()) co_return;
    box_.wake.expires_at(until);
    boost::system::error_code woken;
    co_await box_.wake.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }

  std::optional<BulkToWorker> take() {
    if (box_.messages.empty()) return std::nullopt;
    BulkToWorker message = std::move(box_.messages.front());
    box_.messages.pop_front();
    return message;
  }

 private:
  BulkLink& link_;
  Mailbox box_;
  std::uint64_t id_ = 0;
};

Result<std::unique_ptr<BulkLink>> BulkLink::connect(asio::io_context& io, zmq::context_t& context,
                                                    net::DealerOptions options) {
  std::unique_ptr<BulkLink> link(new BulkLink(io));
  if (auto connected = link->move(context, std::move(options)); !connected) {
    return connected.error();
  }
  return link;
}

Result<void> BulkLink::move(zmq::context_t& context, net::DealerOptions options) {
  if (stopped_) return {};
  auto dealer = net::Dealer::connect(
      io_, context, std::move(options), [this](const std::string& bytes) { on_bytes(bytes); },
      [this](net::LinkState) { wake_all(); });
  if (!dealer) return dealer.error();
  if (dealer_) dealer_->stop();
  dealer_ = std::move(*dealer);
  return {};
}

BulkLink::~BulkLink() = default;

asio::io_context::executor_type BulkLink::executor() const {
  return io_.get_executor();
}

void BulkLink::set_session(std::uint64_t session) {
  session_ = session;
  wake_all();
}

void BulkLink::stop() {
  stopped_ = true;
  wake_all();
  if (dealer_) dealer_->stop();
}

void BulkLink::wake_all() {
  for (const auto& [id, box] : mailboxes_) box->wake.cancel();
}

void BulkLink::on_bytes(const std::string& bytes) {
  auto message = wire::decode_bulk_to_worker(bytes);
  if (!message) {
    if (on_malformed_) on_malformed_();
    return;
  }
  const auto box = mailboxes_.find(transfer_of(*message));
  if (box == mailboxes_.end()) return;
  // More than was asked for: what is missing then stalls the transfer, and it begins again.
  if (box->second->messages.size() >= kMailboxMax) return;
  box->second->messages.push_back(std::move(*message));
  box->second->wake.cancel();
}

bool BulkLink::send(const BulkToCoordinator& message) {
  crash::before_send(message);
  const bool sent = dealer_->send(wire::encode(message)) == net::SendStatus::sent;
  crash::after_send(message);
  return sent;
}

asio::awaitable<Result<void>> BulkLink::upload(LiveLease lease, Digest digest, std::string bytes,
                                               Duration limit) {
  const auto deadline = Clock::now() + limit;
  wire::BulkUpload upload(lease, digest, bytes.size());
  Registration registration(*this);
  Duration retry = kRetryFirst;
  std::uint64_t begun_in = 0;
  while (upload.state() != wire::TransferState::done) {
    if (stopped_) co_return stopped_error();
    if (upload.state() == wire::TransferState::failed) co_return *upload.error();
    if (Clock::now() >= deadline) co_return limit_spent(digest);
    if (upload.state() == wire::TransferState::running && begun_in != session_) upload.interrupt();
    if (upload.state() != wire::TransferState::running) {
      if (session_ == 0 || upload.state() == wire::TransferState::stalled) {
        co_await registration.wait(std::min(deadline, Clock::now() + retry));
        retry = std::min(kRetryMax, retry * 2);
        if (session_ == 0) continue;
      }
      begun_in = session_;
      if (!send(upload.begin(session_, registration.renew()))) upload.interrupt();
      continue;
    }
    while (const auto piece = upload.next()) {
      if (!send(upload.chunk(bytes.substr(piece->offset, piece->bytes)))) {
        upload.interrupt();
        break;
      }
    }
    if (upload.state() != wire::TransferState::running) continue;
    const auto asked = Clock::now();
    co_await registration.wait(std::min(deadline, asked + kStall));
    const auto message = registration.take();
    if (!message) {
      if (Clock::now() - asked >= kStall) upload.interrupt();
      continue;
    }
    retry = kRetryFirst;
    if (const auto* ready = std::get_if<PutReady>(&*message)) upload.on(*ready);
    if (const auto* done = std::get_if<PutDone>(&*message)) upload.on(*done);
    if (const auto* refuse = std::get_if<BulkRefuse>(&*message)) upload.on(*refuse);
  }
  co_return Result<void>();
}

asio::awaitable<Result<void>> BulkLink::download(LiveLease lease, Digest digest,
                                                 std::uint64_t size_max, std::string file,
                                                 Duration limit, std::function<bool()> given_up) {
  const auto deadline = Clock::now() + limit;
  wire::BulkDownload download(lease, digest, size_max);
  Registration registration(*this);
  NewFile target(file);
  if (!target.open()) co_return Error{Errc::io_error, "create " + file, std::strerror(errno), {}};
  Duration retry = kRetryFirst;
  std::uint64_t begun_in = 0;
  while (download.state() != wire::TransferState::done) {
    if (stopped_) co_return stopped_error();
    if (given_up && given_up()) co_return given_up_error(digest);
    if (download.state() == wire::TransferState::failed) co_return *download.error();
    if (Clock::now() >= deadline) co_return limit_spent(digest);
    if (download.state() == wire::TransferState::running && begun_in != session_)
      download.interrupt();
    if (download.state() != wire::TransferState::running) {
      if (session_ == 0 || download.state() == wire::TransferState::stalled) {
        co_await registration.wait(std::min(deadline, Clock::now() + retry));
        retry = std::min(kRetryMax, retry * 2);
        if (session_ == 0) continue;
      }
      begun_in = session_;
      const auto begin = download.begin(session_, registration.renew());
      if (!send(begin.begin) || !send(begin.credit)) download.interrupt();
      continue;
    }
    const auto asked = Clock::now();
    co_await registration.wait(std::min(deadline, asked + kStall));
    auto message = registration.take();
    if (!message) {
      if (Clock::now() - asked >= kStall) download.interrupt();
      continue;
    }
    retry = kRetryFirst;
    if (const auto* refuse = std::get_if<BulkRefuse>(&*message)) download.on(*refuse);
    if (auto* chunk = std::get_if<GetChunk>(&*message)) {
      auto step = download.on(std::move(*chunk));
      if (auto written = target.append(step.append); !written) co_return written.error();
      if (step.credit && !send(*step.credit)) download.interrupt();
    }
  }
  target.keep();
  co_return Result<void>();
}

}  // namespace cupel::worker
