/// What the machine keeps of each repository, unit and campaign that is open. Private to
/// coordinator/core.
#pragma once

#include "common/campaign/campaign.hpp"
#include "coordinator/core/actions.hpp"
#include "coordinator/core/counters.hpp"
#include "coordinator/core/planner.hpp"
#include "coordinator/core/pool.hpp"
#include "coordinator/core/recipe.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cupel::coordinator {

/// A text that most records don't have: eight bytes without it.
class RareText {
 public:
  RareText() = default;
  RareText& operator=(const std::string& text) {
    text_ = text.empty() ? nullptr : std::make_unique<std::string>(text);
    return *this;
  }
  operator const std::string&() const {  // NOLINT(google-explicit-constructor): it is a text
    static const std::string kNone;
    return text_ ? *text_ : kNone;
  }
  [[nodiscard]] bool empty() const { return text_ == nullptr; }
  friend bool operator==(const RareText& a, const std::string& b) {
    return static_cast<const std::string&>(a) == b;
  }
  friend std::string operator+(std::string a, const RareText& b) {
    return std::move(a) + static_cast<const std::string&>(b);
  }

 private:
  std::unique_ptr<std::string> text_;
};

/// A repository of an open campaign. Its source is a piece of its campaign's text.
struct Repository {
  RepositoryId id;
  Handle campaign = kNoHandle;
  std::uint32_t ordinal = 0;
  std::uint32_t source_at = 0;
  std::uint32_t source_size = 0;
  Handle first_unit = kNoHandle;   ///< Open units only.
  Handle holder = kNoHandle;       ///< Worker with the snapshot.
  Handle source_task = kNoHandle;  ///< The AcquireSource under way.
  bool acquired = false;           ///< Its units are known.
  RareText commit;
  /// The second acquisition failed: what its open units are told when their attempts come back.
  std::unique_ptr<planner::Judgement> failed;
};
static_assert(sizeof(Repository) <= 56, "one of these per queued task");

/// An open unit.
struct Unit {
  UnitId id;
  Handle repository = kNoHandle;
  Handle next = kNoHandle;  ///< Of the same repository.
  Handle task = kNoHandle;  ///< The stage under way.
  /// A later stage that waits until `task` is done again; others may wait for it (Task::waiter).
  Handle parked = kNoHandle;
  Handle modules_at = kNoHandle;        ///< Worker with its module cache.
  Handle changed_at = kNoHandle;        ///< Worker with its after side's snapshot.
  std::uint16_t after_variant = 0;      ///< Of the two: whose after side (Mutate::variant).
  Handle modules_after_at = kNoHandle;  ///< Worker with the after side's module cache.
  std::uint64_t dir_hash = 0;           ///< Finds it again among the units of a second acquisition.
  bool vendored = false;
  std::unique_ptr<planner::Progress> progress;  ///< Of a campaign that compares, or of a sample.
};

/// The key of a campaign that is over, for requests that were on their way when it ended. Those
/// that come later find it in the store.
struct FinishedKey {
  std::string owner;
  std::string key;
  std::string digest;
  CampaignId id;
};
inline constexpr std::size_t kFinishedKeysMax = 1024;

struct CampaignEntry {
  CampaignId id;
  std::string owner;
  std::string name;
  std::string idempotency_key;
  std::string digest;
  CampaignState state = CampaignState::running;
  std::int32_t priority = 0;
  ValidationSettings settings;
  campaign::ScanPlan scan;
  planner::Budgets budgets;
  planner::Question question;
  /// By ordinal, of the repositories that are asked something else.
  std::map<std::uint32_t, planner::Question> own_questions;
  std::set<std::uint32_t> samples;  ///< Ordinals of the repositories of the A/A sample.
  TimePoint deadline;
  bool has_deadline = false;
  std::string text;  ///< The sources, one behind the other: append_source().
  std::vector<Handle> repositories;
  std::uint64_t open_repositories = 0;  ///< Not acquired yet.
  std::uint64_t open_units = 0;
  std::array<std::uint64_t, kVerdicts> verdicts{};
  /// Entries that are not written yet; a large campaign is created in steps.
  std::deque<std::pair<std::uint32_t, campaign::RepositoryEntry>> uncreated;
  std::vector<std::pair<RequestId, bool>> waiting_replies;  ///< Id and `repeated`.
  bool step_pending = false;  ///< A step goes on when its batch is committed.
  bool cancelling = false;
  std::string cancel_why;
  std::size_t cancel_next = 0;  ///< Index in `repositories`.
  std::vector<RequestId> cancel_replies;
};

}  // namespace cupel::coordinator
