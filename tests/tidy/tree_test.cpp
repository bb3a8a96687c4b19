#include "tests/tidy/rules.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace cupel::tidy {
namespace {

namespace stdfs = std::filesystem;

constexpr std::size_t kLinesWished = 400;
constexpr std::size_t kLinesMax = 600;

std::string read(const stdfs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// All text of ours: code, scripts, documents. Recorded data is not ours to judge.
const std::vector<SourceFile>& tree() {
  static const std::vector<SourceFile> kTree = [] {
    std::vector<SourceFile> files;
    const stdfs::path root = CUPEL_SOURCE_DIR;
    for (const char* top :
         {"schema", "common", "coordinator", "worker", "cli", "ops", "tests", "docs", ".ci"}) {
      if (!stdfs::exists(root / top)) continue;
      for (const auto& entry : stdfs::recursive_directory_iterator(root / top)) {
        const std::string path = stdfs::relative(entry.path(), root).string();
        const bool recorded = path.starts_with("tests/fixtures") ||
                              path.starts_with("tests/golden") ||
                              path.starts_with("tests/fuzz/corpus");
        if (entry.is_regular_file() && !recorded) files.push_back({path, read(entry.path())});
      }
    }
    for (const char* name : {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CMakeLists.txt"}) {
      if (stdfs::exists(root / name)) files.push_back({name, read(root / name)});
    }
    return files;
  }();
  return kTree;
}

bool is_code(const SourceFile& file) {
  return file.path.ends_with(".cpp") || file.path.ends_with(".hpp");
}

std::set<std::string> core_folders() {
  std::set<std::string> folders;
  for (const SourceFile& file : tree()) {
    if (file.path.ends_with("CMakeLists.txt") && !file.path.starts_with("tests/") &&
        declares_core(file.text)) {
      folders.insert(stdfs::path(file.path).parent_path().string());
    }
  }
  return folders;
}

std::string told(const Complaints& complaints) {
  std::string text;
  for (const std::string& complaint : complaints) text += complaint + "\n";
  return text;
}

void append(Complaints& all, Complaints more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

TEST(Tree, FollowsTheArrows) {
  Complaints all;
  for (const SourceFile& file : tree()) append(all, check_arrows(file));
  EXPECT_TRUE(all.empty()) << told(all);
}

TEST(Tree, KeepsCorePure) {
  const auto folders = core_folders();
  ASSERT_TRUE(folders.contains("common/core"));
  Complaints all;
  for (const SourceFile& file : tree()) {
    if (is_code(file) && folders.contains(stdfs::path(file.path).parent_path().string())) {
      append(all, check_purity(file));
    }
  }
  EXPECT_TRUE(all.empty()) << told(all);
}

TEST(Tree, HoldsNoBannedWord) {
  Complaints all;
  for (const SourceFile& file : tree()) append(all, check_bans(file));
  EXPECT_TRUE(all.empty()) << told(all);
}

TEST(Tree, CanBeMadeToDieAtEachRename) {
  Complaints all;
  for (const SourceFile& file : tree()) append(all, check_crash_points(file));
  EXPECT_TRUE(all.empty()) << told(all);
}

TEST(Tree, IncludesItsOwnHeadersFirst) {
  std::set<std::string> headers;
  for (const SourceFile& file : tree()) {
    if (file.path.ends_with(".hpp")) headers.insert(file.path);
  }
  Complaints all;
  for (const SourceFile& file : tree()) append(all, check_own_header_first(file, headers));
  EXPECT_TRUE(all.empty()) << told(all);
}

TEST(Tree, NamesOnlyTestsThatExist) {
  std::set<std::string> declared;
  const SourceFile* document = nullptr;
  for (const SourceFile& file : tree()) {
    declared.merge(declared_tests(file));
    if (file.path == "docs/known-failures.md") document = &file;
  }
  ASSERT_NE(document, nullptr);
  const Complaints all = check_named_tests(*document, declared);
  EXPECT_TRUE(all.empty()) << told(all);
}

TEST(Tree, NamesOnlyMetricsThatExist) {
  std::set<std::string> declared;
  for (const SourceFile& file : tree()) {
    if (is_code(file) && !file.path.starts_with("tests/")) declared.merge(declared_metrics(file));
  }
  Complaints all;
  for (const SourceFile& file : tree()) {
    if (file.path.ends_with(".md") && file.path != "CONTRIBUTING.md")
      append(all, check_named_metrics(file, declared));
  }
  EXPECT_TRUE(all.empty()) << told(all);
}

TEST(Tree, HasNoHugeFile) {
  Complaints wished;
  Complaints refused;
  for (const SourceFile& file : tree()) {
    if (!is_code(file)) continue;
    append(wished, check_length(file, kLinesWished));
    append(refused, check_length(file, kLinesMax));
  }
  if (!wished.empty()) std::cout << "longer than wished:\n" << told(wished);
  EXPECT_TRUE(refused.empty()) << told(refused);
}

}  // namespace
}  // namespace cupel::tidy
