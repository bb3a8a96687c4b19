/// The form in which workspaces are remembered on disk. Pure.
#pragma once

#include "common/core/error.hpp"
#include "common/core/ids.hpp"
#include "worker/fs/workspaces.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cupel::worker {

/// One repository at one commit.
struct WorkspaceRecord {
  RepositoryId repository;
  std::string commit;
  SourceWorkspace source;
  std::map<std::pair<std::uint64_t, WorkspaceSlot>, UnitWorkspace> units;  ///< By UnitId and slot.
};

/// A promotion as it is remembered until it is over.
struct PromotionJournal {
  Promotion promotion;
  bool written = false;  ///< The after snapshot stands, `after` and `after_tree` are set.
  std::string after;
  std::string after_tree;
};
[[nodiscard]] std::string format_journal(const PromotionJournal& journal);
/// Errors: bad_value.
[[nodiscard]] Result<PromotionJournal> parse_journal(std::string_view text);

[[nodiscard]] std::string format_record(const WorkspaceRecord& record);
/// Errors: bad_value.
[[nodiscard]] Result<WorkspaceRecord> parse_record(std::string_view text);

}  // namespace cupel::worker
