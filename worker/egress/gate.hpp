/// The network of runs that need one, whose only exit is the worker's proxy. Where this host is the
/// engine's: an internal network of the engine, held shut by rules of the host; one for each
/// worker, made again when somebody removed it. Elsewhere, as with an engine in a virtual machine:
/// an exit container for each run (exit_container.hpp).
///
/// Thread rule: the run loop only.
#pragma once

#include "common/docker/client.hpp"
#include "common/fs/files.hpp"
#include "worker/core/egress/allow_list.hpp"
#include "worker/egress/exit_keeper.hpp"
#include "worker/egress/host_firewall.hpp"
#include "worker/egress/proxy.hpp"
#include "worker/ports/egress_port.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace cupel::worker::egress {

/// The worker's setting.
enum class Choice : std::uint8_t {
  as_can_be,   ///< Enforced where the host can; results say which it was.
  enforced,    ///< Or no run with a network at all.
  configured,  ///< The engine's own bridge; nothing but configuration limits the run.
};

/// The worker's setting: where runs find the proxy.
enum class Place : std::uint8_t {
  as_fits,    ///< At the bridge's address where the host can hold that, else in exit containers.
  worker,     ///< At the bridge's address, in the worker's process.
  container,  ///< In exit containers.
};

struct GateOptions {
  WorkerId worker;
  Choice choice = Choice::as_can_be;
  Place place = Place::as_fits;
  ProfileContext context = {};  ///< For exit containers.
  /// From a run's limit to the deadline of its exit container.
  Duration after_run = std::chrono::seconds(150);
  ModuleSources sources = {};
  std::uint64_t run_bytes_max = 0;
  Duration slack = std::chrono::minutes(3);  ///< Of a run's credentials beyond its limit.
  std::string lock_dir = "/run/cupel";       ///< One for all workers of a host.
};

class Gate final : public EgressPort {
 public:
  Gate(boost::asio::any_io_executor executor, docker::Client& engine, GateOptions options,
       ProxyOptions proxy);
  ~Gate() override;

  /// Makes network, proxy and rules, or finds out why there are none. Errors only where the choice
  /// is `enforced`: unsafe_sandbox with what to do.
  [[nodiscard]] boost::asio::awaitable<Result<void>> prepare();
  [[nodiscard]] boost::asio::awaitable<Result<RunEgress>> admit(RunRequest request,
                                                                std::string run_id) override;
  [[nodiscard]] boost::asio::awaitable<EgressSeen> leave(std::string run_id) override;
  /// Removes network and rules; nothing of a run may be left.
  [[nodiscard]] boost::asio::awaitable<void> stop();

  /// How long every module proxy that is known is left alone; nothing while one may be asked.
  [[nodiscard]] boost::asio::awaitable<std::optional<Duration>> upstream_pause();

  [[nodiscard]] bool enforced() const;
  /// Why it isn't; empty where it is.
  [[nodiscard]] std::string why_not() const;
  /// Where the proxy is; port 0 before it is enforced, and with exit containers.
  [[nodiscard]] const Bridge& bridge() const;
  /// Containers of ours that serve runs, as the reaper knows them.
  [[nodiscard]] const std::set<std::string>& exits() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace cupel::worker::egress
