#include "tests/bench/dispatch/sim_worker.hpp"

#include "common/core/limits.hpp"
#include "common/fs/files.hpp"

#include <boost/asio/executor_work_guard.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace cupel::bench {
namespace {

Capacity capacity_of(std::uint32_t slots) {
  Capacity capacity;
  capacity.slots = slots;
  capacity.memory_bytes = 64ULL << 30;
  capacity.disk_free_bytes = 1ULL << 40;
  return capacity;
}

}  // namespace

SimWorker::SimWorker(std::string control, std::string coordinator_key, net::KeyPair key,
                     std::uint32_t slots, Hooks hooks)
    : control_(std::move(control)),
      coordinator_key_(std::move(coordinator_key)),
      key_(std::move(key)),
      slots_(slots),
      hooks_(std::move(hooks)),
      thread_([this] { run(); }) {}

SimWorker::~SimWorker() {
  io_.stop();
  thread_.join();
}

void SimWorker::run() {
  net::DealerOptions options;
  options.endpoint = control_;
  options.key = key_;
  options.server = *net::PublicKey::from_z85(coordinator_key_);
  options.retry_first = std::chrono::milliseconds(100);
  auto dealer = net::Dealer::connect(
      io_, context_, options, [this](const std::string& bytes) { received(bytes); },
      [this](net::LinkState state) {
        if (state != net::LinkState::connected) return;
        Hello hello;
        hello.protocol_min = kProtocolVersionMin;
        hello.protocol_max = kProtocolVersionMax;
        hello.worker = {fs::random_u64() | 1U};
        hello.incarnation = {fs::random_u64() | 1U};
        hello.version = "simulated";
        hello.capacity = capacity_of(slots_);
        send(hello);
      });
  if (!dealer) {
    std::fprintf(stderr, "%s\n", dealer.error().text().c_str());
    std::exit(1);
  }
  dealer_ = std::move(*dealer);
  beat();
  const auto guard = boost::asio::make_work_guard(io_);
  io_.run();
  dealer_.reset();
}

void SimWorker::send(const ToCoordinator& message) {
  static_cast<void>(dealer_->send(wire::encode(message)));
}

void SimWorker::beat() {
  timer_.expires_after(std::chrono::seconds(1));
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (ec) return;
    if (in_session_) send(Heartbeat{capacity_of(slots_), {}});
    beat();
  });
}

void SimWorker::received(const std::string& bytes) {
  const auto message = wire::decode_to_worker(bytes);
  if (!message) return;
  if (std::holds_alternative<Welcome>(*message)) {
    in_session_ = true;
    if (hooks_.welcome) hooks_.welcome();
  } else if (const auto* lease = std::get_if<Lease>(&*message)) {
    if (hooks_.leased) hooks_.leased(*lease);
    // A source that isn't there: the one answer after which a repository needs no further task.
    TaskResult result;
    result.task = lease->spec.id;
    result.token = lease->token;
    result.outcome = Outcome::refused;
    result.reason = Reason::repository_not_found;
    result.message = "simulated";
    send(ResultMessage{result});
  } else if (const auto* ack = std::get_if<ResultAck>(&*message)) {
    if (hooks_.acknowledged) hooks_.acknowledged(*ack);
  }
}

}  // namespace cupel::bench
