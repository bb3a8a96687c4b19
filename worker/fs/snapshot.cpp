#include "worker/fs/snapshot.hpp"

#include "common/fs/beneath.hpp"
#include "worker/core/source/gomod.hpp"
#include "worker/fs/snapshot_writer.hpp"

#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <utility>

namespace cupel::worker {
namespace {

using gitfmt::ObjectId;
using gitfmt::TreeEntry;

constexpr std::uint64_t kEditBytesMax = 64ULL << 20U;

source::TreeLimits tree_limits(const SnapshotLimits& limits) {
  source::TreeLimits tree;
  tree.files = limits.files;
  tree.bytes = limits.bytes;
  tree.file_bytes = limits.file_bytes;
  tree.path_bytes = limits.path_bytes;
  tree.component_bytes = limits.component_bytes;
  tree.depth = limits.depth;
  return tree;
}

void note_path(std::vector<std::string>& list, const std::string& path) {
  if (list.size() < kNotedPathsMax) list.push_back(path);
}

std::optional<SourceRefusal> write_entry(const source::ObjectStore& store, const TreeEntry& entry,
                                         const SnapshotLimits& limits, SnapshotWriter& writer,
                                         Snapshot& snapshot, std::optional<Error>& error) {
  if (entry.mode == gitfmt::kModeSubmodule) {
    note_path(snapshot.notes.submodules, entry.path);
    if (auto made = writer.add_directory(entry.path); !made) error = made.error();
    return std::nullopt;
  }
  const auto object = store.read(entry.id, limits.file_bytes);
  if (!object && source::is_of_host(object.error())) {
    error = object.error();
    return std::nullopt;
  }
  if (!object) {
    const bool missing = object.error().code == Errc::not_found;
    return refusal(missing ? Reason::acquire_incomplete : Reason::malformed_tree,
                   FindingKind::acquire_error, shown_path(entry.path) + ": " + object.error().what);
  }
  const std::string& bytes = object->bytes;
  ++snapshot.files;
  snapshot.bytes += bytes.size();
  Result<void> written;
  if (entry.mode == gitfmt::kModeLink) {
    if (bytes.empty() || bytes.find('\0') != std::string::npos) {
      return refusal(Reason::malformed_tree, FindingKind::acquire_error,
                     "malformed_tree: " + shown_path(entry.path) + ": a link without a target");
    }
    snapshot.view.links.emplace(entry.path, bytes);
    written = writer.add_link(entry.path, bytes);
  } else {
    if (is_lfs_pointer(bytes)) note_path(snapshot.notes.lfs_pointers, entry.path);
    if (wants_content(entry.path) && bytes.size() <= kManifestBytesMax) {
      snapshot.view.manifests.emplace(entry.path, bytes);
    }
    written = writer.add_file(entry.path, entry.mode == gitfmt::kModeExecutable, bytes);
  }
  if (!written) error = written.error();
  return std::nullopt;
}

/// Reads everything back from the disk and compares it with what the tree says.
Result<std::string> verify(const Snapshot& snapshot) {
  std::map<std::string, const TreeEntry*> expected;
  for (const TreeEntry& entry : snapshot.view.entries) {
    if (entry.mode != gitfmt::kModeSubmodule) expected.emplace(entry.path, &entry);
  }
  TreeDigest digest;
  const auto differs = [](const std::string& path, const char* how) {
    return Error{
        Errc::io_error, "the snapshot differs from the commit: " + shown_path(path) + how, {}, {}};
  };
  const auto scanned =
      scan_tree(snapshot.dir, [&](const std::string& path, const SeenFile& file) -> Result<void> {
        const auto found = expected.find(path);
        if (found == expected.end()) return differs(path, " should not be there");
        const TreeEntry& entry = *found->second;
        const std::uint32_t mode = entry.mode == 0100664 ? gitfmt::kModeFile : entry.mode;
        if (file.mode != mode) return differs(path, " has another mode");
        if (gitfmt::object_id(gitfmt::ObjectType::blob, file.content) != entry.id) {
          return differs(path, " has other content");
        }
        expected.erase(found);
        digest.add(path, file);
        return {};
      });
  if (!scanned) return scanned.error();
  if (!expected.empty()) return differs(expected.begin()->first, " is missing");
  return digest.finish();
}

/// Every file of `from` below `prefix`, but for those that are edited.
Result<void> share_tree(SnapshotWriter& writer, const std::filesystem::path& from,
                        const std::string& prefix, const TreeEdits& edits) {
  return scan_tree(from, [&](const std::string& path, const SeenFile& file) -> Result<void> {
    if (edits.contains(path)) return {};
    const std::string to = prefix + path;
    if (file.mode == gitfmt::kModeLink) return writer.add_link(to, file.content);
    return writer.share_file(from / path, to, file.mode == gitfmt::kModeExecutable);
  });
}

Result<DerivedSnapshot> finish_derived(SnapshotWriter& writer) {
  auto digest = tree_digest(writer.dir());
  if (!digest) return digest.error();
  if (auto finished = writer.finish(); !finished) return finished.error();
  return DerivedSnapshot{writer.dir(), *std::move(digest)};
}

void note_escaping_links(Snapshot& snapshot) {
  for (const auto& [path, target] : snapshot.view.links) {
    if (link_escapes(path, target, snapshot.view.links)) {
      note_path(snapshot.notes.escaping_links, path);
    }
  }
}

}  // namespace

Result<SnapshotAnswer> write_snapshot(const source::ObjectStore& store, const ObjectId& commit,
                                      const std::filesystem::path& parent,
                                      const SnapshotLimits& limits) {
  auto tree = source::read_tree(store, commit, tree_limits(limits));
  if (!tree) return tree.error();
  if (auto* refused = std::get_if<SourceRefusal>(&*tree)) return std::move(*refused);
  Snapshot snapshot;
  snapshot.view.entries = std::move(std::get<std::vector<TreeEntry>>(*tree));
  if (auto refused = admit(snapshot.view.entries, limits)) return *std::move(refused);

  auto writer = SnapshotWriter::create(parent);
  if (!writer) return writer.error();
  snapshot.dir = writer->dir();
  for (const TreeEntry& entry : snapshot.view.entries) {
    std::optional<Error> error;
    auto refused = write_entry(store, entry, limits, *writer, snapshot, error);
    if (error) return *error;
    if (refused) return *std::move(refused);
  }
  const auto modules = snapshot.view.manifests.find(".gitmodules");
  if (modules != snapshot.view.manifests.end()) {
    if (auto refused = judge_gitmodules(modules->second)) return *std::move(refused);
  }
  note_escaping_links(snapshot);
  auto digest = verify(snapshot);
  if (!digest) return digest.error();
  snapshot.tree = *std::move(digest);
  if (auto finished = writer->finish(); !finished) return finished.error();
  return snapshot;
}

Result<DerivedSnapshot> derive_snapshot(const std::filesystem::path& base,
                                        const std::map<std::string, std::string>& changed,
                                        const std::filesystem::path& parent) {
  TreeEdits edits;
  for (const auto& [path, bytes] : changed) edits.emplace(path, FileEdit{bytes, false});
  return derive_snapshot(base, edits, parent);
}

Result<FileEdit> read_snapshot_file(const std::filesystem::path& snapshot,
                                    const std::string& path) {
  const auto dir = fs::open_dir(snapshot);
  if (!dir) return dir.error();
  const auto file = fs::open_beneath(*dir, path, O_RDONLY | O_NONBLOCK);
  if (!file) {
    if (file.error().code == Errc::not_found) return FileEdit{};
    return file.error();
  }
  struct stat info{};
  if (::fstat(file->get(), &info) != 0) return Error{Errc::io_error, "stat " + path, {}, {}};
  auto bytes = fs::read_all(*file, kEditBytesMax, path);
  if (!bytes) return bytes.error();
  return FileEdit{*std::move(bytes), (info.st_mode & S_IXUSR) != 0};
}

Result<DerivedSnapshot> graft_snapshots(const std::filesystem::path& base,
                                        const std::map<std::string, std::filesystem::path>& grafts,
                                        const std::filesystem::path& parent) {
  auto writer = SnapshotWriter::create(parent);
  if (!writer) return writer.error();
  if (auto shared = share_tree(*writer, base, {}, {}); !shared) return shared.error();
  for (const auto& [path, dir] : grafts) {
    if (auto shared = share_tree(*writer, dir, path + '/', {}); !shared) return shared.error();
  }
  return finish_derived(*writer);
}

Result<DerivedSnapshot> derive_snapshot(const std::filesystem::path& base, const TreeEdits& edits,
                                        const std::filesystem::path& parent) {
  auto writer = SnapshotWriter::create(parent);
  if (!writer) return writer.error();
  if (auto shared = share_tree(*writer, base, {}, edits); !shared) return shared.error();
  for (const auto& [path, edit] : edits) {
    if (!edit.content) continue;
    if (auto written = writer->add_file(path, edit.executable, *edit.content); !written) {
      return written.error();
    }
  }
  return finish_derived(*writer);
}

Result<std::string> tree_digest(const std::filesystem::path& dir) {
  TreeDigest digest;
  const auto scanned =
      scan_tree(dir, [&](const std::string& path, const SeenFile& file) -> Result<void> {
        digest.add(path, file);
        return {};
      });
  if (!scanned) return scanned.error();
  return digest.finish();
}

}  // namespace cupel::worker
