/// Exit containers of runs: one for each, from its admission to its end, and what was seen in it.
///
/// Thread rule: the run loop only.
#pragma once

#include "common/core/error.hpp"
#include "common/docker/client.hpp"
#include "worker/core/engine/exit_spec.hpp"
#include "worker/egress/exit_container.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>

namespace cupel::worker::egress {

class ExitKeeper {
 public:
  /// `after_run`: from a run's limit to the deadline of its exit container.
  ExitKeeper(boost::asio::any_io_executor executor, docker::Client& engine, Proxy& proxy,
             ProfileContext context, Duration after_run);

  /// Makes one with any image, and a second container that joins it: is that namespace
  /// closed, seen from both? Errors: unsafe_sandbox where it is not, image_missing without an
  /// image, those of the engine's calls.
  [[nodiscard]] boost::asio::awaitable<Result<void>> try_out();
  /// For one run: `joined`, `network_namespace` and the port in `proxy_url` are set, credentials
  /// are the caller's. Errors: as try_out(), and unsafe_sandbox for a profile with a runtime of its
  /// own, which brings its own network.
  [[nodiscard]] boost::asio::awaitable<Result<RunEgress>> open(RunRequest request,
                                                               std::string run_id);
  /// When the run is over: looks once more and removes the container. Errors: unsafe_sandbox where
  /// the namespace is not closed, or nobody could look.
  [[nodiscard]] boost::asio::awaitable<Result<void>> close(std::string run_id);

  /// Identities of its containers, for the reaper: from before a create until its removal.
  [[nodiscard]] const std::set<std::string>& live() const { return live_; }
  /// As what the connections of a run come to the proxy.
  [[nodiscard]] static std::string peer_of(const std::string& run_id) { return "exit " + run_id; }

 private:
  [[nodiscard]] RunIdentity identity_for(Duration limit);
  [[nodiscard]] boost::asio::awaitable<Result<std::string>> any_image();
  [[nodiscard]] boost::asio::awaitable<Result<ExitSeen>> look_from(RunRequest request,
                                                                   std::string joined);
  [[nodiscard]] boost::asio::awaitable<Result<void>> compare(RunRequest request, ExitSeen seen,
                                                             std::string joined);

  struct Kept {
    std::string id;  ///< Of its labels.
    std::unique_ptr<ExitContainer> container;
  };

  boost::asio::any_io_executor executor_;
  docker::Client& engine_;
  Proxy& proxy_;
  ProfileContext context_;
  Duration after_run_;
  std::set<std::string> live_;
  std::map<std::string, Kept> kept_;  ///< By run.
};

}  // namespace cupel::worker::egress
