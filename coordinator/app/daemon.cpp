#include "coordinator/app/daemon.hpp"

#include "common/app/descriptors.hpp"
#include "common/app/metrics.hpp"
#include "common/app/revision.hpp"
#include "common/async/await_callback.hpp"
#include "common/core/version.hpp"
#include "common/fs/files.hpp"
#include "common/net/library.hpp"
#include "coordinator/app/control_loop.hpp"
#include "coordinator/app/file_watch.hpp"
#include "coordinator/app/lead.hpp"
#include "coordinator/app/loop_thread.hpp"
#include "coordinator/app/readiness.hpp"
#include "coordinator/app/secrets.hpp"
#include "coordinator/http/api.hpp"
#include "coordinator/sql/store.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <zmq.hpp>

#include <atomic>
#include <csignal>
#include <malloc.h>
#include <optional>
#include <systemd/sd-daemon.h>
#include <thread>
#include <utility>

namespace cupel::coordinator {
namespace {

namespace asio = boost::asio;

constexpr int kReaderThreads = 2;
constexpr int kZmqThreads = 2;
constexpr std::chrono::milliseconds kStopGrace{5'000};
constexpr std::chrono::milliseconds kLostGrace{1'000};  // for answers that say so

}  // namespace

/// Built from top to bottom, taken down from bottom to top.
class Daemon {
 public:
  explicit Daemon(const Options& options) : options_(options) {}

  Result<void> start();
  int run();
  void take_down();

 private:
  /// No other coordinator can reach this one's store.
  [[nodiscard]] bool alone() const { return options_.store.postgres() == nullptr; }
  Result<void> make_parts();
  Result<void> open_store();
  Result<void> open_network();
  Result<void> open_http();
  Result<void> announce();
  void log_ready() const;
  void reload_trust();
  void begin_stop(std::chrono::milliseconds grace);
  void finish_stop();
  asio::awaitable<std::string> metrics_text();

  const Options& options_;
  app::Metrics metrics_{"coordinator", std::string(kVersion), std::string(app::revision())};
  CoordinatorMetrics numbers_{metrics_};
  Readiness readiness_;
  int exit_code_ = 0;
  bool stopping_ = false;

  asio::io_context control_io_{1};
  LoopThread http_loop_{"http"};
  LoopThread bulk_loop_{"bulk"};

  std::optional<cupel::fs::FileLock> lock_;
  std::optional<net::KeyPair> key_;
  std::shared_ptr<const net::TrustList> trust_;
  std::optional<fs::ArtifactStore> artifacts_;
  std::optional<fs::PlanStore> plans_;
  std::optional<fs::ScanDatabase> vulndb_;
  fs::LiveLogs live_logs_;
  std::vector<sql::SqlReader*> own_readers_;  ///< Those of readers_.
  std::unique_ptr<http::ReadPool> readers_;
  std::unique_ptr<http::EventHub> hub_;
  std::unique_ptr<ControlLoop> control_;
  std::unique_ptr<Lead> lead_;

  ::zmq::context_t zmq_{kZmqThreads};
  std::unique_ptr<net::ZapHandler> zap_;
  std::unique_ptr<zmq::BulkLink> bulk_;
  std::unique_ptr<http::Api> api_;
  std::unique_ptr<cupel::http::Server> server_;
  std::unique_ptr<FileWatch> trust_watch_;
  asio::signal_set signals_{control_io_};
  std::vector<std::unique_ptr<app::LoopLag>> lags_;
};

Result<void> Daemon::start() {
  app::start_log(options_.log, metrics_.log_counter());
  spdlog::info("cupel-coordinator {} starts, data in {}", kVersion, options_.data_dir);
  if (auto safe = net::check_libzmq(net::loaded_libzmq()); !safe) return safe;
  app::make_room_for_descriptors();
  if (auto made = cupel::fs::ensure_private_dir(options_.data_dir); !made) return made;
  auto lock = cupel::fs::FileLock::take(options_.data_dir + "/lock");
  if (!lock) return lock.error();
  lock_ = std::move(*lock);
  auto key = load_or_make_key(options_.key_file, options_.make_key);
  if (!key) return key.error();
  key_ = *key;
  auto trust = net::TrustList::load(options_.trusted_keys);
  if (!trust) return trust.error();
  trust_ = std::make_shared<const net::TrustList>(std::move(*trust));
  auto artifacts = fs::ArtifactStore::open(options_.shared_dir + "/artifacts",
                                           {kArtifactBytesMax, options_.reserve_bytes, !alone()});
  if (!artifacts) return artifacts.error();
  artifacts_ = std::move(*artifacts);
  auto plans = fs::PlanStore::open(options_.shared_dir + "/plans");
  if (!plans) return plans.error();
  plans_ = std::move(*plans);
  vulndb_.emplace(options_.vulndb, *artifacts_);

  for (auto step : {&Daemon::make_parts, &Daemon::open_store, &Daemon::open_network,
                    &Daemon::open_http, &Daemon::announce}) {
    if (auto done = (this->*step)(); !done) return done;
  }
  return {};
}

Result<void> Daemon::make_parts() {
  ControlParts parts{.loop = control_io_,
                     .metrics = numbers_,
                     .live_logs = live_logs_,
                     .publish =
                         [this](std::vector<EventRow> events) {
                           hub_->publish(std::move(events));
                           // A task may have ended: whoever follows its log reads that from the
                           // store now.
                           api_->logs_changed();
                         },
                     .session_closed =
                         [this](std::uint64_t session) {
                           asio::post(bulk_loop_.io(), [this, session] {
                             if (bulk_) bulk_->drop_session(session);
                           });
                         },
                     .store_lost = [this](const Error& error) { lead_->store_lost(error); },
                     .leads = [this] { return lead_->certain(); },
                     .lapsed = [this] { lead_->lapsed(); }};
  control_ = std::make_unique<ControlLoop>(std::move(parts));
  return {};
}

Result<void> Daemon::open_store() {
  std::vector<std::unique_ptr<StoreReader>> readers;
  for (int i = 0; i < kReaderThreads; ++i) {
    auto reader = sql::SqlReader::open(options_.store);
    if (!reader) return reader.error();
    own_readers_.push_back(reader->get());
    readers.push_back(std::move(*reader));
  }
  readers_ = std::make_unique<http::ReadPool>(
      std::move(readers),
      [this](std::string_view op, double seconds, bool ok) { numbers_.read(op, seconds, ok); });
  hub_ = std::make_unique<http::EventHub>(http_loop_.io(), *readers_, 0);
  lead_ = std::make_unique<Lead>(LeadParts{.loop = control_io_,
                                           .options = options_,
                                           .control = *control_,
                                           .events = *hub_,
                                           .artifacts = *artifacts_,
                                           .metrics = numbers_,
                                           .readiness = readiness_,
                                           .began = [this] { log_ready(); },
                                           .fatal =
                                               [this](const Error& error) {
                                                 exit_code_ = error_info(error.code).exit_code;
                                                 begin_stop(kLostGrace);
                                               }});
  if (alone()) return lead_->begin_alone();
  return {};
}

Result<void> Daemon::open_network() {
  auto zap = net::ZapHandler::start(zmq_, trust_);
  if (!zap) return zap.error();
  zap_ = std::move(*zap);
  if (auto shut = zap_->self_test(*key_); !shut) return shut;
  net::RouterOptions control;
  control.plane = net::Plane::control;
  control.endpoint = options_.control;
  control.key = *key_;
  if (auto bound = control_->bind(zmq_, std::move(control), zap_.get()); !bound) return bound;
  net::RouterOptions bulk;
  bulk.plane = net::Plane::bulk;
  bulk.endpoint = options_.bulk;
  bulk.key = *key_;
  auto link = zmq::BulkLink::bind(bulk_loop_.io(), zmq_, std::move(bulk), zap_.get(), *artifacts_,
                                  control_->lease_checks());
  if (!link) return link.error();
  bulk_ = std::move(*link);
  return {};
}

Result<void> Daemon::open_http() {
  auto tokens = load_or_make_tokens(options_.token_file);
  if (!tokens) return tokens.error();
  cupel::http::ServerOptions serving;
  serving.listen = options_.listen;
  serving.tokens = std::move(*tokens);
  serving.on_request = [this](std::string_view route, unsigned status, double seconds) {
    numbers_.http_request(std::string(route), status, seconds);
  };
  serving.refuse = [this](std::string_view route) { return lead_->refuse(route); };
  serving.on_sse_clients = [this](int change) { numbers_.sse_clients(change); };
  serving.on_sse_dropped = [this] { numbers_.sse_dropped(); };
  server_ = std::make_unique<cupel::http::Server>(http_loop_.io(), std::move(serving));
  api_ = std::make_unique<http::Api>(
      http::ApiParts{.loop = http_loop_.io(),
                     .control = *control_,
                     .readers = *readers_,
                     .events = *hub_,
                     .artifacts = *artifacts_,
                     .live_logs = live_logs_,
                     .plans = *plans_,
                     .database = &*vulndb_,
                     .metrics = [this] { return metrics_text(); },
                     .not_ready_why = [this] { return readiness_.why(); }});
  api_->install(*server_);
  live_logs_.on_change([this] { api_->logs_changed(); });
  numbers_.know_routes(server_->patterns());
  return server_->listen();
}

asio::awaitable<std::string> Daemon::metrics_text() {
  co_await control_->refresh_metrics();
  auto refresh_bulk = [this](std::function<void(bool)> done) {
    asio::post(bulk_loop_.io(), [this, done = std::move(done)] {
      if (bulk_) numbers_.update(bulk_->counters(), bulk_->link_counters());
      done(true);
    });
  };
  co_await async::await_callback<bool>(std::move(refresh_bulk));
  co_return metrics_.text();
}

Result<void> Daemon::announce() {
  for (const auto& [name, io] :
       {std::pair{"control", &control_io_}, std::pair{"http", &http_loop_.io()},
        std::pair{"bulk", &bulk_loop_.io()}}) {
    lags_.push_back(
        std::make_unique<app::LoopLag>(io->get_executor(), app::LoopLag::gauge(metrics_, name)));
  }
  signals_.add(SIGTERM);
  signals_.add(SIGINT);
  signals_.add(SIGHUP);
  auto watch = FileWatch::start(control_io_, options_.trusted_keys, [this] { reload_trust(); });
  if (watch) {
    trust_watch_ = std::move(*watch);
  } else {
    spdlog::warn("{}: changes are taken over on SIGHUP only", watch.error().what);
  }
  control_->trust(*trust_);
  control_->start();
  if (!options_.ready_file.empty()) {
    const nlohmann::json ready = {{"http", server_->address()},
                                  {"control", control_->endpoint()},
                                  {"bulk", bulk_->endpoint()},
                                  {"public_key", key_->public_key.z85()}};
    if (auto written =
            cupel::fs::write_file_durably(options_.ready_file, ready.dump() + "\n", 0600);
        !written) {
      return written;
    }
  }
  if (alone()) {
    log_ready();
  } else {
    spdlog::info("listens: http {}, control {}, bulk {}", server_->address(), control_->endpoint(),
                 bulk_->endpoint());
    lead_->stand();
  }
  return {};
}

void Daemon::log_ready() const {
  spdlog::info("ready: http {}, control {}, bulk {}, {} trusted workers", server_->address(),
               control_->endpoint(), bulk_->endpoint(), trust_->size());
}

void Daemon::reload_trust() {
  auto loaded = net::TrustList::load(options_.trusted_keys);
  if (!loaded) {
    spdlog::error("the trusted keys stay as they were: {}", loaded.error().text());
    return;
  }
  trust_ = std::make_shared<const net::TrustList>(std::move(*loaded));
  control_->trust(*trust_);
  // Behind what the machine sends now: a revoked worker is still told so.
  asio::post(control_io_, [this, list = trust_] {
    if (list == trust_) zap_->replace(list);
  });
  spdlog::info("trusted keys read again: {} workers", trust_->size());
}

void Daemon::begin_stop(std::chrono::milliseconds grace) {
  if (stopping_) return;
  stopping_ = true;
  readiness_.set("the coordinator is stopping");
  sd_notify(0, "STOPPING=1");
  asio::post(http_loop_.io(), [this, grace] {
    server_->stop(grace, [this] { asio::post(control_io_, [this] { finish_stop(); }); });
  });
}

void Daemon::finish_stop() {
  control_->stop();
  if (trust_watch_) trust_watch_->stop();
  signals_.cancel();
  control_io_.stop();
}

int Daemon::run() {
  std::function<void()> wait_for_signal = [&] {
    signals_.async_wait([&](const boost::system::error_code& ec, int signal) {
      if (ec) return;
      if (signal == SIGHUP) {
        reload_trust();
      } else {
        spdlog::info("signal {}: the coordinator stops", signal);
        begin_stop(stopping_ ? std::chrono::milliseconds(0) : kStopGrace);
      }
      wait_for_signal();
    });
  };
  wait_for_signal();
  http_loop_.start();
  bulk_loop_.start();
  if (lead_->leads()) readiness_.set("");
  sd_notify(0, "READY=1");
  control_io_.run();
  return exit_code_;
}

void Daemon::take_down() {
  bulk_loop_.join();
  http_loop_.join();
  // Sockets must be closed before their context, which waits for them.
  if (control_) control_->stop();
  // Whatever a server does, nothing waits for it any more.
  for (sql::SqlReader* reader : own_readers_) reader->cut();
  readers_.reset();
  // Commits what waits: its callbacks only post to loops that don't run any more.
  lead_.reset();
  lags_.clear();
  bulk_.reset();
  server_.reset();
  spdlog::info("cupel-coordinator has stopped");
}

int run_coordinator(const Options& options) {
  // Told one threshold, glibc raises none of them by itself: large blocks stay mappings of their
  // own, so that what was read of a large campaign is the kernel's again as it is freed.
  ::mallopt(M_TRIM_THRESHOLD, 1 << 20);
  std::signal(SIGPIPE, SIG_IGN);
  Daemon daemon(options);
  if (const auto started = daemon.start(); !started) {
    spdlog::critical("cupel-coordinator can't start: {}", started.error().text());
    daemon.take_down();
    return error_info(started.error().code).exit_code;
  }
  const int exit_code = daemon.run();
  daemon.take_down();
  return exit_code;
}

}  // namespace cupel::coordinator
