#include "worker/core/source/gomod.hpp"
#include "worker/fs/snapshot.hpp"
#include "worker/fs/snapshot_writer.hpp"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace cupel::worker {
namespace {

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, FreeArchive>;

constexpr std::size_t kBlockBytes = 64 * 1024;

Error zip_error(const std::filesystem::path& zip, archive* reader) {
  const char* words = archive_error_string(reader);
  return {Errc::io_error, "read " + zip.string(), capped_detail(words != nullptr ? words : ""), {}};
}

Result<Reader> open_zip(const std::filesystem::path& zip) {
  Reader reader(archive_read_new());
  // Opened as a file, so the reader goes by the central directory: sizes and names are known there.
  if (!reader || archive_read_support_format_zip_seekable(reader.get()) != ARCHIVE_OK ||
      archive_read_open_filename(reader.get(), zip.c_str(), kBlockBytes) != ARCHIVE_OK) {
    return zip_error(zip, reader.get());
  }
  return reader;
}

SourceRefusal malformed(const std::string& what) {
  return refusal(Reason::malformed_tree, FindingKind::acquire_error, "malformed_tree: " + what);
}

/// One pass over the archive. `visit` gets the path below the prefix and may stop with a refusal.
class ModuleZip {
 public:
  ModuleZip(std::filesystem::path zip, std::string prefix, const SnapshotLimits& limits)
      : zip_(std::move(zip)), prefix_(std::move(prefix)), limits_(limits) {}

  /// Names and sizes only.
  Result<std::variant<std::vector<gitfmt::TreeEntry>, SourceRefusal>> list() {
    auto reader = open_zip(zip_);
    if (!reader) return reader.error();
    std::vector<gitfmt::TreeEntry> entries;
    archive_entry* entry = nullptr;
    int code = ARCHIVE_OK;
    while ((code = archive_read_next_header(reader->get(), &entry)) == ARCHIVE_OK) {
      auto path = path_of(entry);
      if (!path) return malformed("the module zip holds a name outside of " + shown_path(prefix_));
      if (path->ends_with('/') || path->empty()) continue;  // a folder
      if (archive_entry_filetype(entry) != AE_IFREG) {
        return malformed(shown_path(*path) + ": a module zip holds files only");
      }
      const auto size = archive_entry_size(entry);
      entries.push_back({*std::move(path),
                         gitfmt::kModeFile,
                         {},
                         size > 0 ? static_cast<std::uint64_t>(size) : 0});
      if (entries.size() > limits_.files) break;  // admit() says the rest
    }
    if (code != ARCHIVE_OK && code != ARCHIVE_EOF && entries.size() <= limits_.files) {
      return zip_error(zip_, reader->get());
    }
    return entries;
  }

  Result<std::optional<SourceRefusal>> unpack(SnapshotWriter& writer, Snapshot& snapshot) {
    using Answer = std::optional<SourceRefusal>;
    auto reader = open_zip(zip_);
    if (!reader) return reader.error();
    archive_entry* entry = nullptr;
    int code = ARCHIVE_OK;
    while ((code = archive_read_next_header(reader->get(), &entry)) == ARCHIVE_OK) {
      const auto path = path_of(entry);
      if (!path || path->empty() || path->ends_with('/')) continue;
      auto bytes = content(reader->get());
      if (!bytes) {
        if (bytes.error().code != Errc::too_large) return bytes.error();
        return Answer(
            refusal(Reason::snapshot_too_large, FindingKind::limit,
                    "snapshot_too_large: " + shown_path(*path) + ": " + bytes.error().what));
      }
      if (auto written = writer.add_file(*path, false, *bytes); !written) return written.error();
      ++snapshot.files;
      snapshot.bytes += bytes->size();
      if (snapshot.bytes > limits_.bytes) {
        return Answer(
            refusal(Reason::snapshot_too_large, FindingKind::limit,
                    "snapshot_too_large: more than " + std::to_string(limits_.bytes) + " bytes"));
      }
      if (is_lfs_pointer(*bytes) && snapshot.notes.lfs_pointers.size() < kNotedPathsMax) {
        snapshot.notes.lfs_pointers.push_back(*path);
      }
      if (wants_content(*path)) snapshot.view.manifests.emplace(*path, *std::move(bytes));
    }
    if (code != ARCHIVE_EOF) return zip_error(zip_, reader->get());
    return Answer();
  }

 private:
  /// Nothing for a name that does not begin with the prefix.
  std::optional<std::string> path_of(archive_entry* entry) const {
    const char* raw = archive_entry_pathname(entry);
    const std::string name = raw != nullptr ? raw : "";
    if (!name.starts_with(prefix_)) return std::nullopt;
    return name.substr(prefix_.size());
  }

  /// Bounded by what is really unpacked, whatever the archive promised.
  Result<std::string> content(archive* reader) const {
    std::string bytes;
    std::array<char, kBlockBytes> buffer{};
    while (true) {
      const la_ssize_t count = archive_read_data(reader, buffer.data(), buffer.size());
      if (count == 0) return bytes;
      if (count < 0) return zip_error(zip_, reader);
      bytes.append(buffer.data(), static_cast<std::size_t>(count));
      if (bytes.size() > limits_.file_bytes) {
        return Error{
            Errc::too_large, "more than " + std::to_string(limits_.file_bytes) + " bytes", {}, {}};
      }
    }
  }

  std::filesystem::path zip_;
  std::string prefix_;
  const SnapshotLimits& limits_;
};

}  // namespace

Result<SnapshotAnswer> unpack_module_zip(const std::filesystem::path& zip,
                                         const std::string& module_path, const std::string& version,
                                         const std::string& go_mod,
                                         const std::filesystem::path& parent,
                                         const SnapshotLimits& limits) {
  ModuleZip module(zip, module_path + '@' + version + '/', limits);
  auto listed = module.list();
  if (!listed) return listed.error();
  if (auto* refused = std::get_if<SourceRefusal>(&*listed)) return std::move(*refused);
  Snapshot snapshot;
  snapshot.view.entries = std::move(std::get<std::vector<gitfmt::TreeEntry>>(*listed));
  snapshot.view.has_vendored_code = false;
  if (auto refused = admit(snapshot.view.entries, limits)) return *std::move(refused);
  const bool has_go_mod = std::ranges::any_of(
      snapshot.view.entries, [](const gitfmt::TreeEntry& entry) { return entry.path == "go.mod"; });

  auto writer = SnapshotWriter::create(parent);
  if (!writer) return writer.error();
  snapshot.dir = writer->dir();
  auto unpacked = module.unpack(*writer, snapshot);
  if (!unpacked) return unpacked.error();
  if (*unpacked) return **std::move(unpacked);
  if (!has_go_mod && !go_mod.empty()) {
    if (auto added = writer->add_file("go.mod", false, go_mod); !added) return added.error();
    snapshot.view.entries.push_back({"go.mod", gitfmt::kModeFile, {}, go_mod.size()});
    snapshot.view.manifests.emplace("go.mod", go_mod);
    ++snapshot.files;
    snapshot.bytes += go_mod.size();
  }
  std::ranges::sort(snapshot.view.entries, {}, &gitfmt::TreeEntry::path);
  // The go command has checked the zip against the checksum database; this proves the copy.
  auto digest = tree_digest(snapshot.dir);
  if (!digest) return digest.error();
  snapshot.tree = *std::move(digest);
  if (auto finished = writer->finish(); !finished) return finished.error();
  return snapshot;
}

}  // namespace cupel::worker
