/// Proof inside every run that the container sees the directories that were meant: a digest of the
/// go.mod in the source, a unique marker in the other mounts. Blocking.
#pragma once

#include "worker/core/engine/run.hpp"
#include "worker/core/engine/wrapper_protocol.hpp"

#include <string>
#include <vector>

namespace cupel::worker {

/// Markers on the host; removed by the destructor.
class RunMarks {
 public:
  /// Writes the markers and adds what the wrapper must check to `orders`.
  /// Errors: io_error, disk_full.
  [[nodiscard]] static Result<RunMarks> place(const RunRequest& request, const std::string& run_id,
                                              WrapperOrders& orders);
  RunMarks() = default;
  RunMarks(RunMarks&& other) noexcept;
  RunMarks& operator=(RunMarks&& other) noexcept;
  ~RunMarks();
  void remove();

 private:
  std::vector<std::string> files_;
};

}  // namespace cupel::worker
