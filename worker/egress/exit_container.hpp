/// The network of one run where the worker's host can't hold it: a container of the worker's own,
/// without any network, whose namespace the run joins. What the run connects to there is carried
/// over the engine's socket to the proxy in this process; the namespace has no other way out.
///
/// Thread rule: the run loop only.
#pragma once

#include "common/core/error.hpp"
#include "common/docker/client.hpp"
#include "worker/core/egress/exit_messages.hpp"
#include "worker/egress/proxy.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

namespace cupel::worker::egress {

class ExitContainer {
 public:
  /// `peer`: as what its connections come to the proxy. References outlive it; close() before it
  /// goes, unless open() failed.
  ExitContainer(boost::asio::any_io_executor executor, docker::Client& engine, Proxy& proxy,
                std::string peer);
  ~ExitContainer();
  ExitContainer(const ExitContainer&) = delete;
  ExitContainer& operator=(const ExitContainer&) = delete;

  /// Makes and starts it, and says what it saw of its namespace. Nothing is left after an error.
  /// Errors: those of the engine's calls, engine_timeout where it says nothing.
  [[nodiscard]] boost::asio::awaitable<Result<ExitSeen>> open(std::string name, std::string spec);
  /// What it sees now. Errors: engine_unreachable where it is gone, engine_timeout.
  [[nodiscard]] boost::asio::awaitable<Result<ExitSeen>> look();
  /// Ends its connections and removes it. Errors: those of the removal; the reaper has it then.
  [[nodiscard]] boost::asio::awaitable<Result<void>> close();
  /// The engine's id; after open().
  [[nodiscard]] const std::string& id() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace cupel::worker::egress
