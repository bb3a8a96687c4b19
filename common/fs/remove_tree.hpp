/// Removal of a tree that somebody else may have made as deep and as odd as they liked.
#pragma once

#include "common/core/error.hpp"

#include <filesystem>

namespace cupel::fs {

/// What remove_tree() does: descriptor by descriptor, so that no length of a path and no link on
/// the way matters.
[[nodiscard]] Result<void> remove_whole_tree(const std::filesystem::path& path);

}  // namespace cupel::fs
