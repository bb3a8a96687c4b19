/// Tells the log what keeps this worker from its coordinator: once when it begins, once when it is
/// over.
#pragma once

#include "common/net/dealer.hpp"

#include <optional>
#include <string>

namespace cupel::worker {

/// Belongs to the control loop.
class LinkLog {
 public:
  LinkLog(std::string endpoint, std::string public_key)
      : endpoint_(std::move(endpoint)), public_key_(std::move(public_key)) {}

  /// Another coordinator is tried.
  void move(std::string endpoint);
  void state(net::LinkState state);
  /// Called now and then: nobody has answered for `seconds` since the start or the loss.
  void silent(long seconds);

 private:
  void trouble(net::LinkState state, const Error& error);

  std::string endpoint_;
  std::string public_key_;
  std::optional<net::LinkState> told_;
};

}  // namespace cupel::worker
