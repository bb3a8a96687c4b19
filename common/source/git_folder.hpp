/// A git folder looked at as files: where its objects and references are, and what about it is
/// refused.
#pragma once

#include "common/core/error.hpp"
#include "common/core/refusal.hpp"
#include "common/gitfmt/object.hpp"
#include "common/source/object_store.hpp"

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace cupel::source {

struct GitFolder {
  std::filesystem::path git_dir;     ///< HEAD is here.
  std::filesystem::path common_dir;  ///< objects, refs, packed-refs and config are here.
  std::vector<std::filesystem::path> alternates;  ///< Inside the folder that was handed over.
};

/// The folder holds no git repository.
struct NoGitFolder {};

/// Refusals: gitdir_outside, alternates_outside, hostile_git_config, unsupported_object_format.
using GitFolderAnswer = std::variant<GitFolder, NoGitFolder, SourceRefusal>;
[[nodiscard]] Result<GitFolderAnswer> inspect_git_folder(const std::filesystem::path& path);

struct ResolvedRef {
  gitfmt::ObjectId id;  ///< Not peeled.
  std::string name;     ///< Full name, or the id.
  std::string note;     ///< When another reference has the same short name.
};

/// `ref` as pack_local_path() takes it. A full object id names the object even when a branch is
/// called like it; a tag wins over a branch of one name, as in git. Refusals: ref_not_found,
/// empty_repository.
[[nodiscard]] Result<std::variant<ResolvedRef, SourceRefusal>> resolve_ref(const GitFolder& folder,
                                                                           const ObjectStore& store,
                                                                           const std::string& ref);

}  // namespace cupel::source
