#include "worker/egress/gate.hpp"

#include "common/async/semaphore.hpp"
#include "common/async/with_budget.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <map>
#include <set>
#include <unistd.h>
#include <utility>

namespace cupel::worker::egress {

namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace {

constexpr const char* kLabel = "cupel.egress";
constexpr std::size_t kSecretBytes = 20;
constexpr int kLockTries = 20;  // a quarter of a second each: another worker looks after us
constexpr Duration kLockPause = std::chrono::milliseconds(250);
constexpr const char* kElsewhere =
    "the engine runs on another kernel or in another network namespace, as in a virtual machine: "
    "egress_proxy: container holds there too";

Error unsafe(std::string what, std::string hint = {}) {
  return {
      .code = Errc::unsafe_sandbox, .what = std::move(what), .detail = {}, .hint = std::move(hint)};
}

engine::InternalNetwork network_of(const GateOptions& options) {
  engine::InternalNetwork network;
  network.bridge = bridge_name(options.worker.value);
  network.name = "cupel-egress-" + network.bridge.substr(4);
  network.labels = {{kLabel, "1"}, {std::string(label::kWorker), options.worker.text()}};
  return network;
}

}  // namespace

struct Gate::Impl {
  Impl(const asio::any_io_executor& executor, docker::Client& client, GateOptions wanted,
       ProxyOptions proxy_options)
      : engine(client),
        options(std::move(wanted)),
        proxy(std::move(proxy_options)),
        network(network_of(options)),
        one(executor, 1),
        exits(executor, engine, proxy, options.context, options.after_run + options.slack) {}

  docker::Client& engine;
  GateOptions options;
  Proxy proxy;
  HostFirewall firewall;
  engine::InternalNetwork network;
  async::AsyncSemaphore one;  ///< Network and rules are looked at and made by one at a time.
  ExitKeeper exits;
  std::optional<fs::FileLock> lock = {};
  Bridge bridge = {};
  bool enforced = false;
  bool by_exits = false;  ///< `enforced` by exit containers.
  std::string why = "not tried yet";
  bool undecided = false;                     ///< It failed for the moment: the engine had trouble.
  std::map<std::string, bool> admitted = {};  ///< Enforced runs; true: by an exit container.
  std::map<std::string, std::string> open = {};  ///< Runs that should have been, and why not.
};

namespace {

[[nodiscard]] std::string lock_file(const GateOptions& options, const std::string& bridge) {
  return options.lock_dir + "/" + bridge + ".lock";
}

/// Says to other workers of the host that this one lives and its network is in use.
asio::awaitable<Result<void>> take_lock(Gate::Impl& gate) {
  if (gate.lock) co_return Result<void>();
  std::error_code failure;
  std::filesystem::create_directories(gate.options.lock_dir, failure);
  for (int tried = 0;; ++tried) {
    auto lock = fs::FileLock::take(lock_file(gate.options, gate.network.bridge));
    if (lock) {
      gate.lock = std::move(*lock);
      co_return Result<void>();
    }
    if (lock.error().code != Errc::locked || tried == kLockTries) co_return lock.error();
    (void)co_await async::sleep_for(kLockPause);
  }
}

/// The network as it has to be, made where it is missing or is another.
asio::awaitable<Result<engine::NetworkFacts>> have_network(Gate::Impl& gate) {
  auto there = co_await gate.engine.network_inspect(gate.network.name);
  if (there && there->is(gate.network)) co_return there;
  if (!there && there.error().code != Errc::not_found) co_return there.error();
  if (there) {
    if (!there->labels.contains(kLabel)) {
      co_return unsafe("network " + gate.network.name + " is not ours");
    }
    auto removed = co_await gate.engine.network_remove(there->id);
    if (!removed) co_return removed.error();
  }
  auto made = co_await gate.engine.network_create(gate.network);
  if (!made && made.error().code != Errc::already_exists) co_return made.error();
  there = co_await gate.engine.network_inspect(gate.network.name);
  if (there && !there->is(gate.network)) {
    const auto removed = co_await gate.engine.network_remove(there->id);
    if (!removed) spdlog::warn("egress: {}", removed.error().text());
    co_return unsafe("the engine makes no internal network as it was asked for");
  }
  co_return there;
}

/// The network and the proxy at its bridge's address.
asio::awaitable<Result<void>> make_on_host(Gate::Impl& gate) {
  if (!HostFirewall::permitted()) {
    co_return unsafe("the worker may not change the host's packet filter",
                     "run it as root or with CAP_NET_ADMIN and CAP_NET_RAW, or set egress_proxy to "
                     "container");
  }
  auto locked = co_await take_lock(gate);
  if (!locked) co_return locked.error();
  const auto network = co_await have_network(gate);
  if (!network) co_return network.error();
  if (!host_has(gate.network.bridge, network->gateway)) {
    co_return unsafe("the engine's networks are not on this host", kElsewhere);
  }
  const auto port = co_await gate.proxy.listen(network->gateway);
  if (!port) co_return port.error();
  gate.bridge = {.name = gate.network.bridge, .gateway = network->gateway, .port = *port};
  co_return co_await gate.firewall.install(gate.bridge);
}

/// What a host that can't hold the network has begun: nothing of it stays beside exit containers.
asio::awaitable<void> unmake(Gate::Impl& gate) {
  gate.bridge = {};
  if (!gate.lock) co_return;
  const auto removed = co_await gate.engine.network_remove(gate.network.name);
  if (!removed) {  // a run is on it still, and its rules must stay
    spdlog::warn("egress: {}", removed.error().text());
    co_return;
  }
  co_await HostFirewall::remove(gate.network.bridge);
  gate.lock.reset();
}

asio::awaitable<Result<void>> make(Gate::Impl& gate) {
  if (gate.options.choice == Choice::configured) co_return unsafe("the setting egress says so");
  gate.by_exits = false;
  Result<void> made = unsafe("the setting egress_proxy says so");
  if (gate.options.place != Place::container) made = co_await make_on_host(gate);
  if (made || gate.options.place == Place::worker) co_return made;
  co_await unmake(gate);
  const auto tried = co_await gate.exits.try_out();
  gate.by_exits = tried.has_value();
  if (tried || gate.options.place == Place::container) co_return tried;
  co_return Error{.code = tried.error().code,
                  .what = made.error().text() + "; with exit containers: " + tried.error().text(),
                  .detail = {},
                  .hint = {}};
}

/// Networks of workers that ended without stop(), once nobody holds their lock.
asio::awaitable<void> sweep(Gate::Impl& gate) {
  const std::vector<std::string> labels{std::string(kLabel) + "=1"};
  const auto all = co_await gate.engine.network_list(labels);
  if (!all) co_return;
  for (const engine::NetworkFacts& network : *all) {
    const std::string file = lock_file(gate.options, network.bridge);
    if (network.bridge == gate.network.bridge || !network.bridge.starts_with("cup-") ||
        ::access(file.c_str(), F_OK) != 0) {
      continue;
    }
    const auto lock = fs::FileLock::take(file);
    if (!lock) continue;
    const auto removed = co_await gate.engine.network_remove(network.id);
    if (!removed) continue;  // its containers are the reaper's
    co_await HostFirewall::remove(network.bridge);
    spdlog::info("egress: network {} of a worker that is gone was removed", network.name);
  }
}

/// Network, rules and interface are what they were when they were made.
asio::awaitable<Result<void>> verify(Gate::Impl& gate) {
  const auto network = co_await gate.engine.network_inspect(gate.network.name);
  if (!network) co_return network.error();
  if (!network->is(gate.network) || network->gateway != gate.bridge.gateway ||
      !host_has(gate.bridge.name, gate.bridge.gateway)) {
    co_return unsafe("the egress network was changed");
  }
  co_return co_await gate.firewall.verify(gate.bridge);
}

/// Of exit containers each shows for itself.
asio::awaitable<Result<void>> still_held(Gate::Impl& gate) {
  if (gate.by_exits) co_return Result<void>();
  co_return co_await verify(gate);
}

bool is_for_the_moment(Errc code) {
  return code == Errc::engine_timeout || code == Errc::engine_unreachable ||
         code == Errc::image_missing;
}

asio::awaitable<void> make_and_say(Gate::Impl& gate) {
  const Result<void> made = co_await make(gate);
  gate.enforced = made.has_value();
  gate.why = made ? std::string() : made.error().text();
  gate.undecided = !made && is_for_the_moment(made.error().code);
  if (made && gate.by_exits) {
    spdlog::info("egress: enforced; each run has an exit container and nothing else");
  } else if (made) {
    spdlog::info("egress: enforced; runs reach {}:{} and nothing else", gate.bridge.gateway,
                 gate.bridge.port);
    co_await sweep(gate);
  } else {
    spdlog::warn("egress: configured, not enforced: {}", gate.why);
  }
}

}  // namespace

Gate::Gate(asio::any_io_executor executor, docker::Client& engine, GateOptions options,
           ProxyOptions proxy)
    : impl_(std::make_unique<Impl>(executor, engine, std::move(options), std::move(proxy))) {}
Gate::~Gate() = default;

bool Gate::enforced() const {
  return impl_->enforced;
}
std::string Gate::why_not() const {
  return impl_->why;
}
const Bridge& Gate::bridge() const {
  return impl_->bridge;
}
const std::set<std::string>& Gate::exits() const {
  return impl_->exits.live();
}

asio::awaitable<Result<void>> Gate::prepare() {
  const async::Permit permit = co_await impl_->one.acquire();
  Result<void> good = unsafe("not made yet");
  if (impl_->enforced) good = co_await still_held(*impl_);
  if (!good) co_await make_and_say(*impl_);
  if (impl_->enforced || impl_->options.choice != Choice::enforced) co_return Result<void>();
  co_return unsafe("egress can't be enforced: " + impl_->why,
                   "mend that, or set egress_proxy to auto or egress to auto or configured");
}

namespace {

/// Where the run finds the proxy, without its credentials. Not enforced: `open` says why.
asio::awaitable<Result<RunEgress>> place_for(Gate::Impl& gate, RunRequest request,
                                             std::string run_id) {
  if (!gate.by_exits) {
    co_return RunEgress{.enforced = true,
                        .network = gate.network.name,
                        .proxy_url = gate.bridge.gateway + ":" + std::to_string(gate.bridge.port)};
  }
  const bool demanded = request.enforced_egress || gate.options.choice == Choice::enforced;
  auto placed = co_await gate.exits.open(std::move(request), run_id);
  // Trouble with the engine is no reason for a weaker network: the run is tried again.
  if (placed || demanded || placed.error().code != Errc::unsafe_sandbox) co_return placed;
  gate.open[run_id] = placed.error().text();
  co_return RunEgress();
}

}  // namespace

asio::awaitable<Result<RunEgress>> Gate::admit(RunRequest request, std::string run_id) {
  {
    const async::Permit permit = co_await impl_->one.acquire();
    const bool wanted = impl_->options.choice != Choice::configured;
    Result<void> good = unsafe(impl_->why);
    if (wanted && impl_->enforced) good = co_await still_held(*impl_);
    // What somebody removed is made again; what never was is tried once more for whom it matters.
    const bool demanded = request.enforced_egress || impl_->options.choice == Choice::enforced;
    const bool again = impl_->enforced || demanded || impl_->undecided;
    if (wanted && !good && again) co_await make_and_say(*impl_);
    if (!impl_->enforced && demanded) {
      co_return unsafe("egress is not enforced on this worker: " + impl_->why,
                       "'cupel doctor worker' on its host says what is missing");
    }
  }
  if (!impl_->enforced) co_return RunEgress();
  const bool by_exit = impl_->by_exits;
  auto granted = co_await place_for(*impl_, request, run_id);
  if (!granted || !granted->enforced) co_return granted;
  std::string secret = fs::random_hex(kSecretBytes);
  granted->proxy_url = "http://" + run_id + ":" + secret + "@" + granted->proxy_url;
  granted->goproxy = impl_->options.sources.goproxy;
  Allowance allowance{.allowed = impl_->options.sources.allowed,
                      .bytes_max = impl_->options.run_bytes_max,
                      .until = steady_clock::now() + request.limit + impl_->options.slack,
                      .peer = by_exit ? ExitKeeper::peer_of(run_id) : std::string()};
  impl_->admitted.emplace(run_id, by_exit);
  co_await impl_->proxy.open(run_id, std::move(secret), std::move(allowance));
  co_return granted;
}

asio::awaitable<EgressSeen> Gate::leave(std::string run_id) {
  EgressSeen seen;
  if (const auto node = impl_->open.extract(run_id); !node.empty())
    seen.refused.push_back("egress was not enforced: " + node.mapped());
  const auto node = impl_->admitted.extract(run_id);
  if (node.empty()) co_return seen;
  const bool by_exit = node.mapped();
  const Traffic traffic = co_await impl_->proxy.close(run_id);
  for (std::string& line : refusal_lines(traffic)) seen.refused.push_back(std::move(line));
  Result<void> good;
  if (by_exit) {
    good = co_await impl_->exits.close(run_id);
  } else {
    const async::Permit permit = co_await impl_->one.acquire();
    good = co_await verify(*impl_);
  }
  seen.enforced = good.has_value();
  if (!good) seen.refused.push_back("egress was not enforced to the end: " + good.error().text());
  co_return seen;
}

asio::awaitable<std::optional<Duration>> Gate::upstream_pause() {
  co_return co_await impl_->proxy.paused();
}

asio::awaitable<void> Gate::stop() {
  const async::Permit permit = co_await impl_->one.acquire();
  if (!impl_->lock) co_return;
  impl_->enforced = false;
  const auto removed = co_await impl_->engine.network_remove(impl_->network.name);
  if (!removed) {
    spdlog::warn("egress: {}", removed.error().text());
    co_return;
  }
  co_await HostFirewall::remove(impl_->network.bridge);
  impl_->lock.reset();
}

}  // namespace cupel::worker::egress
