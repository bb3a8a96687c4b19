/// The control loop: owns the machine and its socket, carries out what the machine decides.
#pragma once

#include "common/net/zap.hpp"
#include "coordinator/app/coordinator_metrics.hpp"
#include "coordinator/core/result_gather.hpp"
#include "coordinator/fs/live_logs.hpp"
#include "coordinator/http/control_port.hpp"
#include "coordinator/ports/store.hpp"
#include "coordinator/zmq/bulk_link.hpp"
#include "coordinator/zmq/control_link.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cupel::coordinator {

/// What the loop rests on; outlives it.
struct ControlParts {
  boost::asio::io_context& loop;
  CoordinatorMetrics& metrics;
  fs::LiveLogs& live_logs;
  /// On the store writer's thread, in the order of the commits.
  std::function<void(std::vector<EventRow>)> publish;
  /// On the control loop.
  std::function<void(std::uint64_t session)> session_closed;
  /// On the control loop: the store is not to be trusted, the term must end.
  std::function<void(const Error&)> store_lost;
  /// May be empty. False: another process may lead by now, so nothing is decided or sent any more.
  std::function<bool()> leads;
  /// On the control loop: `leads` has become false; the term must end.
  std::function<void()> lapsed;
};

/// ControlPort and lease_checks() may be used from other threads; everything else on the control
/// loop.
///
/// A machine lives for a term, from begin() to end(). Without one, requests are answered with why,
/// and workers are told to ask again or elsewhere.
class ControlLoop final : public http::ControlPort {
 public:
  explicit ControlLoop(ControlParts parts);
  ~ControlLoop() override;

  [[nodiscard]] Result<void> bind(::zmq::context_t& context, net::RouterOptions options,
                                  const net::ZapHandler* zap);
  [[nodiscard]] std::string endpoint() const { return link_->endpoint(); }
  void start();
  /// The store outlives the term.
  void begin(Machine machine, StoreWriter& store);
  /// Nothing of the machine is carried out any more; requests that wait are answered with `why`.
  void end(Error why);
  void trust(const net::TrustList& list);
  /// No more messages, ticks or requests; requests that wait are answered with not_ready.
  void stop();

  boost::asio::awaitable<Result<Reply::Done>> submit(SubmitCampaign event) override;
  boost::asio::awaitable<Result<Reply::Done>> cancel(CampaignId campaign) override;
  boost::asio::awaitable<Result<Reply::Done>> pause(CampaignId campaign, bool paused) override;
  boost::asio::awaitable<Result<Reply::Done>> order(OrderWorkers event) override;
  boost::asio::awaitable<Result<Reply::Done>> replay(ReplayDeadLetter event) override;
  boost::asio::awaitable<Result<Reply::Done>> drop(DropDeadLetter event) override;
  boost::asio::awaitable<std::vector<WorkerView>> workers() override;
  boost::asio::awaitable<std::optional<Explanation>> explain(TaskId task) override;
  boost::asio::awaitable<std::optional<Explanation>> explain(UnitId unit) override;
  boost::asio::awaitable<std::optional<CampaignExplanation>> explain(CampaignId id) override;
  boost::asio::awaitable<bool> refresh_metrics() override;

  /// For the bulk loop: blocks it until this loop has answered, at most five seconds.
  [[nodiscard]] zmq::LeaseChecks lease_checks();

 private:
  using Answer = Result<Reply::Done>;
  using Answered = std::function<void(Answer)>;

  void on(Event event);
  void schedule_flush();
  /// After a result: now or a little later (ResultGather).
  void schedule_flush_of_result(TimePoint now);
  void flush();
  void tick();
  /// To a worker, while there is no machine.
  void turn_away(const Event& event);
  [[nodiscard]] bool in_charge();
  void answer_waiting(const Error& why);
  void on_store(std::uint64_t term, Event event);
  void carry_out(Action action);
  void commit(Commit commit);
  void request(std::function<Event(RequestId)> make, Answered answered);
  boost::asio::awaitable<Answer> ask(std::function<Event(RequestId)> make);
  /// An event that is complete but for its request's number.
  template <typename Asked>
  boost::asio::awaitable<Answer> ask_with(Asked event);
  template <typename T>
  boost::asio::awaitable<T> look(std::function<T(const Machine&)> look_at);
  Result<void> check(std::function<Result<void>(const Machine&)> look_at);
  void update_metrics();

  ControlParts parts_;
  std::optional<Machine> machine_;
  StoreWriter* store_ = nullptr;  ///< Of the term.
  std::uint64_t term_ = 0;        ///< What comes late from the store of an earlier one is dropped.
  Error absent_;                  ///< Why there is no machine.
  std::optional<TrustChanged> trusted_;
  std::unique_ptr<zmq::ControlLink> link_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer gather_timer_;
  ResultGather gather_;
  std::map<RequestId, Answered> waiting_;
  RequestId last_request_ = 0;
  bool flush_scheduled_ = false;
  bool gathering_ = false;  ///< A flush comes with gather_timer_.
  bool stopped_ = false;
};

}  // namespace cupel::coordinator
