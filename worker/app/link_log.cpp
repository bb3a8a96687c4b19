#include "worker/app/link_log.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace cupel::worker {
namespace {

constexpr long kSilentSeconds = 10;

}  // namespace

void LinkLog::move(std::string endpoint) {
  endpoint_ = std::move(endpoint);
}

void LinkLog::state(net::LinkState state) {
  switch (state) {
    case net::LinkState::connected:
      if (told_) spdlog::info("the coordinator at {} answers again", endpoint_);
      told_.reset();
      return;
    case net::LinkState::auth_failed:
      return trouble(state, {Errc::not_trusted,
                             "the coordinator at " + endpoint_ +
                                 " does not trust this worker's key " + public_key_,
                             {},
                             "on its host: cupel key trust NAME '" + public_key_ +
                                 "' --list FILE; this worker goes on asking"});
    case net::LinkState::handshake_failed:
      return trouble(state, {Errc::not_trusted,
                             "what answers at " + endpoint_ +
                                 " does not hold the key of setting coordinator_key",
                             {},
                             "'cupel key show' on the coordinator's host prints the right one; "
                             "this worker goes on asking"});
    case net::LinkState::connecting:
    case net::LinkState::disconnected: return;
  }
}

void LinkLog::silent(long seconds) {
  if (seconds < kSilentSeconds || told_) return;
  trouble(net::LinkState::disconnected,
          {Errc::coordinator_unreachable,
           "nobody has answered at " + endpoint_ + " for " + std::to_string(seconds) + " s",
           {},
           {}});
}

void LinkLog::trouble(net::LinkState state, const Error& error) {
  if (told_ == state) return;
  told_ = state;
  spdlog::error("{}", error.text());
}

}  // namespace cupel::worker
