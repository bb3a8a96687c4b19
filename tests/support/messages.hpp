/// One filled message of every kind, for the tests of the wire.
#pragma once

#include "common/core/message.hpp"
#include "common/wire/codec.hpp"
#include "tests/support/filled.hpp"

#include <string>
#include <vector>

namespace cupel::tests {

/// Every alternative of a lease's work and of a source appears, too.
inline std::vector<ToWorker> messages_to_worker() {
  std::vector<ToWorker> all = filled_alternatives(ToWorker());
  std::uint64_t seed = 5000;
  for (const Work& work : filled_alternatives(Work())) {
    for (const Source& source : filled_alternatives(Source())) {
      Lease lease;
      fill(lease, seed);
      lease.spec.work = work;
      auto* const acquire = std::get_if<AcquireSource>(&lease.spec.work);
      if (acquire != nullptr) acquire->source = source;
      all.emplace_back(std::move(lease));
      if (acquire == nullptr) break;
    }
  }
  return all;
}

inline std::vector<ToCoordinator> messages_to_coordinator() {
  return filled_alternatives(ToCoordinator());
}
inline std::vector<BulkToCoordinator> bulk_messages_to_coordinator() {
  return filled_alternatives(BulkToCoordinator());
}
inline std::vector<BulkToWorker> bulk_messages_to_worker() {
  return filled_alternatives(BulkToWorker());
}

/// The bytes of all of them.
inline std::vector<std::string> encoded_messages() {
  std::vector<std::string> all;
  const auto add = [&all](const auto& messages) {
    for (const auto& message : messages) all.push_back(wire::encode(message));
  };
  add(messages_to_coordinator());
  add(messages_to_worker());
  add(bulk_messages_to_coordinator());
  add(bulk_messages_to_worker());
  return all;
}

}  // namespace cupel::tests
