/// What the run executor needs of the network's keeper: a way out for one run, and afterwards what
/// the run did with it. Implemented by worker/egress.
#pragma once

#include "worker/core/engine/container_spec.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

namespace cupel::worker {

/// What is true of a run's network after its end.
struct EgressSeen {
  bool enforced = false;                  ///< From before its start until after its end.
  std::vector<std::string> refused = {};  ///< Lines for people: what it tried and didn't get.
};

class EgressPort {
 public:
  EgressPort() = default;
  EgressPort(const EgressPort&) = delete;
  EgressPort& operator=(const EgressPort&) = delete;
  virtual ~EgressPort() = default;

  /// For a run that has a network. Errors: unsafe_sandbox where the run, or the configuration,
  /// demands more than this host gives; with what to do.
  [[nodiscard]] virtual boost::asio::awaitable<Result<RunEgress>> admit(RunRequest request,
                                                                        std::string run_id) = 0;
  /// Once for each admit() that succeeded, when the container is gone.
  [[nodiscard]] virtual boost::asio::awaitable<EgressSeen> leave(std::string run_id) = 0;
};

}  // namespace cupel::worker
