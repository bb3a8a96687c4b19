#include "common/source/pack.hpp"

#include "common/source/folder.hpp"
#include "common/source/git_folder.hpp"
#include "common/source/object_store.hpp"
#include "common/source/pack_writer.hpp"

#include <optional>
#include <set>
#include <utility>

namespace cupel::source {
namespace {

namespace stdfs = std::filesystem;
using gitfmt::ObjectId;
using gitfmt::ObjectType;

TreeLimits tree_limits(const PackLimits& limits) {
  TreeLimits tree;
  tree.files = limits.files;
  tree.bytes = limits.bytes;
  tree.file_bytes = limits.file_bytes;
  return tree;
}

/// The nearest folder above that is a git work tree.
std::optional<stdfs::path> enclosing_repository(const stdfs::path& path) {
  std::error_code ec;
  const stdfs::path start = stdfs::canonical(path, ec);
  for (stdfs::path at = start.parent_path(); !ec && at != at.parent_path(); at = at.parent_path()) {
    if (stdfs::exists(stdfs::symlink_status(at / ".git", ec)) && !ec) return at;
  }
  return std::nullopt;
}

/// What an error of the writer says: a pack that grew over its limit is the content's fault.
Result<PackAnswer> from_error(const Error& error) {
  if (error.code != Errc::too_large) return error;
  return refusal(Reason::snapshot_too_large, FindingKind::limit,
                 "snapshot_too_large: " + error.what);
}

Result<PackAnswer> finish(PackWriter& writer, const ObjectId& commit,
                          std::vector<std::string> notes) {
  const auto finished = writer.finish();
  if (!finished) return from_error(finished.error());
  return PackedSource{finished->digest, commit.hex(), finished->bytes, std::move(notes)};
}

/// Copies a commit with its trees and blobs. read_tree() has walked all of it before, within
/// limits.
Result<std::optional<SourceRefusal>> copy_commit(const ObjectStore& store, const ObjectId& commit,
                                                 std::uint64_t bytes_max, PackWriter& writer) {
  using Answer = std::optional<SourceRefusal>;
  std::vector<ObjectId> open{commit};
  std::set<ObjectId> seen{commit};
  while (!open.empty()) {
    const ObjectId id = open.back();
    open.pop_back();
    const auto object = store.read(id, bytes_max);
    if (!object) {
      if (is_of_host(object.error())) return object.error();
      if (object.error().code == Errc::not_found) {
        return Answer(
            refusal(Reason::acquire_incomplete, FindingKind::acquire_error, object.error().what));
      }
      return Answer(
          refusal(Reason::malformed_tree, FindingKind::acquire_error,
                  "malformed_tree: " + object.error().what + " (" + object.error().detail + ")"));
    }
    if (auto added = writer.add(object->type, object->bytes); !added) return added.error();
    const auto visit = [&](const ObjectId& next) {
      if (seen.insert(next).second) open.push_back(next);
    };
    if (object->type == ObjectType::commit) {
      if (const auto tree = gitfmt::commit_tree(object->bytes)) visit(*tree);
    } else if (object->type == ObjectType::tree) {
      const auto entries = gitfmt::parse_tree(object->bytes);
      if (!entries) continue;
      for (const auto& entry : *entries) {
        if (entry.mode != gitfmt::kModeSubmodule) visit(entry.id);
      }
    }
  }
  return Answer();
}

Result<PackAnswer> pack_git(const GitFolder& folder, const std::string& ref,
                            const PackLimits& limits, PackWriter& writer) {
  auto store = ObjectStore::open(folder.common_dir / "objects", folder.alternates);
  if (!store) return store.error();
  auto resolved = resolve_ref(folder, *store, ref);
  if (!resolved) return resolved.error();
  if (auto* refused = std::get_if<SourceRefusal>(&*resolved)) return std::move(*refused);
  const ResolvedRef& target = std::get<ResolvedRef>(*resolved);

  const auto peeled = peel_to_commit(*store, target.id, ref.empty() ? "HEAD" : ref);
  if (!peeled) return peeled.error();
  if (const auto* refused = std::get_if<SourceRefusal>(&*peeled)) return *refused;
  const ObjectId commit = std::get<ObjectId>(*peeled);

  const auto tree = read_tree(*store, commit, tree_limits(limits));
  if (!tree) return tree.error();
  if (const auto* refused = std::get_if<SourceRefusal>(&*tree)) return *refused;

  const auto copied = copy_commit(*store, commit, limits.file_bytes, writer);
  if (!copied) return from_error(copied.error());
  if (*copied) return **copied;
  std::vector<std::string> notes;
  if (!target.note.empty()) notes.push_back(target.note);
  return finish(writer, commit, std::move(notes));
}

Result<PackAnswer> pack_plain(const stdfs::path& path, const PackLimits& limits,
                              PackWriter& writer) {
  auto packed = pack_folder(stdfs::canonical(path), tree_limits(limits), writer);
  if (!packed) return from_error(packed.error());
  if (auto* refused = std::get_if<SourceRefusal>(&*packed)) return std::move(*refused);
  PackedFolder& folder = std::get<PackedFolder>(*packed);
  std::vector<std::string> notes{"no git repository: every file of the folder was packed as it is"};
  if (const auto outer = enclosing_repository(path)) {
    notes.push_back("the folder lies inside the git repository " + outer->string() +
                    "; name that one with subdirs to validate a commit of it");
  }
  notes.insert(notes.end(), folder.notes.begin(), folder.notes.end());
  return finish(writer, folder.commit, std::move(notes));
}

}  // namespace

Result<PackAnswer> pack_local_path(const stdfs::path& path, const std::string& ref,
                                   const stdfs::path& out_file, const PackLimits& limits) {
  auto inspected = inspect_git_folder(path);
  if (!inspected) return inspected.error();
  if (auto* refused = std::get_if<SourceRefusal>(&*inspected)) return std::move(*refused);
  const auto* folder = std::get_if<GitFolder>(&*inspected);
  if (folder == nullptr && !ref.empty()) {
    return refusal(Reason::ref_not_found, FindingKind::acquire_error,
                   "ref_not_found: the folder is no git repository, so there is no '" +
                       capped_detail(ref) + "' in it");
  }
  auto writer = PackWriter::create(out_file, limits.pack_bytes);
  if (!writer) return writer.error();
  return folder != nullptr ? pack_git(*folder, ref, limits, *writer)
                           : pack_plain(path, limits, *writer);
}

}  // namespace cupel::source
