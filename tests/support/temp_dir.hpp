/// A directory of a test's own, removed with it.
#pragma once

#include "common/fs/files.hpp"

#include <filesystem>

namespace cupel::tests {

class TempDir {
 public:
  explicit TempDir(const std::filesystem::path& below = std::filesystem::temp_directory_path())
      : path_(below / ("cupel-test-" + fs::random_hex(8))) {
    std::filesystem::create_directory(path_);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() { static_cast<void>(fs::remove_tree(path_)); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace cupel::tests
