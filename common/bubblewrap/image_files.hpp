/// What an unpacked image consists of: a list that is written when it is made, and what differs
/// from it later. A list finds damage; whoever may write the image may write the list as well.
/// Blocking.
#pragma once

#include "common/core/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::bubblewrap {

/// One line for each entry below the folder and for itself ("."): mode with its type in octal,
/// user, group, SHA-256 of a file's content or of a link's target, and the path as JSON. In the
/// order of paths. No link is followed. Errors: io_error.
[[nodiscard]] Result<std::string> list_files(const std::filesystem::path& root);

struct ImageDamage {
  std::uint64_t count = 0;         ///< Entries that are missing, added or otherwise than listed.
  std::vector<std::string> first;  ///< Of these the first ones, in words.
};

/// The two lists may be of any origin: a line that is none counts as damage.
[[nodiscard]] ImageDamage compare_files(std::string_view listed, std::string_view found);

}  // namespace cupel::bubblewrap
