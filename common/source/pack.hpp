/// A local path as one git pack: what `- path:` of a campaign becomes before it is uploaded.
///
/// No git command runs here and no configuration of the folder takes effect: a git folder is first
/// looked at as files (odd configuration, alternates, a gitfile that points outside, a promisor are
/// answered with a refusal), then its objects are read by libgit2's object database alone: no
/// replace references, no grafts, no filters, no hooks, no checkout, no ownership question.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/error.hpp"
#include "common/core/refusal.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace cupel::source {

struct PackLimits {
  std::uint64_t files = 20'000;
  std::uint64_t bytes = 512ULL << 20;  ///< Sum of the files' sizes.
  std::uint64_t file_bytes = 64ULL << 20;
  std::uint64_t pack_bytes = 512ULL << 20;  ///< Size of the pack (kArtifactBytesMax).
};

/// One packfile (version 2, no index) that holds one commit, its trees and its blobs; the commit's
/// parents are not in it.
struct PackedSource {
  Digest digest;       ///< SHA-256 over the file: the artifact's name.
  std::string commit;  ///< 40 hex digits. For a plain folder: of a commit made with fixed names and
                       ///< time, so that equal content gives an equal commit.
  std::uint64_t bytes = 0;
  std::vector<std::string> notes;  ///< For people: "not a git repository: packed as it is", ...
};

/// What is wrong with the content is a SourceRefusal; what is wrong with this machine or the
/// arguments an Error (not_found: no such folder; already_exists: `out_file`; disk_full; io_error).
using PackAnswer = std::variant<PackedSource, SourceRefusal>;

/// `path` is the root of a work tree, a bare repository, or a folder without git (packed file by
/// file, never following links; `ref` must be empty then). A folder inside a larger repository
/// counts as a folder without git: the files are taken as they are, and a note names the
/// repository. `ref`: branch, tag, full name, a commit's full or unambiguous short id (7 digits and
/// more), empty = HEAD. Uncommitted changes of a work tree are not packed. Writes `out_file`, which
/// must not exist; it is removed again on any failure. Blocking; safe from any thread.
[[nodiscard]] Result<PackAnswer> pack_local_path(const std::filesystem::path& path,
                                                 const std::string& ref,
                                                 const std::filesystem::path& out_file,
                                                 const PackLimits& limits = {});

}  // namespace cupel::source
