/// A folder without git, turned into git objects as it is.
#pragma once

#include "common/core/error.hpp"
#include "common/core/refusal.hpp"
#include "common/source/object_store.hpp"
#include "common/source/pack_writer.hpp"

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace cupel::source {

struct PackedFolder {
  gitfmt::ObjectId commit;
  std::vector<std::string> notes;
};

/// Writes blobs, trees and one commit. Links stay links and are never followed; sockets, pipes and
/// devices are left out with a note, and so is every folder or file called .git; empty folders
/// vanish, as in git. A file that changes meanwhile is taken as it is read. Refusals:
/// snapshot_too_large, path_too_long, empty_repository (no file at all).
[[nodiscard]] Result<std::variant<PackedFolder, SourceRefusal>> pack_folder(
    const std::filesystem::path& folder, const TreeLimits& limits, PackWriter& writer);

}  // namespace cupel::source
