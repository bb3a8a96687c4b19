/// The directory of a snapshot while it is being written, and how it is read back.
#pragma once

#include "common/core/error.hpp"
#include "common/fs/beneath.hpp"
#include "common/gitfmt/object.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace cupel::worker {

/// Removes its directory unless finish() was called.
class SnapshotWriter {
 public:
  /// A fresh directory with a random name below `parent`.
  [[nodiscard]] static Result<SnapshotWriter> create(const std::filesystem::path& parent);
  SnapshotWriter(SnapshotWriter&& other) noexcept;
  SnapshotWriter& operator=(SnapshotWriter&&) = delete;
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;
  ~SnapshotWriter();

  // Paths were admitted; what lies on the way is made. Nothing that exists is ever opened or
  // replaced.
  [[nodiscard]] Result<void> add_file(const std::string& path, bool executable,
                                      std::string_view bytes);
  [[nodiscard]] Result<void> add_link(const std::string& path, const std::string& target);
  [[nodiscard]] Result<void> add_directory(const std::string& path);
  /// The file of another snapshot under a second name, or a copy where links are impossible.
  [[nodiscard]] Result<void> share_file(const std::filesystem::path& from, const std::string& path,
                                        bool executable);

  /// Closes the directories for writing, flushes the file system and keeps the directory.
  [[nodiscard]] Result<void> finish();
  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }

 private:
  SnapshotWriter(std::filesystem::path dir, fs::Fd root);
  [[nodiscard]] Result<void> make_parents(const std::string& path);

  std::filesystem::path dir_;
  fs::Fd root_;
  std::set<std::string> made_;
  bool kept_ = false;
};

/// One file or link as it lies on the disk.
struct SeenFile {
  std::uint32_t mode = 0;  ///< In git's words.
  std::string content;     ///< Bytes, or the link's target.
};

/// Visits every file and link below `dir` in no particular order, never following a link. Errors:
/// bad_value for anything else (a socket, a device), io_error, what `visit` returns.
[[nodiscard]] Result<void> scan_tree(
    const std::filesystem::path& dir,
    const std::function<Result<void>(const std::string& path, const SeenFile& file)>& visit);

/// The lines over which a tree's digest is made.
class TreeDigest {
 public:
  void add(const std::string& path, const SeenFile& file);
  [[nodiscard]] std::string finish() const;

 private:
  std::map<std::string, std::string> lines_;
};

}  // namespace cupel::worker
