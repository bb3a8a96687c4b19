#include "common/fs/files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace cupel::fs {
namespace {

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::temp_directory_path() / ("cupel-files-" + random_hex(8));
    ASSERT_TRUE(ensure_private_dir(dir_));
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(dir_)); }
  std::filesystem::path dir_;
};

TEST_F(Files, PrivateDirectoryIsTightened) {
  ASSERT_EQ(::chmod(dir_.c_str(), 0755), 0);

  ASSERT_TRUE(ensure_private_dir(dir_));

  struct stat info{};
  ASSERT_EQ(::stat(dir_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST_F(Files, PrivateDirectoryRefusesALink) {
  std::filesystem::create_symlink("/tmp", dir_ / "link");
  EXPECT_FALSE(ensure_private_dir(dir_ / "link"));
}

TEST_F(Files, DurableWriteReplacesAndLeavesNothingBeside) {
  const auto file = dir_ / "state";
  ASSERT_TRUE(write_file_durably(file, "one", 0600));
  ASSERT_TRUE(write_file_durably(file, "two", 0600));

  EXPECT_EQ(read_file(file, 100).value(), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_), {}), 1);
  EXPECT_EQ(create_file_durably(file, "x", 0600).error().code, Errc::already_exists);
}

TEST_F(Files, SecretsThatOthersCanReadAreRefused) {
  const auto file = dir_ / "key";
  ASSERT_TRUE(write_file_durably(file, "secret", 0600));
  EXPECT_EQ(read_secret(file, 100).value(), "secret");

  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  EXPECT_EQ(read_secret(file, 100).error().code, Errc::key_permissions);
}

TEST_F(Files, LockIsExclusiveAndEndsWithItsObject) {
  const auto file = dir_ / "lock";
  {
    const auto first = FileLock::take(file);
    ASSERT_TRUE(first);
    EXPECT_EQ(FileLock::take(file).error().code, Errc::locked);
  }
  EXPECT_TRUE(FileLock::take(file));
}

TEST_F(Files, RemoveTreeTakesReadOnlyDirectoriesAndSparesLinkTargets) {
  std::filesystem::create_directories(dir_ / "tree/sub");
  ASSERT_TRUE(write_file_durably(dir_ / "tree/sub/file", "x", 0400));
  ASSERT_TRUE(write_file_durably(dir_ / "kept", "x", 0600));
  std::filesystem::create_symlink(dir_ / "kept", dir_ / "tree/link");
  ASSERT_EQ(::chmod((dir_ / "tree/sub").c_str(), 0500), 0);

  ASSERT_TRUE(remove_tree(dir_ / "tree"));

  EXPECT_FALSE(std::filesystem::exists(dir_ / "tree"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "kept"));
}

TEST_F(Files, ReadIsBounded) {
  ASSERT_TRUE(write_file_durably(dir_ / "big", std::string(1000, 'x'), 0600));
  EXPECT_EQ(read_file(dir_ / "big", 999).error().code, Errc::too_large);
  EXPECT_EQ(read_file(dir_ / "none", 999).error().code, Errc::not_found);
}

}  // namespace
}  // namespace cupel::fs
