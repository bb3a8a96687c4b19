#include "worker/app/service.hpp"

#include "common/app/descriptors.hpp"
#include "common/app/log.hpp"
#include "common/app/metrics.hpp"
#include "common/app/revision.hpp"
#include "common/async/clock.hpp"
#include "common/core/version.hpp"
#include "common/crash/crash_point.hpp"
#include "common/crash/message_points.hpp"
#include "common/fs/files.hpp"
#include "common/http/server.hpp"
#include "common/net/library.hpp"
#include "common/text/units.hpp"
#include "common/wire/codec.hpp"
#include "worker/app/coordinator_link.hpp"
#include "worker/app/host.hpp"
#include "worker/app/kept_state.hpp"
#include "worker/app/loop.hpp"
#include "worker/app/readiness.hpp"
#include "worker/app/run_side.hpp"
#include "worker/core/agent/agent.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <spdlog/spdlog.h>
#include <zmq.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

int fail(const Error& error) {
  spdlog::error("{}", error.text());
  return error_info(error.code).exit_code;
}

prometheus::Counter& malformed_counter(app::Metrics& metrics, const std::string& plane) {
  return metrics.counter("cupel_bus_decode_failures_total", "Frames that were no valid message",
                         {{"plane", plane}});
}

/// Everything that the control loop owns.
class Service {
 public:
  Service(const Options& options, const app::LogOptions& log)
      : options_(options),
        base_metrics_("worker", std::string(kVersion), std::string(app::revision())),
        metrics_(base_metrics_, options_.engine_budgets) {
    app::start_log(log, base_metrics_.log_counter());
    for (const char* plane : {"control", "bulk"}) (void)malformed_counter(base_metrics_, plane);
  }

  int run();

 private:
  Result<void> open();
  CoordinatorLink::Callbacks link_callbacks();
  void link_changed(net::LinkState state);
  Result<void> open_http();
  void malformed(const std::string& plane);
  void step(AgentEvent event);
  void apply(AgentAction& action);
  void send_result(LiveLease lease);
  void finished(TaskResult result);
  void arm_tick();
  void arm_signals();
  void publish();
  void leave(int code, const std::string& text);
  void stop_all();

  const Options& options_;
  app::Metrics base_metrics_;
  WorkerMetrics metrics_;
  Readiness readiness_{options_.ready_file};
  std::optional<KeptState> kept_;
  std::mutex outbox_mutex_;  // file pool threads
  Incarnation incarnation_{fs::random_u64()};

  zmq::context_t context_{1};
  Loop control_;
  Loop run_;
  Loop bulk_;
  asio::thread_pool files_{2};
  CoordinatorLink link_{context_, control_, bulk_, options_, link_callbacks()};
  std::unique_ptr<http::Server> http_;
  std::unique_ptr<RunSide> run_side_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<asio::steady_timer> tick_;
  std::unique_ptr<asio::signal_set> signals_;
  std::optional<int> exit_code_;
  bool joined_ = false;
  int terminations_ = 0;
  std::atomic<bool> malformed_seen_{false};
};

Result<void> Service::open() {
  ::umask(077);
  if (auto safe = net::check_libzmq(net::loaded_libzmq()); !safe) return safe;
  app::make_room_for_descriptors();
  auto kept = open_kept_state(options_);
  if (!kept) return kept.error();
  kept_ = std::move(*kept);
  if (auto keys = link_.read_keys(); !keys) return keys;
  if (const Duration needed = options_.engine_budgets.after_run(); options_.post_run < needed) {
    spdlog::info(
        "post_run is shorter than what engine_budgets gives to the calls after a run, {}: "
        "where the engine is that slow, another worker may remove the container first",
        text::format_duration(needed));
  }
  if (::access(options_.wrapper.c_str(), R_OK | X_OK) != 0) {
    return Error{Errc::bad_config,
                 "the wrapper " + options_.wrapper + " is missing or can't be executed",
                 {},
                 "install cupel-init beside cupel-worker, or name it with --wrapper"};
  }
  return link_.connect();
}

CoordinatorLink::Callbacks Service::link_callbacks() {
  return {[this](ToWorker message) { step(FromCoordinator{std::move(message)}); },
          [this](net::LinkState state) { link_changed(state); },
          [this](const char* plane) { malformed(plane); }};
}

void Service::link_changed(net::LinkState state) {
  switch (state) {
    case net::LinkState::connected: step(Connected{}); break;
    case net::LinkState::auth_failed:
      step(AuthFailed{"the coordinator does not trust this worker's key"});
      break;
    case net::LinkState::handshake_failed:
      step(AuthFailed{"what answers does not hold the coordinator's key"});
      break;
    default: step(Disconnected{}); break;
  }
}

// Any thread. The first is worth a line; more would only fill the disk.
void Service::malformed(const std::string& plane) {
  malformed_counter(base_metrics_, plane).Increment();
  if (!malformed_seen_.exchange(true))
    spdlog::warn("messages of the coordinator are not understood; they are counted");
}

Result<void> Service::open_http() {
  if (options_.metrics_listen.empty()) return {};
  http::ServerOptions server;
  server.listen = options_.metrics_listen;
  http_ = std::make_unique<http::Server>(bulk_.io(), std::move(server));
  http_->route_sync("GET", "/metrics", [this](const http::Request&) {
    return http::text_response(200, std::string(app::kMetricsContentType), base_metrics_.text());
  });
  const auto plain = [](unsigned status, std::string text) {
    return http::text_response(status, "text/plain; charset=utf-8", std::move(text));
  };
  http_->route_sync("GET", "/-/healthy",
                    [plain](const http::Request&) { return plain(200, "healthy\n"); });
  http_->route_sync("GET", "/-/ready", [this, plain](const http::Request&) {
    return readiness_.ready() ? plain(200, "ready\n") : plain(503, "not ready\n");
  });
  return http_->listen();
}

void Service::step(AgentEvent event) {
  if (!agent_ || exit_code_) return;
  AgentActions actions = agent_->step(std::move(event), async::monotonic_now());
  for (AgentAction& action : actions) apply(action);
  publish();
}

void Service::apply(AgentAction& action) {
  if (auto* send = std::get_if<SendMessage>(&action)) {
    crash::before_send(send->message);
    link_.send(wire::encode(send->message));
    crash::after_send(send->message);
  } else if (auto* result = std::get_if<SendResult>(&action)) {
    send_result(result->lease);
  } else if (auto* start = std::get_if<StartAttempt>(&action)) {
    spdlog::info("{}: attempt {} begins ({})", start->lease.spec.id.text(),
                 start->lease.token.value, name(start->lease.spec.kind));
    asio::post(run_.io(), [this, lease = std::move(start->lease)]() mutable {
      run_side_->start(std::move(lease));
    });
  } else if (auto* cancel = std::get_if<CancelAttempt>(&action)) {
    spdlog::info("{}: attempt {} is stopped: {}", cancel->lease.task.text(),
                 cancel->lease.token.value, name(cancel->why));
    asio::post(run_.io(),
               [this, lease = cancel->lease, why = cancel->why] { run_side_->cancel(lease, why); });
  } else if (auto* drop = std::get_if<DropResult>(&action)) {
    asio::post(files_, [this, token = drop->lease.token] {
      const std::lock_guard guard(outbox_mutex_);
      if (auto removed = kept_->outbox.remove(token); !removed)
        spdlog::warn("outbox: {}", removed.error().text());
    });
  } else if (auto* session = std::get_if<SessionChanged>(&action)) {
    link_.set_session(session->session);
    if (session->session == 0) return;
    spdlog::info("session with fleet {} as {}", session->fleet.text(), session->worker_name);
    if (std::exchange(joined_, true)) return;
    const Membership member{session->fleet, kept_->worker, incarnation_};
    if (auto kept = keep_fleet(options_.data_dir, member.fleet); !kept) {
      spdlog::warn("{}", kept.error().text());
    }
    asio::post(run_.io(), [this, member] { run_side_->join(member, kept_->fleet); });
  } else if (auto* exit = std::get_if<Exit>(&action)) {
    leave(exit->code, exit->text);
  }
}

void Service::send_result(LiveLease lease) {
  asio::post(files_, [this, lease] {
    std::optional<Result<TaskResult>> result;
    {
      const std::lock_guard guard(outbox_mutex_);
      result = kept_->outbox.get(lease.token);
    }
    if (!*result) {
      if (result->error().code != Errc::not_found)
        spdlog::error("outbox: {}", result->error().text());
      return;
    }
    std::string bytes = wire::encode(ToCoordinator(ResultMessage{std::move(**result)}));
    asio::post(control_.io(), [this, bytes = std::move(bytes)] {
      CUPEL_CRASH_POINT("send.result");
      link_.send(bytes);
      CUPEL_CRASH_POINT("sent.result");
    });
  });
}

void Service::finished(TaskResult result) {
  asio::post(files_, [this, result = std::move(result)] {
    const LiveLease lease{result.task, result.token};
    bool stored = false;
    {
      const std::lock_guard guard(outbox_mutex_);
      const auto put = kept_->outbox.put(result);
      stored = put.has_value();
      if (!stored)
        spdlog::error("the result of {} can't be kept: {}", lease.task.text(), put.error().text());
    }
    spdlog::info(
        "{}: attempt {} ended: {}", lease.task.text(), lease.token.value,
        result.ending == Ending::completed
            ? std::string(name(result.outcome)) +
                  (result.reason == Reason::none ? "" : ":" + std::string(name(result.reason)))
            : "given back (" + result.message + ")");
    asio::post(control_.io(), [this, lease, stored] { step(AttemptFinished{lease, stored}); });
  });
}

void Service::publish() {
  const AgentStatus status = agent_->status();
  const auto silent = std::chrono::duration_cast<std::chrono::microseconds>(async::monotonic_now() -
                                                                            status.last_contact);
  const bool ever = status.last_contact != TimePoint{};
  metrics_.agent(status, ever ? WallTime{async::wall_now().us - silent.count()} : WallTime{});
  if (status.session == SessionState::ready && status.slots > 0 && !status.draining) {
    readiness_.takes_tasks({kept_->worker, status.slots, http_ ? http_->address() : ""});
  } else {
    readiness_.takes_none();
  }
}

void Service::arm_tick() {
  tick_->expires_after(milliseconds(200));
  tick_->async_wait([this](const boost::system::error_code& ec) {
    if (ec || exit_code_) return;
    step(Tick{});
    if (exit_code_) return;
    if (link_.tick(agent_->status().session == SessionState::ready)) step(Disconnected{});
    if (!exit_code_) arm_tick();
  });
}

void Service::arm_signals() {
  signals_->async_wait([this](const boost::system::error_code& ec, int) {
    if (ec) return;
    terminations_ += 1;
    spdlog::info(terminations_ == 1
                     ? "draining: running tasks end first; a second TERM stops at once"
                     : "stopping at once");
    Readiness::stopping();
    step(Terminate{});
    if (!exit_code_) arm_signals();
  });
}

void Service::leave(int code, const std::string& text) {
  if (exit_code_) return;
  exit_code_ = code;
  if (code == 0) {
    spdlog::info("leaving: {}", text);
  } else {
    spdlog::error("leaving: {}", text);
  }
  // Attempts that still run end with this process: their wrapper reads end of file. The next start,
  // or another worker after the deadline, removes what is left.
  if (terminations_ > 1) {
    spdlog::default_logger()->flush();
    std::quick_exit(code);
  }
  control_.io().stop();
}

void Service::stop_all() {
  readiness_.takes_none();
  asio::post(run_.io(), [this] {
    asio::co_spawn(run_.io(), run_side_->shutdown(), [this](const std::exception_ptr& failure) {
      if (failure) spdlog::error("the run loop did not end in order");
      run_.io().stop();
    });
  });
  run_.join();
  files_.join();
  asio::post(bulk_.io(), [this] {
    link_.stop_bulk();
    if (!http_) return bulk_.io().stop();
    http_->stop(std::chrono::seconds(2), [this] { bulk_.io().stop(); });
  });
  bulk_.join();
  run_side_.reset();
  http_.reset();
  link_.close();
}

int Service::run() {
  if (auto opened = open(); !opened) return fail(opened.error());
  if (auto opened = open_http(); !opened) return fail(opened.error());
  // Before the threads exist: nothing here is shared yet.
  signals_ = std::make_unique<asio::signal_set>(control_.io(), SIGTERM, SIGINT);
  tick_ = std::make_unique<asio::steady_timer>(control_.io());
  RunSide::Callbacks callbacks;
  callbacks.capacity = [this](Capacity capacity) {
    asio::post(control_.io(),
               [this, capacity = std::move(capacity)] { step(CapacityChanged{capacity}); });
  };
  callbacks.finished = [this](TaskResult result) { finished(std::move(result)); };
  callbacks.output = [this](LogTail tail) {
    asio::post(control_.io(), [this, tail = std::move(tail)] { step(OutputProduced{tail}); });
  };
  run_side_ = std::make_unique<RunSide>(run_.io(), files_, link_.bulk(), metrics_, options_,
                                        std::move(callbacks));
  AgentSettings settings;
  settings.worker = kept_->worker;
  settings.incarnation = incarnation_;
  settings.version = kVersion;
  settings.host = options_.name;
  settings.engine = options_.engine == kEngineBubblewrap ? options_.engine : options_.engine_socket;
  settings.drain_deadline = options_.drain_limit;
  settings.random = fs::random_u64();
  Capacity starting;
  starting.blocked = "starting";
  agent_ = std::make_unique<Agent>(std::move(settings), std::move(starting),
                                   std::move(kept_->waiting), async::monotonic_now());
  const app::LoopLag control_lag(control_.io().get_executor(),
                                 app::LoopLag::gauge(base_metrics_, "control"));
  spdlog::info("worker {} ({}) connects to {}", kept_->worker.text(), options_.name,
               options_.coordinators.front().control);
  arm_signals();
  arm_tick();
  run_.start();
  bulk_.start();
  Readiness::running();
  control_.io().run();
  stop_all();
  return exit_code_.value_or(1);
}

}  // namespace

int run_worker(const Options& options) {
  Service service(options, options.log);
  return service.run();
}

}  // namespace cupel::worker
