/// Which labelled containers may be removed, and by whom. Pure.
#pragma once

#include "common/core/ids.hpp"
#include "common/core/time.hpp"
#include "common/engine/answers.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker {

/// Who decides: the worker that looks at the list.
struct ReaperView {
  FleetId fleet;
  WorkerId worker;
  Incarnation incarnation;
  /// Run ids under way in this process, taken BEFORE the list was asked for.
  std::set<std::string> live_runs;
  WallTime now;
  Duration grace =
      std::chrono::minutes(5);  ///< Past the deadline label, for other workers' containers.
};

enum class OrphanReason : std::uint8_t {
  own_not_live,         ///< Ours (any incarnation), and nobody here runs it.
  own_past_deadline,    ///< Ours and running in this process, but past its deadline: killed all the
                        ///< same.
  other_past_deadline,  ///< Another worker of the fleet, and past deadline and grace: it is gone.
};
[[nodiscard]] std::string_view name(OrphanReason reason);

struct Orphan {
  std::string container_id;
  std::string run_id;
  std::string state;  ///< As the list said it.
  OrphanReason reason = OrphanReason::own_not_live;
  friend bool operator==(const Orphan&, const Orphan&) = default;
};

/// Every state of a container counts. A container of another fleet, without our labels, or whose
/// labels can't be read is never touched. The oldest first.
[[nodiscard]] std::vector<Orphan> find_orphans(
    const std::vector<engine::ContainerSummary>& containers, const ReaperView& view);

/// True for a state in which a process of the container may run or be made to.
[[nodiscard]] bool may_run(std::string_view state);

/// The re-check before a removal, on fresh labels: still an orphan?
[[nodiscard]] bool still_orphan(const std::map<std::string, std::string>& labels,
                                const ReaperView& view);

}  // namespace cupel::worker
