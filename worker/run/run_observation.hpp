/// What metrics learn of a run, whatever ran it.
#pragma once

#include "worker/core/engine/run.hpp"

#include <cstdint>

namespace cupel::worker {

/// How a run ended, for metrics; the single calls are seen by the client's observer.
struct RunObservation {
  Profile profile = Profile::execute;
  CheckKind check = CheckKind::test;
  EndedBy ended_by = EndedBy::itself;
  bool engine_error = false;
  std::uint32_t wait_breaks = 0;  ///< Waits that broke and were made again.
  Duration wall{};
};

}  // namespace cupel::worker
