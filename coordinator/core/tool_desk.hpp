/// Tools of the fleet: one for each toolchain image, built once and used by every campaign. What is
/// known, what is under way, and when several builders agree. Pure; the machine makes the tasks.
#pragma once

#include "common/core/message.hpp"
#include "common/core/scan.hpp"
#include "common/core/time.hpp"
#include "coordinator/core/pool.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cupel::coordinator {

/// One task that builds a tool.
struct ToolBuild {
  Handle task = kNoHandle;  ///< None once it has ended.
  Handle campaign = kNoHandle;
  Handle worker = kNoHandle;
  std::optional<ToolFacts> facts;  ///< Of one that succeeded.
  std::string failure;             ///< Of one that did not.
  Reason reason = Reason::none;
};

struct ToolEntry {
  ToolPin pin;
  std::string image;              ///< Identity.
  std::vector<ToolBuild> builds;  ///< Of the round under way.
  std::optional<ToolFacts> tool;  ///< What all builders of a round agreed on.
  Reason problem = Reason::none;  ///< The last round failed: known until `again`.
  std::string message;
  TimePoint again;

  [[nodiscard]] bool under_way() const { return !builds.empty() && !tool; }
};

class ToolDesk {
 public:
  /// How long a failure counts before the next campaign tries again.
  static constexpr Duration kRetryAfter = std::chrono::minutes(10);
  /// Builders of one tool, where the fleet has them: they must agree.
  static constexpr std::size_t kBuilders = 2;

  /// The entry of an image; made on the first ask.
  ToolEntry& entry(const std::string& image, const ToolPin& pin);
  [[nodiscard]] const ToolEntry* find(const std::string& image) const;
  [[nodiscard]] std::map<std::string, ToolEntry>& all() { return entries_; }

  /// True when there is an answer: a tool of this pin, or a failure that is not old yet.
  [[nodiscard]] bool settled(const std::string& image, const ToolPin& pin, TimePoint now) const;

  /// A round is over when every build has ended: the tool when all that succeeded are the same
  /// program, else the problem. Returns whether it is over.
  static bool conclude(ToolEntry& entry, TimePoint now);

  /// A tool from the store's records.
  void restore(const ToolFacts& facts);

 private:
  std::map<std::string, ToolEntry> entries_;
};

/// The build that a task of the machine stands for; null where there is none.
[[nodiscard]] ToolBuild* build_of(ToolDesk& desk, Handle task, ToolEntry** entry);

}  // namespace cupel::coordinator
