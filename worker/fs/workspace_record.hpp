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

namespace cupel::worker {

/// One repository at one commit.
struct WorkspaceRecord {
  RepositoryId repository;
  std::string commit;
  SourceWorkspace source;
  std::map<std::uint64_t, UnitWorkspace> units;  ///< By UnitId.
};

[[nodiscard]] std::string format_record(const WorkspaceRecord& record);
/// Errors: bad_value.
[[nodiscard]] Result<WorkspaceRecord> parse_record(std::string_view text);

}  // namespace cupel::worker
