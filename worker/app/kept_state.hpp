/// What a worker keeps in its data directory from one start to the next.
#pragma once

#include "common/core/error.hpp"
#include "common/core/ids.hpp"
#include "common/core/message.hpp"
#include "common/fs/files.hpp"
#include "worker/app/options.hpp"
#include "worker/outbox/outbox.hpp"

#include <string>
#include <vector>

namespace cupel::worker {

struct KeptState {
  fs::FileLock lock;  ///< One process at a time.
  WorkerId worker;    ///< Made once.
  FleetId fleet;      ///< That it last joined; none: 0.
  Outbox outbox;
  std::vector<LiveLease> waiting;  ///< Results that nobody has acknowledged.
};

/// Makes the directory (0700) and what is missing in it. Errors: io_error (a file is damaged),
/// and those of the lock and the outbox.
[[nodiscard]] Result<KeptState> open_kept_state(const Options& options);

[[nodiscard]] Result<void> keep_fleet(const std::string& data_dir, FleetId fleet);

}  // namespace cupel::worker
