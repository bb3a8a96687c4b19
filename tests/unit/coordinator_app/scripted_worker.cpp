#include "tests/unit/coordinator_app/scripted_worker.hpp"

#include "common/core/limits.hpp"
#include "common/fs/files.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <stdexcept>

namespace cupel::coordinator {
namespace {

constexpr std::chrono::milliseconds kBeat{100};
constexpr std::chrono::seconds kPatience{60};

}  // namespace

ScriptedWorker::ScriptedWorker(Settings settings)
    : settings_(std::move(settings)), incarnation_{fs::random_u64() | 1U} {
  thread_ = std::thread([this] {
    net::DealerOptions options;
    options.endpoint = settings_.control;
    options.key = settings_.key;
    options.server = *net::PublicKey::from_z85(settings_.coordinator_key);
    options.retry_first = std::chrono::milliseconds(50);
    options.retry_max = std::chrono::milliseconds(200);
    options.reconnect_ms = 20;
    options.reconnect_max_ms = 200;
    auto dealer = net::Dealer::connect(
        io_, context_, options, [this](const std::string& bytes) { received(bytes); },
        [this](net::LinkState state) {
          {
            const std::lock_guard lock(mutex_);
            states_.push_back(state);
            changed_.notify_all();
          }
          if (state == net::LinkState::connected) hello();
        });
    if (!dealer) throw std::runtime_error(dealer.error().text());
    dealer_ = std::move(*dealer);
    beat();
    const auto guard = boost::asio::make_work_guard(io_);
    io_.run();
    dealer_.reset();
  });
}

ScriptedWorker::~ScriptedWorker() {
  io_.stop();
  thread_.join();
}

void ScriptedWorker::hello() {
  Hello hello;
  hello.protocol_min = kProtocolVersionMin;
  hello.protocol_max = kProtocolVersionMax;
  hello.worker = settings_.id;
  hello.incarnation = incarnation_;
  hello.version = "scripted";
  hello.host = "test";
  hello.engine = "none";
  hello.beat = ++beat_;
  hello.capacity.slots = settings_.slots;
  hello.capacity.memory_bytes = 8ULL << 30;
  hello.capacity.disk_free_bytes = 100ULL << 30;
  {
    const std::lock_guard lock(mutex_);
    hello.running = running_;
    for (const TaskResult& result : outbox_)
      hello.unacknowledged.push_back({result.task, result.token});
  }
  static_cast<void>(dealer_->send(wire::encode(ToCoordinator(hello))));
}

void ScriptedWorker::beat() {
  timer_.expires_after(kBeat);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (ec) return;
    Heartbeat heartbeat;
    bool send = false;
    {
      const std::lock_guard lock(mutex_);
      heartbeat.capacity.slots = settings_.slots;
      heartbeat.capacity.memory_bytes = 8ULL << 30;
      heartbeat.capacity.disk_free_bytes = 100ULL << 30;
      heartbeat.renew = running_;
      send = in_session_;
    }
    heartbeat.beat = ++beat_;
    if (send) static_cast<void>(dealer_->send(wire::encode(ToCoordinator(heartbeat))));
    beat();
  });
}

void ScriptedWorker::deliver(const TaskResult& result) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(running_, LiveLease{result.task, result.token});
    outbox_.push_back(result);
  }
  static_cast<void>(dealer_->send(wire::encode(ToCoordinator(ResultMessage{result}))));
}

void ScriptedWorker::received(const std::string& bytes) {
  auto message = wire::decode_to_worker(bytes);
  if (!message) throw std::runtime_error(message.error().text());
  std::optional<TaskResult> result;
  std::vector<TaskResult> resend;
  bool say_hello = false;
  {
    const std::lock_guard lock(mutex_);
    if (const auto* welcome = std::get_if<Welcome>(&*message)) {
      ++welcomes_;
      in_session_ = true;
      for (const LiveLease& gone : welcome->cancel) std::erase(running_, gone);
      for (const LiveLease& wanted : welcome->resend) {
        for (const TaskResult& kept : outbox_) {
          if (kept.task == wanted.task && kept.token == wanted.token) resend.push_back(kept);
        }
      }
      std::erase_if(outbox_, [&](const TaskResult& kept) {
        return std::ranges::find(welcome->forget, LiveLease{kept.task, kept.token}) !=
               welcome->forget.end();
      });
    } else if (const auto* lease = std::get_if<Lease>(&*message)) {
      leases_.push_back(*lease);
      running_.push_back({lease->spec.id, lease->token});
      result = settings_.script(*lease);
    } else if (const auto* ack = std::get_if<ResultAck>(&*message)) {
      acks_.push_back(*ack);
      std::erase_if(outbox_, [&](const TaskResult& kept) {
        return kept.task == ack->lease.task && kept.token == ack->lease.token;
      });
    } else if (const auto* lost = std::get_if<HeartbeatAck>(&*message)) {
      for (const LiveLease& gone : lost->lost) std::erase(running_, gone);
    } else if (const auto* cancel = std::get_if<CancelTask>(&*message)) {
      ++cancels_;
      std::erase(running_, cancel->lease);
    } else if (std::holds_alternative<HelloAgain>(*message)) {
      in_session_ = false;
      say_hello = true;
    }
    changed_.notify_all();
  }
  if (say_hello) hello();
  if (result) deliver(*result);
  for (const TaskResult& kept : resend) {
    static_cast<void>(dealer_->send(wire::encode(ToCoordinator(ResultMessage{kept}))));
  }
}

void ScriptedWorker::answer(TaskResult result) {
  boost::asio::post(io_, [this, result = std::move(result)] { deliver(result); });
}

void ScriptedWorker::send_raw(std::string bytes) {
  boost::asio::post(io_,
                    [this, bytes = std::move(bytes)] { static_cast<void>(dealer_->send(bytes)); });
}

void ScriptedWorker::wait(const std::function<bool()>& until) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, until))
    throw std::runtime_error("the awaited message did not come");
}

void ScriptedWorker::wait_for_state(net::LinkState state) {
  wait([&] { return std::ranges::find(states_, state) != states_.end(); });
}
void ScriptedWorker::wait_until_welcome() {
  wait([&] { return welcomes_ > 0; });
}
void ScriptedWorker::wait_for_leases(std::size_t count) {
  wait([&] { return leases_.size() >= count; });
}
void ScriptedWorker::wait_for_cancels(std::size_t count) {
  wait([&] { return cancels_ >= count; });
}
void ScriptedWorker::wait_for_acks(std::size_t count) {
  wait([&] { return acks_.size() >= count; });
}

std::vector<Lease> ScriptedWorker::leases() const {
  const std::lock_guard lock(mutex_);
  return leases_;
}
std::vector<ResultAck> ScriptedWorker::acks() const {
  const std::lock_guard lock(mutex_);
  return acks_;
}

std::optional<TaskResult> pass_everything(const Lease& lease) {
  TaskResult result;
  result.task = lease.spec.id;
  result.token = lease.token;
  result.outcome = Outcome::passing;
  result.started = {1'700'000'000'000'000};
  result.finished = {1'700'000'002'500'000};
  if (const auto* source = std::get_if<AcquireSource>(&lease.spec.work)) {
    SourceFacts facts;
    facts.commit = std::string(40, 'a');
    facts.tree = std::string(64, 'b');
    facts.files = 3;
    for (const char* dir : {"a", "b"}) {
      UnitInfo unit;
      unit.dir = dir;
      unit.module_path = source_name(source->source) + "/" + dir;
      unit.go_version = "1.22";
      facts.units.push_back(unit);
    }
    result.source = facts;
  } else if (std::holds_alternative<AcquireModules>(lease.spec.work)) {
    result.modules = ModuleFacts{std::string(64, 'c'), false, 2, 1000};
  } else if (const auto* execute = std::get_if<Execute>(&lease.spec.work)) {
    CheckRecord check;
    check.check = CheckKind::test;
    check.outcome = Outcome::passing;
    check.exit_code = 0;
    result.checks.push_back(check);
    result.evidence.egress = "none";
    if (execute->unit.dir == "b") {
      result.outcome = Outcome::failing;
      result.message = "one test failed";
      result.checks[0].outcome = Outcome::failing;
      result.checks[0].exit_code = 1;
      Finding finding;
      finding.kind = FindingKind::test_failure;
      finding.package = "example.com/b";
      finding.test = "TestX";
      finding.key = "k";
      result.findings.push_back(finding);
    }
  }
  return result;
}

}  // namespace cupel::coordinator
