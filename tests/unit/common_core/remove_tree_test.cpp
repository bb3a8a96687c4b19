#include "common/fs/beneath.hpp"
#include "common/fs/files.hpp"
#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::fs {
namespace {

namespace stdfs = std::filesystem;

TEST(RemoveTree, RemovesFilesFoldersAndNothing) {
  tests::TempDir dir;
  std::ofstream(dir / "file") << "x";
  stdfs::create_directories(dir / "a" / "b");
  std::ofstream(dir / "a" / "b" / "c") << "x";
  EXPECT_TRUE(remove_tree(dir / "file").has_value());
  EXPECT_TRUE(remove_tree((dir / "a").string() + "/").has_value());
  EXPECT_TRUE(remove_tree(dir / "never").has_value());
  EXPECT_TRUE(stdfs::is_empty(dir.path()));
}

TEST(RemoveTree, NeverFollowsALink) {
  tests::TempDir dir;
  stdfs::create_directories(dir / "kept");
  std::ofstream(dir / "kept" / "x") << "x";
  stdfs::create_directories(dir / "gone");
  stdfs::create_directory_symlink(dir / "kept", dir / "gone" / "link");
  stdfs::create_directory_symlink(dir / "kept", dir / "top");
  EXPECT_TRUE(remove_tree(dir / "gone").has_value());
  EXPECT_TRUE(remove_tree(dir / "top").has_value());
  EXPECT_TRUE(stdfs::exists(dir / "kept" / "x"));
  EXPECT_FALSE(stdfs::exists(dir / "gone"));
}

TEST(RemoveTree, FoldersWithoutWritePermissionAreNoObstacle) {
  tests::TempDir dir;
  stdfs::create_directories(dir / "a" / "b");
  std::ofstream(dir / "a" / "b" / "c") << "x";
  ::chmod((dir / "a" / "b").c_str(), 0000);
  ::chmod((dir / "a").c_str(), 0555);
  EXPECT_TRUE(remove_tree(dir / "a").has_value());
  EXPECT_FALSE(stdfs::exists(dir / "a"));
}

TEST(RemoveTree, NoDepthIsTooDeep) {
  tests::TempDir dir;
  stdfs::create_directories(dir / "deep");
  auto at = open_dir(dir / "deep");
  ASSERT_TRUE(at.has_value());
  const std::string name(60, 'd');
  for (int i = 0; i < 1000; ++i) {  // 60,000 bytes of path
    ASSERT_EQ(::mkdirat(at->get(), name.c_str(), 0755), 0);
    at = open_beneath(*at, name, O_RDONLY | O_DIRECTORY);
    ASSERT_TRUE(at.has_value());
    const Fd file(::openat(at->get(), "f", O_WRONLY | O_CREAT, 0600));
  }
  EXPECT_TRUE(remove_tree(dir / "deep").has_value());
  EXPECT_FALSE(stdfs::exists(dir / "deep"));
}

}  // namespace
}  // namespace cupel::fs
