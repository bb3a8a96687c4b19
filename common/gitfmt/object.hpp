/// Git objects as bytes: ids, and the three kinds that name other objects. Pure; every function
/// takes bytes that somebody else wrote and never trusts them.
#pragma once

#include "common/core/error.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::gitfmt {

/// A SHA-1 object id. Repositories with another object format are refused before one is needed.
struct ObjectId {
  std::array<std::uint8_t, 20> bytes{};
  friend auto operator<=>(const ObjectId&, const ObjectId&) = default;
  [[nodiscard]] std::string hex() const;
  /// 40 hex digits of either case.
  [[nodiscard]] static std::optional<ObjectId> parse(std::string_view text);
};

enum class ObjectType : std::uint8_t { commit = 1, tree = 2, blob = 3, tag = 4 };
[[nodiscard]] std::string_view name(ObjectType type);

/// The id of an object with these bytes.
[[nodiscard]] ObjectId object_id(ObjectType type, std::string_view bytes);

inline constexpr std::uint32_t kModeFile = 0100644;
inline constexpr std::uint32_t kModeExecutable = 0100755;
inline constexpr std::uint32_t kModeLink = 0120000;
inline constexpr std::uint32_t kModeTree = 0040000;
inline constexpr std::uint32_t kModeSubmodule = 0160000;

/// One line of a tree object. `name` is what the object says, unchecked.
struct RawEntry {
  std::uint32_t mode = 0;
  std::string name;
  ObjectId id;
};

/// Errors: bad_value for bytes that are no tree.
[[nodiscard]] Result<std::vector<RawEntry>> parse_tree(std::string_view bytes);
/// The bytes of a tree with these entries, in git's order (a directory sorts as if it ended in
/// '/').
[[nodiscard]] std::string format_tree(std::vector<RawEntry> entries);
/// The tree that a commit names. Errors: bad_value.
[[nodiscard]] Result<ObjectId> commit_tree(std::string_view bytes);
/// When the commit was made, in seconds since 1970. Errors: bad_value for a commit without such a
/// line and for a time before 1970 or after the year 9999.
[[nodiscard]] Result<std::int64_t> commit_time(std::string_view bytes);
struct TagTarget {
  ObjectId id;
  ObjectType type = ObjectType::commit;
};
/// What an annotated tag names. Errors: bad_value.
[[nodiscard]] Result<TagTarget> tag_target(std::string_view bytes);

/// One file, link or submodule of a commit; directories are only implied.
struct TreeEntry {
  std::string path;        ///< Bytes as git stores them, '/' between components.
  std::uint32_t mode = 0;  ///< As the tree says, unchecked.
  ObjectId id;
  std::uint64_t size = 0;  ///< Of the blob; 0 for submodules.
  friend bool operator==(const TreeEntry&, const TreeEntry&) = default;
};

}  // namespace cupel::gitfmt
