/// The host's packet filter for an egress bridge, by the host's own iptables. Needs CAP_NET_ADMIN
/// and CAP_NET_RAW, as root has them.
#pragma once

#include "common/core/error.hpp"
#include "worker/core/egress/host_rules.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>

namespace cupel::worker::egress {

class HostFirewall {
 public:
  /// Has this process the capability (CAP_NET_ADMIN), as root has it?
  [[nodiscard]] static bool permitted();
  /// Makes the rules and proves that they are there. Errors: unsafe_sandbox, with what to do.
  [[nodiscard]] boost::asio::awaitable<Result<void>> install(Bridge bridge);
  /// Errors: unsafe_sandbox where a rule is gone, or frames between containers go past the filter.
  [[nodiscard]] boost::asio::awaitable<Result<void>> verify(Bridge bridge) const;
  /// Removes the rules of this bridge, whoever's they were.
  [[nodiscard]] static boost::asio::awaitable<void> remove(std::string bridge);

 private:
  std::string v4_;
};

/// Is there such an interface with that address here: does the engine run on this kernel, and in
/// this network namespace?
[[nodiscard]] bool host_has(const std::string& interface, const std::string& address);

}  // namespace cupel::worker::egress
