#include "tests/unit/coordinator_app/hostile_peer.hpp"

#include "common/fs/files.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <chrono>
#include <future>
#include <stdexcept>

namespace cupel::coordinator {
namespace {

constexpr std::chrono::seconds kPeerPatience{60};

}  // namespace

HostilePeer::HostilePeer(const nlohmann::json& ready, net::KeyPair key, WorkerId id)
    : id_(id), incarnation_{fs::random_u64() | 1U} {
  const auto dealer = [&](net::Plane plane, auto& queue) {
    net::DealerOptions options;
    options.plane = plane;
    options.endpoint = ready[plane == net::Plane::control ? "control" : "bulk"].get<std::string>();
    options.key = key;
    options.server = *net::PublicKey::from_z85(ready["public_key"].get<std::string>());
    options.reconnect_ms = 20;
    auto made = net::Dealer::connect(
        io_, context_, std::move(options),
        [this, &queue, plane](const std::string& bytes) {
          static_cast<void>(plane);
          using Message = typename std::decay_t<decltype(queue)>::value_type;
          Result<Message> message = [&] {
            if constexpr (std::is_same_v<Message, ToWorker>) {
              return wire::decode_to_worker(bytes);
            } else {
              return wire::decode_bulk_to_worker(bytes);
            }
          }();
          if (!message) throw std::runtime_error(message.error().text());
          const std::lock_guard lock(mutex_);
          queue.push_back(std::move(*message));
          changed_.notify_all();
        },
        [this](net::LinkState state) {
          const std::lock_guard lock(mutex_);
          if (state == net::LinkState::connected) ++connected_;
          changed_.notify_all();
        });
    if (!made) throw std::runtime_error(made.error().text());
    return std::move(*made);
  };
  control_ = dealer(net::Plane::control, control_in_);
  bulk_ = dealer(net::Plane::bulk, bulk_in_);
  thread_ = std::thread([this] {
    const auto guard = boost::asio::make_work_guard(io_);
    io_.run();
    control_.reset();
    bulk_.reset();
  });
  wait([this] { return connected_ >= 2; });
}

HostilePeer::~HostilePeer() {
  io_.stop();
  thread_.join();
}

void HostilePeer::raw(net::Plane plane, const std::string& bytes, int times) {
  std::promise<void> done;
  boost::asio::post(io_, [&] {
    net::Dealer& dealer = plane == net::Plane::control ? *control_ : *bulk_;
    for (int i = 0; i < times; ++i) {
      // A full queue empties without this loop's help: libzmq has a thread of its own.
      while (dealer.send(bytes) == net::SendStatus::full) std::this_thread::yield();
    }
    done.set_value();
  });
  done.get_future().wait();
}

Hello HostilePeer::hello(std::uint32_t slots) {
  Hello hello;
  hello.protocol_min = kProtocolVersionMin;
  hello.protocol_max = kProtocolVersionMax;
  hello.worker = id_;
  hello.incarnation = incarnation_;
  hello.capacity.slots = slots;
  hello.beat = ++beat_;
  return hello;
}

Heartbeat HostilePeer::heartbeat(std::vector<LiveLease> renew, std::uint32_t slots) {
  Heartbeat heartbeat;
  heartbeat.capacity.slots = slots;
  heartbeat.renew = std::move(renew);
  heartbeat.beat = ++beat_;
  return heartbeat;
}

Welcome HostilePeer::join(std::uint32_t slots) {
  tell(hello(slots));
  return await<Welcome>();
}

std::optional<BulkRefuse> HostilePeer::put(std::uint64_t session, LiveLease lease,
                                           const Digest& digest, const std::string& bytes) {
  const std::uint64_t transfer = ++transfer_;
  tell(PutBegin{session, transfer, lease, digest, bytes.size()});
  std::optional<BulkToWorker> answer;
  const auto next = [&] {
    answer.reset();
    wait([&] {
      if (bulk_in_.empty()) return false;
      answer = std::move(bulk_in_.front());
      bulk_in_.pop_front();
      return true;
    });
  };
  next();
  if (std::holds_alternative<PutReady>(*answer)) {
    if (std::get<PutReady>(*answer).complete) return std::nullopt;
    for (std::size_t at = 0; at < bytes.size(); at += kBulkChunkBytes) {
      tell(PutChunk{session, transfer, at, bytes.substr(at, kBulkChunkBytes)});
    }
    do next();
    while (std::holds_alternative<PutReady>(*answer));
  }
  if (const auto* refused = std::get_if<BulkRefuse>(&*answer)) return *refused;
  return std::nullopt;
}

std::optional<BulkRefuse> HostilePeer::get(std::uint64_t session, LiveLease lease,
                                           const Digest& digest) {
  const std::uint64_t transfer = ++transfer_;
  tell(GetBegin{session, transfer, lease, digest, 0});
  tell(GetCredit{session, transfer, 1});
  std::optional<BulkRefuse> refused;
  wait([&] {
    if (bulk_in_.empty()) return false;
    if (const auto* answer = std::get_if<BulkRefuse>(&bulk_in_.front())) refused = *answer;
    bulk_in_.pop_front();
    return true;
  });
  return refused;
}

void HostilePeer::wait(const std::function<bool()>& until) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPeerPatience, until))
    throw std::runtime_error("the awaited message did not come");
}

}  // namespace cupel::coordinator
