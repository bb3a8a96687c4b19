#include "tests/integration/hostile_coordinator/fake_coordinator.hpp"

#include "common/core/limits.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <chrono>
#include <future>
#include <stdexcept>

namespace cupel::test {
namespace {

constexpr std::chrono::seconds kPatience{60};

template <typename Value>
Value must(Result<Value> value) {
  if (!value) throw std::runtime_error(value.error().text());
  return std::move(*value);
}

}  // namespace

FakeCoordinator::FakeCoordinator(const net::PublicKey& worker) {
  auto trusted = std::make_shared<net::TrustList>();
  if (!trusted->add(worker, {"victim", {}})) throw std::runtime_error("the key is not taken");
  zap_ = must(net::ZapHandler::start(context_, trusted));
  const auto bind = [&](net::Plane plane, net::Router::OnMessage on_message) {
    net::RouterOptions options;
    options.plane = plane;
    options.endpoint = "tcp://127.0.0.1:0";
    options.key = pair_;
    return must(
        net::Router::bind(io_, context_, std::move(options), zap_.get(), std::move(on_message)));
  };
  control_ = bind(net::Plane::control, [this](net::Peer peer, const std::string& bytes) {
    on_control(std::move(peer), bytes);
  });
  bulk_ = bind(net::Plane::bulk,
               [this](const net::Peer& peer, const std::string& bytes) { on_bulk(peer, bytes); });
  control_endpoint_ = control_->last_endpoint();
  bulk_endpoint_ = bulk_->last_endpoint();
  thread_ = std::thread([this] {
    const auto guard = boost::asio::make_work_guard(io_);
    io_.run();
    control_.reset();
    bulk_.reset();
  });
}

FakeCoordinator::~FakeCoordinator() {
  io_.stop();
  thread_.join();
}

void FakeCoordinator::change_welcome(std::function<void(Welcome&)> change) {
  const std::lock_guard lock(mutex_);
  change_ = std::move(change);
}

void FakeCoordinator::answer_bulk(
    std::function<std::vector<BulkToWorker>(const BulkToCoordinator&)> answer) {
  const std::lock_guard lock(mutex_);
  answer_bulk_ = std::move(answer);
}

void FakeCoordinator::on_control(net::Peer peer, const std::string& bytes) {
  auto message = must(wire::decode_to_coordinator(bytes));
  std::optional<ToWorker> answer;
  {
    const std::lock_guard lock(mutex_);
    peer_ = peer;
    if (const auto* hello = std::get_if<Hello>(&message)) {
      beat_ = hello->beat;
      Welcome welcome;
      welcome.protocol = kProtocolVersionMax;
      welcome.session = 5;
      welcome.fleet = FleetId{0xfeed};
      welcome.worker_name = "victim";
      welcome.heartbeat_ms = 200;
      welcome.lease_ms = 30'000;
      welcome.beat = hello->beat;
      welcome.keep = hello->running;
      if (change_) change_(welcome);
      answer = welcome;
    } else if (const auto* beat = std::get_if<Heartbeat>(&message)) {
      beat_ = beat->beat;
      heartbeats_.push_back(*beat);
      if (heartbeats_.size() > 100) heartbeats_.pop_front();
      answer = HeartbeatAck{beat->renew, {}, beat->beat};
    } else if (auto* result = std::get_if<ResultMessage>(&message)) {
      const LiveLease lease{result->result.task, result->result.token};
      results_.insert_or_assign(lease.token, std::move(result->result));
      answer = ResultAck{lease, true};
    }
    changed_.notify_all();
  }
  if (answer) static_cast<void>(control_->send(peer, wire::encode(*answer)));
}

void FakeCoordinator::on_bulk(const net::Peer& peer, const std::string& bytes) {
  const auto message = must(wire::decode_bulk_to_coordinator(bytes));
  std::function<std::vector<BulkToWorker>(const BulkToCoordinator&)> answer;
  {
    const std::lock_guard lock(mutex_);
    bulk_peer_ = peer;
    answer = answer_bulk_;
  }
  if (!answer) return;
  for (const BulkToWorker& one : answer(message))
    static_cast<void>(bulk_->send(peer, wire::encode(one)));
}

void FakeCoordinator::post(std::function<void()> work) {
  std::promise<void> done;
  boost::asio::post(io_, [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

void FakeCoordinator::tell(ToWorker message) {
  raw(wire::encode(message));
}

void FakeCoordinator::raw(std::string bytes) {
  post([this, &bytes] {
    if (peer_) static_cast<void>(control_->send(*peer_, bytes));
  });
}

void FakeCoordinator::raw_bulk(std::string bytes) {
  post([this, &bytes] {
    if (bulk_peer_) static_cast<void>(bulk_->send(*bulk_peer_, bytes));
  });
}

std::string FakeCoordinator::lease_bytes(TaskSpec spec) {
  const std::lock_guard lock(mutex_);
  Lease message;
  message.spec = std::move(spec);
  message.token = Token{++last_token_};
  if (!message.spec.id) message.spec.id = TaskId{last_token_};
  message.beat = beat_;
  return wire::encode(ToWorker(message));
}

LiveLease FakeCoordinator::lease(TaskSpec spec) {
  if (!spec.id) {
    const std::lock_guard lock(mutex_);
    spec.id = TaskId{last_token_ + 1};
  }
  const TaskId task = spec.id;
  std::string bytes = lease_bytes(std::move(spec));
  Token token;
  {
    const std::lock_guard lock(mutex_);
    token = Token{last_token_};
  }
  raw(std::move(bytes));
  return {task, token};
}

TaskResult FakeCoordinator::result_of(const LiveLease& lease) {
  TaskResult result;
  wait([&] {
    const auto found = results_.find(lease.token);
    if (found == results_.end()) return false;
    result = found->second;
    return true;
  });
  return result;
}

std::size_t FakeCoordinator::results() const {
  const std::lock_guard lock(mutex_);
  return results_.size();
}

Heartbeat FakeCoordinator::wait_for_heartbeat(const std::function<bool(const Heartbeat&)>& so) {
  Heartbeat found;
  wait([&] {
    for (const Heartbeat& heartbeat : heartbeats_) {
      if (!so(heartbeat)) continue;
      found = heartbeat;
      return true;
    }
    return false;
  });
  return found;
}

void FakeCoordinator::wait(const std::function<bool()>& until) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, until))
    throw std::runtime_error("the awaited message did not come");
}

}  // namespace cupel::test
