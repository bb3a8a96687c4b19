/// Which module proxy and checksum database acquire runs use, and the host's own proxy variables.
#pragma once

#include "common/core/error.hpp"
#include "worker/app/options.hpp"

#include <map>
#include <string>

namespace cupel::worker {

struct GoEnvironment {
  std::string proxy;                                     ///< GOPROXY without `direct` and `off`.
  std::string sumdb;                                     ///< GOSUMDB; never "off".
  std::map<std::string, std::string> proxy_environment;  ///< HTTP_PROXY and friends.
  bool by_operator = false;  ///< Configured or of the environment, not a toolchain's default.
};

/// The configuration, else the environment, else what the host's go command says. With a fixture
/// proxy they are for tools only, and may be empty. Errors: bad_config when none of the three names
/// a proxy. Starts a child process (`go env`) at most once for each; blocks for it.
[[nodiscard]] Result<GoEnvironment> go_environment(const Options& options);

}  // namespace cupel::worker
