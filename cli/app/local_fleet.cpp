#include "cli/app/local_fleet.hpp"

#include "cli/app/engine_check.hpp"
#include "cli/core/daemon_log.hpp"
#include "cli/core/report_data.hpp"
#include "common/engine/quirks.hpp"
#include "common/net/curve_keys.hpp"
#include "common/net/trust_list.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <utility>

namespace cupel::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration kCoordinatorStart = 60s;  // recovery of a large store included
constexpr Duration kWorkerStart = 180s;      // mount probe and first seed on a loaded machine
constexpr Duration kTroubleLimit = 10s;      // for a worker that says what keeps it from its work
constexpr Duration kStopLimit = 30s;
constexpr int kRestartsMax = 3;
constexpr std::uint64_t kReadyBytesMax = 64 * 1024;
constexpr std::size_t kLogLinesShown = 12;

/// Watches for the ready file, which appears by rename, and for more lines in the log.
class StartWatch {
 public:
  StartWatch(const std::filesystem::path& ready_dir, const std::filesystem::path& log)
      : fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    inotify_add_watch(fd_, ready_dir.c_str(), IN_MOVED_TO | IN_CLOSE_WRITE);
    inotify_add_watch(fd_, log.c_str(), IN_MODIFY);
  }
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;
  ~StartWatch() { close(fd_); }
  [[nodiscard]] int fd() const { return fd_; }
  void drain() const {
    std::array<char, 4096> events{};
    while (read(fd_, events.data(), events.size()) > 0) {
    }
  }

 private:
  int fd_;
};

/// What a daemon said before it ended, or instead of getting ready, under the code that it named.
Error not_started(const std::string& what, const std::filesystem::path& log) {
  const std::string tail = tail_of(log, kLogLinesShown);
  const auto trouble = newest_trouble(tail);
  const std::string said = trouble ? trouble->text : tail;
  return {code_named_in(said).value_or(Errc::process_failed), what, said,
          "its whole log is " + log.string()};
}

}  // namespace

std::filesystem::path state_home() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::filesystem::path(state) / "cupel";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home == nullptr || *home == '\0' ? "/root" : home) / ".local" /
         "state" / "cupel";
}

LocalFleet::LocalFleet(const LocalOptions& options, Console& console, Interrupts& interrupts,
                       std::filesystem::path dir, fs::FileLock lock)
    : options_(options),
      console_(console),
      interrupts_(interrupts),
      dir_(std::move(dir)),
      lock_(std::move(lock)) {}

LocalFleet::~LocalFleet() {
  stop();  // a start that failed half-way leaves nothing either
}

Result<std::unique_ptr<LocalFleet>> LocalFleet::start(const LocalOptions& options, Console& console,
                                                      Interrupts& interrupts, bool with_workers) {
  const std::filesystem::path dir = state_home() / "local";
  if (const auto made = fs::ensure_private_dir(dir); !made) return made.error();
  auto lock = fs::FileLock::take(dir / "lock");
  if (!lock) {
    Error error = lock.error();
    if (error.code == Errc::locked)
      error.hint =
          "another 'cupel ... --local' runs; wait for it, or set XDG_STATE_HOME to another folder";
    return error;
  }
  std::unique_ptr<LocalFleet> fleet(
      new LocalFleet(options, console, interrupts, dir, std::move(*lock)));
  if (with_workers) {
    if (const auto usable = fleet->check_engine(); !usable) return usable.error();
  }
  if (const auto prepared = fleet->prepare(); !prepared) return prepared.error();
  if (const auto started = fleet->start_coordinator(); !started) return started.error();
  if (!with_workers) return fleet;
  console.say("local coordinator at " + fleet->base_url() + "; starting " +
              std::to_string(fleet->workers_.size()) +
              (fleet->workers_.size() == 1 ? " worker" : " workers"));
  for (Worker& worker : fleet->workers_) {
    if (const auto started = fleet->start_worker(worker); !started) return started.error();
  }
  for (Worker& worker : fleet->workers_) {
    if (const auto ready = fleet->await_worker(worker); !ready) return ready.error();
  }
  return fleet;
}

std::filesystem::path LocalFleet::program(const std::string& name) const {
  std::error_code failure;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failure);
  return self.parent_path() / name;
}

Result<void> LocalFleet::ensure_key(const std::filesystem::path& file,
                                    std::string& public_key) const {
  std::error_code failure;
  if (!std::filesystem::exists(file, failure)) {
    const net::KeyPair pair = net::generate_key_pair();
    if (const auto written = net::write_key_file(file, pair, "for local use"); !written)
      return written.error();
  }
  const auto pair = net::read_key_file(file);
  if (!pair) return pair.error();
  public_key = pair->public_key.z85();
  return boost::system::in_place_value;
}

Result<void> LocalFleet::check_engine() {
  if (options_.engine == kBubblewrap) {
    options_.image_dir = bubblewrap_images(options_.image_dir);
    const auto bubblewrap = ask_bubblewrap(options_.image_dir);
    if (!bubblewrap) return bubblewrap.error();
    if (bubblewrap->images > 0) return boost::system::in_place_value;
    return Error{Errc::image_missing, "no toolchain image is in " + options_.image_dir, "",
                 "'cupel image build 1.24 1.26 --engine bubblewrap' makes them"};
  }
  // A configuration file may name the socket; then the worker finds out by itself.
  const bool named_elsewhere =
      !options_.worker_config.empty() || std::getenv("CUPEL_WORKER_ENGINE_SOCKET") != nullptr;
  if (options_.engine_socket.empty() && named_elsewhere) return boost::system::in_place_value;
  auto socket = engine_socket(options_.engine_socket);
  if (!socket) return socket.error();
  options_.engine_socket = std::move(*socket);
  const auto engine = ask_engine(options_.engine_socket);
  if (!engine) return engine.error();
  if (auto confined = engine::check_confined(engine->confinement); !confined) return confined;
  if (auto limits = engine::check_limits(engine->info); !limits) return limits;
  if (engine->images == 0) {
    return Error{Errc::image_missing,
                 "the engine at " + options_.engine_socket + " holds no toolchain image", "",
                 "'cupel image build 1.24 1.26' or 'cupel image pull 1.24 1.26' brings them"};
  }
  return boost::system::in_place_value;
}

Result<void> LocalFleet::prepare() {
  for (const auto& dir : {dir_ / "coordinator", dir_ / "keys", dir_ / "logs", dir_ / "ready"}) {
    if (const auto made = fs::ensure_private_dir(dir); !made) return made.error();
  }
  if (const auto key = ensure_key(dir_ / "keys" / "coordinator.key", coordinator_key_); !key)
    return key.error();
  // The list is written anew: who is trusted here is exactly the workers that are started here.
  std::string trusted = "# Workers of cupel run --local\n";
  for (std::uint32_t i = 1; i <= options_.workers; ++i) {
    Worker worker;
    worker.name = "local-" + std::to_string(i);
    const std::string suffix = i == 1 ? "" : "-" + std::to_string(i);
    worker.dir = options_.data_dir.empty() ? dir_ / ("worker-" + std::to_string(i))
                                           : std::filesystem::absolute(options_.data_dir + suffix);
    std::string key;
    if (const auto made = ensure_key(dir_ / "keys" / (worker.name + ".key"), key); !made)
      return made.error();
    trusted += worker.name + "  " + key + "\n";
    workers_.push_back(std::move(worker));
  }
  return fs::write_file_durably(dir_ / "trusted_keys", trusted, 0600);
}

Result<std::string> LocalFleet::await_ready(const std::filesystem::path& file, Child& child,
                                            const std::string& what, Duration limit) {
  const StartWatch watch(file.parent_path(), child.log_file());
  auto deadline = std::chrono::steady_clock::now() + limit;
  std::string said;
  bool kept_from_work = false;
  while (true) {
    watch.drain();
    if (auto text = fs::read_file(file, kReadyBytesMax)) return text;
    if (const auto ended = child.ended()) {
      return not_started(what + " ended at its start with " + ended->text(), child.log_file());
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return not_started(what + " was not ready in time", child.log_file());
    }
    const auto trouble = newest_trouble(tail_of(child.log_file(), kLogLinesShown));
    if (trouble && trouble->text != said) {
      if (trouble->is_error && !std::exchange(kept_from_work, true))
        deadline = std::min(deadline, std::chrono::steady_clock::now() + kTroubleLimit);
      said = trouble->text;
      console_.say(what + ": " + said);
      continue;
    }
    std::array<pollfd, 3> fds = {pollfd{watch.fd(), POLLIN, 0}, pollfd{child.fd(), POLLIN, 0},
                                 pollfd{interrupts_.fd(), POLLIN, 0}};
    (void)poll(fds.data(), fds.size(), static_cast<int>(left.count()));
    if ((fds[2].revents & POLLIN) == 0) continue;
    const Interrupts::What what_happened = interrupts_.take();
    if (what_happened.signal != 0 || what_happened.timeout)
      return Error{Errc::cancelled, "interrupted", "", ""};
  }
}

Result<void> LocalFleet::start_coordinator() {
  const std::filesystem::path ready = dir_ / "ready" / "coordinator.json";
  if (const auto removed = fs::remove_tree(ready); !removed) return removed.error();
  std::vector<std::string> arguments;
  if (!options_.coordinator_config.empty())
    arguments = {"--config", std::filesystem::absolute(options_.coordinator_config).string()};
  const auto set = [&arguments](const char* flag, const std::string& value) {
    arguments.emplace_back(flag);
    arguments.push_back(value);
  };
  set("--data-dir", (dir_ / "coordinator").string());
  set("--listen", "127.0.0.1:0");
  set("--control", "tcp://127.0.0.1:0");
  set("--bulk", "tcp://127.0.0.1:0");
  set("--key-file", (dir_ / "keys" / "coordinator.key").string());
  set("--trusted-keys", (dir_ / "trusted_keys").string());
  set("--token-file", token_file().string());
  set("--ready-file", ready.string());
  auto child =
      Child::start(program("cupel-coordinator"), arguments, dir_ / "logs" / "coordinator.log");
  if (!child) return child.error();
  coordinator_ = std::move(*child);
  const auto text = await_ready(ready, *coordinator_, "the coordinator", kCoordinatorStart);
  if (!text) return text.error();
  const json answer = json::parse(*text, nullptr, false);
  base_url_ = "http://" + text_of(answer, "http");
  control_ = text_of(answer, "control");
  bulk_ = text_of(answer, "bulk");
  if (text_of(answer, "http").empty() || control_.empty() || bulk_.empty()) {
    return Error{Errc::process_failed, "the coordinator's ready file doesn't say where it listens",
                 *text, ""};
  }
  interrupts_.watch(coordinator_->fd());
  return boost::system::in_place_value;
}

Result<void> LocalFleet::start_worker(Worker& worker) {
  const std::filesystem::path ready = dir_ / "ready" / (worker.name + ".json");
  if (const auto removed = fs::remove_tree(ready); !removed) return removed.error();
  if (const auto made = fs::ensure_private_dir(worker.dir); !made) return made.error();
  std::vector<std::string> arguments;
  if (!options_.worker_config.empty())
    arguments = {"--config", std::filesystem::absolute(options_.worker_config).string()};
  const auto set = [&arguments](const char* flag, const std::string& value) {
    arguments.emplace_back(flag);
    arguments.push_back(value);
  };
  set("--data-dir", worker.dir.string());
  // The standard library is compiled once for all workers of this machine.
  set("--seed-dir", (workers_.front().dir / "seeds").string());
  set("--name", worker.name);
  set("--coordinator-control", control_);
  set("--coordinator-bulk", bulk_);
  set("--coordinator-key", coordinator_key_);
  set("--key-file", (dir_ / "keys" / (worker.name + ".key")).string());
  set("--metrics-listen", "127.0.0.1:0");
  set("--ready-file", ready.string());
  if (!options_.engine.empty()) set("--engine", options_.engine);
  if (options_.engine == kBubblewrap) set("--image-dir", options_.image_dir);
  if (!options_.engine_socket.empty()) set("--engine-socket", options_.engine_socket);
  if (options_.slots > 0) set("--slots", std::to_string(options_.slots));
  auto child =
      Child::start(program("cupel-worker"), arguments, dir_ / "logs" / (worker.name + ".log"));
  if (!child) return child.error();
  worker.child = std::move(*child);
  return boost::system::in_place_value;
}

Result<void> LocalFleet::await_worker(Worker& worker) {
  const auto text = await_ready(dir_ / "ready" / (worker.name + ".json"), *worker.child,
                                "worker " + worker.name, kWorkerStart);
  if (!text) return text.error();
  interrupts_.watch(worker.child->fd());
  return boost::system::in_place_value;
}

Result<void> LocalFleet::look_after() {
  if (coordinator_) {
    if (const auto ended = coordinator_->ended()) {
      return Error{Errc::process_failed, "the coordinator ended with " + ended->text(),
                   tail_of(coordinator_->log_file(), kLogLinesShown),
                   "its log is " + coordinator_->log_file().string() +
                       "; 'cupel run --local' again resumes from its store"};
    }
  }
  for (Worker& worker : workers_) {
    if (!worker.child) continue;
    const auto ended = worker.child->ended();
    if (!ended) continue;
    interrupts_.unwatch(worker.child->fd());
    if (++worker.restarts > kRestartsMax) {
      return Error{Errc::process_failed,
                   "worker " + worker.name + " ended again with " + ended->text(),
                   tail_of(worker.child->log_file(), kLogLinesShown),
                   "its log is " + worker.child->log_file().string()};
    }
    console_.say("worker " + worker.name + " ended with " + ended->text() +
                 "; it is started again");
    if (const auto started = start_worker(worker); !started) return started.error();
    interrupts_.watch(worker.child->fd());
  }
  return boost::system::in_place_value;
}

void LocalFleet::stop_child(Child& child, const std::string& what, Duration limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!child.ended() && !hurry_) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= 0s) break;
    if (child.wait(left, interrupts_.fd())) break;
    const Interrupts::What happened = interrupts_.take();
    for (const int fd : happened.watched)
      interrupts_.unwatch(fd);  // dying is what they are asked for
    hurry_ = hurry_ || happened.signal != 0;
  }
  if (child.ended()) return;
  if (!hurry_) console_.say(what + " does not stop; it is killed");
  child.signal(SIGKILL);
  (void)child.wait(10s);
}

void LocalFleet::stop() {
  for (Worker& worker : workers_) {
    if (worker.child) worker.child->signal(SIGTERM);
  }
  for (Worker& worker : workers_) {
    if (worker.child) stop_child(*worker.child, "worker " + worker.name, kStopLimit);
  }
  if (coordinator_) {
    coordinator_->signal(SIGTERM);
    stop_child(*coordinator_, "the coordinator", kStopLimit);
  }
}

}  // namespace cupel::cli
