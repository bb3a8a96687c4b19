/// Single calls of the engine client, as a scenario names them.
#pragma once

#include "common/docker/client.hpp"
#include "tests/engine_scenarios/facts.hpp"
#include "tests/engine_scenarios/scenario.hpp"

#include <boost/asio/awaitable.hpp>

namespace cupel::scenarios {

/// The client outlives the call.
[[nodiscard]] boost::asio::awaitable<Facts> make_call(docker::Client* client, CallStep call);

}  // namespace cupel::scenarios
