#include "coordinator/app/control_loop.hpp"

#include "common/async/await_callback.hpp"
#include "common/crash/crash_point.hpp"
#include "coordinator/app/term.hpp"

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include <chrono>
#include <future>
#include <malloc.h>
#include <set>
#include <string_view>
#include <utility>

namespace cupel::coordinator {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kTick{250};
constexpr std::chrono::seconds kCheckMax{5};
constexpr std::size_t kLargeCampaign = 10'000;  // repositories

/// What operators look for in the log; campaigns' own events are the API's.
void log_order(const EventRow& event) {
  static const std::set<std::string_view> kOthers = {"campaign.paused", "campaign.resumed",
                                                     "campaign.reopened"};
  const bool orders = event.type.starts_with("worker.") || event.type.starts_with("deadletter.");
  if (!orders && !kOthers.contains(event.type)) return;
  const bool bad = event.type == "worker.quarantined" || event.type == "worker.lost" ||
                   event.type == "deadletter.added";
  spdlog::log(bad ? spdlog::level::warn : spdlog::level::info, "{}{}: {}", event.type,
              event.campaign ? " " + event.campaign.text() : std::string(), event.body);
}

constexpr std::uint32_t kTurnedAwayRetryMs = 1'000;

Error starting() {
  return {.code = Errc::not_ready, .what = "the coordinator is starting", .detail = {}, .hint = {}};
}

Error stopping() {
  return {.code = Errc::not_ready, .what = "the coordinator is stopping", .detail = {}, .hint = {}};
}

}  // namespace

ControlLoop::ControlLoop(ControlParts parts)
    : parts_(std::move(parts)),
      absent_(starting()),
      timer_(parts_.loop),
      gather_timer_(parts_.loop) {}

ControlLoop::~ControlLoop() = default;

Result<void> ControlLoop::bind(::zmq::context_t& context, net::RouterOptions options,
                               const net::ZapHandler* zap) {
  auto link = zmq::ControlLink::bind(parts_.loop, context, std::move(options), zap,
                                     [this](Event event) { on(std::move(event)); });
  if (!link) return link.error();
  link_ = std::move(*link);
  return {};
}

void ControlLoop::start() {
  tick();
}

void ControlLoop::stop() {
  stopped_ = true;
  timer_.cancel();
  gather_timer_.cancel();
  link_.reset();
  answer_waiting(stopping());
}

void ControlLoop::begin(Machine machine, StoreWriter& store) {
  machine_.emplace(std::move(machine));
  store_ = &store;
  ++term_;
  // Its counters begin at zero.
  parts_.metrics.machine_began();
  if (trusted_) on(*trusted_);
}

void ControlLoop::end(Error why) {
  absent_ = std::move(why);
  if (machine_ && link_) {
    parts_.metrics.update(machine_->counters(), Gauges{}, link_->counters());
  }
  machine_.reset();
  store_ = nullptr;
  answer_waiting(absent_);
}

void ControlLoop::answer_waiting(const Error& why) {
  // Nothing that waits was promised; who asked learns why.
  for (auto& [id, answered] : std::exchange(waiting_, {})) answered(why);
}

void ControlLoop::trust(const net::TrustList& list) {
  TrustChanged changed;
  for (const auto& [key, worker] : list.entries())
    changed.keys.push_back({key.z85(), worker.name, worker.labels});
  trusted_ = changed;
  on(std::move(changed));
}

void ControlLoop::on(Event event) {
  if (stopped_) return;
  if (!machine_) return turn_away(event);
  if (!in_charge()) return;
  const auto* message = std::get_if<MessageReceived>(&event);
  const bool result = message != nullptr && std::holds_alternative<ResultMessage>(message->message);
  const Now now = now_of_clocks();
  machine_->on(std::move(event), now);
  if (result) {
    schedule_flush_of_result(now.mono);
  } else {
    schedule_flush();
  }
}

bool ControlLoop::in_charge() {
  if (!parts_.leads || parts_.leads()) return true;
  parts_.lapsed();
  return false;
}

void ControlLoop::turn_away(const Event& event) {
  const auto* received = std::get_if<MessageReceived>(&event);
  if (received == nullptr || !link_) return;
  Send answer{received->key, received->routing, HelloAgain{}};
  if (std::holds_alternative<Hello>(received->message)) {
    answer.message = Refuse{Errc::not_ready, absent_.what, kTurnedAwayRetryMs};
  }
  static_cast<void>(link_->send({&answer}));
}

void ControlLoop::on_store(std::uint64_t term, Event event) {
  if (term == term_ && machine_) on(std::move(event));
}

void ControlLoop::schedule_flush() {
  if (flush_scheduled_) return;
  flush_scheduled_ = true;
  // After everything that is there by now: what arrives together is committed together.
  asio::post(parts_.loop, [this] { flush(); });
}

void ControlLoop::schedule_flush_of_result(TimePoint now) {
  const Duration wait = gather_.wait(now, machine_->awaits_results());
  if (wait == Duration::zero()) return schedule_flush();
  if (flush_scheduled_ || std::exchange(gathering_, true)) return;
  gather_timer_.expires_after(wait);
  gather_timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) flush();
  });
}

void ControlLoop::flush() {
  flush_scheduled_ = false;
  if (std::exchange(gathering_, false)) gather_timer_.cancel();
  if (stopped_ || !machine_ || !in_charge()) return;
  Actions actions = machine_->take();
  // The store works on its batch while the messages are encoded.
  std::vector<const Send*> messages;
  Commit* batch = nullptr;
  for (Action& action : actions) {
    if (!machine_) return;
    if (const auto* message = std::get_if<Send>(&action)) {
      messages.push_back(message);
    } else if (auto* decided = std::get_if<Commit>(&action)) {
      batch = decided;
    } else {
      carry_out(std::move(action));
    }
  }
  if (!machine_) return;
  if (batch != nullptr) commit(std::move(*batch));
  if (link_->send(messages) > 0)
    spdlog::error("a message to a worker is too large and was not sent");
}

void ControlLoop::tick() {
  on(Tick{});
  timer_.expires_after(kTick);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec && !stopped_) tick();
  });
}

void ControlLoop::carry_out(Action action) {
  struct Visitor {
    ControlLoop& loop;
    void operator()(const Commit& /*batch*/) const {}  // flush()
    void operator()(const Send& /*message*/) const {}  // flush()
    void operator()(Reply& reply) const {
      const auto found = loop.waiting_.find(reply.request);
      if (found == loop.waiting_.end()) return;
      const Answered answered = std::move(found->second);
      loop.waiting_.erase(found);
      CUPEL_CRASH_POINT("reply");
      answered(std::move(reply.answer));
    }
    void operator()(const PassLogTail& pass) const { loop.parts_.live_logs.add(pass.tail); }
    void operator()(const SessionClosed& closed) const {
      loop.parts_.session_closed(closed.session);
    }
    void operator()(const Observe& sample) const { loop.parts_.metrics.observe(sample); }
    void operator()(const StoreLost& lost) const {
      loop.answer_waiting(lost.error);
      loop.parts_.store_lost(lost.error);
    }
  };
  std::visit(Visitor{*this}, action);
}

void ControlLoop::commit(Commit commit) {
  for (const Transition& transition : commit.transitions) {
    if (const auto* finished = std::get_if<TaskFinished>(&transition))
      parts_.live_logs.drop(finished->id);
  }
  store_->apply(std::move(commit.transitions), [this, term = term_,
                                                batch = commit.batch](Result<Applied> applied) {
    if (!applied) {
      asio::post(parts_.loop, [this, term, batch, error = applied.error()] {
        on_store(term, StoreFailed{batch, error});
      });
      return;
    }
    for (const EventRow& event : applied->events) log_order(event);
    if (!applied->events.empty()) parts_.publish(std::move(applied->events));
    asio::post(parts_.loop, [this, term,
                             answer = StoreCommitted{batch, std::move(applied->specs),
                                                     std::move(applied->baselines)}]() mutable {
      on_store(term, std::move(answer));
    });
  });
}

void ControlLoop::request(std::function<Event(RequestId)> make, Answered answered) {
  asio::post(parts_.loop, [this, make = std::move(make), answered = std::move(answered)] {
    if (stopped_ || !machine_) {
      answered(stopped_ ? stopping() : absent_);
      return;
    }
    const RequestId id = ++last_request_;
    waiting_.emplace(id, answered);
    on(make(id));
  });
}

asio::awaitable<ControlLoop::Answer> ControlLoop::ask(std::function<Event(RequestId)> make) {
  auto start = [this, make = std::move(make)](Answered answered) {
    request(make, std::move(answered));
  };
  co_return co_await async::await_callback<Answer>(std::move(start));
}

template <typename Asked>
asio::awaitable<ControlLoop::Answer> ControlLoop::ask_with(Asked event) {
  // Shared, since functions are copied on the way and an event can be large.
  return ask([shared = std::make_shared<Asked>(std::move(event))](RequestId id) -> Event {
    shared->request = id;
    return std::move(*shared);
  });
}

asio::awaitable<Result<Reply::Done>> ControlLoop::submit(SubmitCampaign event) {
  const bool large = event.campaign.repositories.size() >= kLargeCampaign;
  // What reading it took, and then creating it, is free again, but spread over the heaps of three
  // threads.
  if (large) ::malloc_trim(0);
  auto answer = co_await ask_with(std::move(event));
  if (large) ::malloc_trim(0);
  co_return answer;
}

asio::awaitable<Result<Reply::Done>> ControlLoop::cancel(CampaignId campaign) {
  return ask([campaign](RequestId id) -> Event { return CancelCampaign{id, campaign}; });
}

asio::awaitable<Result<Reply::Done>> ControlLoop::pause(CampaignId campaign, bool paused) {
  return ask([campaign, paused](RequestId id) -> Event {
    if (paused) return PauseCampaign{id, campaign};
    return ResumeCampaign{id, campaign};
  });
}

asio::awaitable<Result<Reply::Done>> ControlLoop::order(OrderWorkers event) {
  return ask_with(std::move(event));
}
asio::awaitable<Result<Reply::Done>> ControlLoop::replay(ReplayDeadLetter event) {
  return ask_with(std::move(event));
}
asio::awaitable<Result<Reply::Done>> ControlLoop::drop(DropDeadLetter event) {
  return ask_with(std::move(event));
}

template <typename T>
asio::awaitable<T> ControlLoop::look(std::function<T(const Machine&)> look_at) {
  auto start = [this, look_at = std::move(look_at)](std::function<void(T)> done) {
    asio::post(parts_.loop, [this, look_at, done = std::move(done)] {
      done(machine_ ? look_at(*machine_) : T{});
    });
  };
  co_return co_await async::await_callback<T>(std::move(start));
}

asio::awaitable<std::vector<WorkerView>> ControlLoop::workers() {
  return look<std::vector<WorkerView>>([](const Machine& machine) { return machine.workers(); });
}

asio::awaitable<std::optional<Explanation>> ControlLoop::explain(TaskId task) {
  return look<std::optional<Explanation>>(
      [task](const Machine& machine) { return machine.explain(task); });
}

asio::awaitable<std::optional<Explanation>> ControlLoop::explain(UnitId unit) {
  return look<std::optional<Explanation>>(
      [unit](const Machine& machine) { return machine.explain(unit); });
}

asio::awaitable<std::optional<CampaignExplanation>> ControlLoop::explain(CampaignId id) {
  return look<std::optional<CampaignExplanation>>(
      [id](const Machine& machine) { return machine.explain(id); });
}

asio::awaitable<bool> ControlLoop::refresh_metrics() {
  return look<bool>([this](const Machine& machine) {
    if (link_) parts_.metrics.update(machine.counters(), machine.gauges(), link_->counters());
    return true;
  });
}

Result<void> ControlLoop::check(std::function<Result<void>(const Machine&)> look_at) {
  auto promise = std::make_shared<std::promise<Result<void>>>();
  auto answer = promise->get_future();
  asio::post(parts_.loop, [this, promise, look_at = std::move(look_at)] {
    promise->set_value(machine_ ? look_at(*machine_) : Result<void>(absent_));
  });
  if (answer.wait_for(kCheckMax) == std::future_status::ready) return answer.get();
  return Error{
      .code = Errc::retry_later, .what = "the coordinator is busy", .detail = {}, .hint = {}};
}

zmq::LeaseChecks ControlLoop::lease_checks() {
  return {.may_put =
              [this](std::uint64_t session, const std::string& key, const LiveLease& lease) {
                return check(
                    [=](const Machine& machine) { return machine.may_put(session, key, lease); });
              },
          .may_get =
              [this](std::uint64_t session, const std::string& key, const LiveLease& lease,
                     const Digest& artifact) {
                return check([=](const Machine& machine) {
                  return machine.may_get(session, key, lease, artifact);
                });
              }};
}

}  // namespace cupel::coordinator
