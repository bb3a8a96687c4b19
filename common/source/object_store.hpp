/// The objects of a git repository, read as bytes: loose files and packs, nothing else of the
/// folder. No configuration, references, grafts, replacements, alternates (unless named) or
/// ownership rules take part, and nothing is ever fetched.
#pragma once

#include "common/core/error.hpp"
#include "common/core/refusal.hpp"
#include "common/gitfmt/object.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cupel::source {

struct ObjectHeader {
  gitfmt::ObjectType type = gitfmt::ObjectType::blob;
  std::uint64_t size = 0;
};

struct Object {
  gitfmt::ObjectType type = gitfmt::ObjectType::blob;
  std::string bytes;
};

/// Movable; one thread at a time. Every object read is checked against its id.
class ObjectStore {
 public:
  /// `objects` is the folder of that name; `more` are alternates that the caller has judged.
  [[nodiscard]] static Result<ObjectStore> open(
      const std::filesystem::path& objects, const std::vector<std::filesystem::path>& more = {});
  /// Indexes one packfile (every object is hashed) into `work_dir`, which must exist, and opens it.
  /// Errors: bad_value for bytes that are no whole pack; is_of_host().
  [[nodiscard]] static Result<ObjectStore> open_pack(const std::filesystem::path& pack_file,
                                                     const std::filesystem::path& work_dir);
  ObjectStore(ObjectStore&&) noexcept;
  ObjectStore& operator=(ObjectStore&&) noexcept;
  ~ObjectStore();

  /// Errors of both: not_found for an object that is not here, bad_value for a damaged one;
  /// is_of_host().
  [[nodiscard]] Result<ObjectHeader> header(const gitfmt::ObjectId& id) const;
  [[nodiscard]] Result<Object> read(const gitfmt::ObjectId& id, std::uint64_t bytes_max) const;
  /// The one object whose id begins with these 7 to 40 hex digits; nothing for none or several.
  [[nodiscard]] std::optional<gitfmt::ObjectId> find_prefix(std::string_view hex) const;

 private:
  struct State;
  explicit ObjectStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Nothing that the bytes could help: no space, no memory, no descriptor, a file that can't be
/// read.
[[nodiscard]] inline bool is_of_host(const Error& error) {
  return error.code == Errc::io_error || error.code == Errc::disk_full;
}

/// Bounds on a tree before any file of it is touched.
struct TreeLimits {
  std::uint64_t files = 20'000;
  std::uint64_t bytes = 512ULL << 20;
  std::uint64_t file_bytes = 64ULL << 20;
  std::size_t path_bytes = 4096;
  std::size_t component_bytes = 255;
  std::size_t depth = 128;
};

/// Peels tags to a commit. Refusals: ref_not_found for anything that is no commit (`label` is how
/// people called it), acquire_incomplete for a missing object.
[[nodiscard]] Result<std::variant<gitfmt::ObjectId, SourceRefusal>> peel_to_commit(
    const ObjectStore& store, gitfmt::ObjectId id, const std::string& label);

/// Files, links and submodules of a commit, sorted by path as bytes. Names and modes are not judged
/// here (worker/core/source/admission does). Refusals: path_too_long, snapshot_too_large,
/// acquire_incomplete (an object is missing), malformed_tree (bytes that are no tree, or an entry
/// of the wrong kind).
using TreeAnswer = std::variant<std::vector<gitfmt::TreeEntry>, SourceRefusal>;
[[nodiscard]] Result<TreeAnswer> read_tree(const ObjectStore& store, const gitfmt::ObjectId& commit,
                                           const TreeLimits& limits = {});

}  // namespace cupel::source
