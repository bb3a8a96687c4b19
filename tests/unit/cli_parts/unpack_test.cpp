#include "cli/image/unpack.hpp"

#include "common/fs/files.hpp"

#include <gtest/gtest.h>

#include <archive.h>
#include <archive_entry.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <sys/stat.h>

namespace cupel::cli {
namespace {

struct TarEntry {
  std::string name;
  unsigned type = AE_IFREG;
  unsigned mode = 0644;
  std::string text;  ///< A link's target.
  bool hard = false;
};

la_ssize_t collect(archive*, void* client, const void* bytes, size_t size) {
  static_cast<std::string*>(client)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

std::string tar_of(const std::vector<TarEntry>& entries) {
  std::string bytes;
  archive* const handle = archive_write_new();
  archive_write_set_format_ustar(handle);
  archive_write_open(handle, &bytes, nullptr, &collect, nullptr);
  for (const TarEntry& one : entries) {
    archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, one.name.c_str());
    archive_entry_set_filetype(entry, one.type);
    archive_entry_set_perm(entry, static_cast<mode_t>(one.mode));
    if (one.hard) {
      archive_entry_set_hardlink(entry, one.text.c_str());
    } else if (one.type == AE_IFLNK) {
      archive_entry_set_symlink(entry, one.text.c_str());
    } else {
      archive_entry_set_size(entry, static_cast<la_int64_t>(one.text.size()));
    }
    archive_write_header(handle, entry);
    if (!one.hard && one.type == AE_IFREG)
      archive_write_data(handle, one.text.data(), one.text.size());
    archive_entry_free(entry);
  }
  archive_write_free(handle);
  return bytes;
}

class UnpackTest : public ::testing::Test {
 protected:
  UnpackTest() { std::filesystem::create_directories(root_); }
  ~UnpackTest() override { std::filesystem::remove_all(dir_); }

  /// In pieces of seven bytes.
  Result<void> unpack(const std::vector<TarEntry>& entries) {
    auto rest = std::make_shared<std::string>(tar_of(entries));
    return unpack_tar(
        [rest]() -> Result<std::string> {
          std::string piece = rest->substr(0, 7);
          rest->erase(0, piece.size());
          return piece;
        },
        root_);
  }
  std::string text(const char* file) const {
    std::ifstream stream(root_ / file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  unsigned mode(const char* file) const {
    struct stat facts{};
    EXPECT_EQ(::lstat((root_ / file).c_str(), &facts), 0) << file;
    return facts.st_mode & 07777U;
  }

  std::filesystem::path dir_ =
      std::filesystem::temp_directory_path() / ("cupel-unpack-" + fs::random_hex(8));
  std::filesystem::path root_ = dir_ / "root";
};

TEST_F(UnpackTest, FilesFoldersAndLinksComeOutAndNoFileCanBeWritten) {
  const auto done = unpack({{"./", AE_IFDIR, 0755, "", false},
                            {"./usr/", AE_IFDIR, 0755, "", false},
                            {"./usr/bin/", AE_IFDIR, 0755, "", false},
                            {"./usr/bin/tool", AE_IFREG, 0755, "ELF", false},
                            {"./usr/bin/same", AE_IFREG, 0755, "./usr/bin/tool", true},
                            {"./bin", AE_IFLNK, 0777, "usr/bin", false},
                            {"./tmp/", AE_IFDIR, 01777, "", false}});

  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(text("usr/bin/tool"), "ELF");
  EXPECT_EQ(text("usr/bin/same"), "ELF");
  EXPECT_EQ(std::filesystem::read_symlink(root_ / "bin"), "usr/bin");
  EXPECT_EQ(mode("usr/bin/tool"), 0555U);
  EXPECT_EQ(mode("tmp"), 01777U);
}

TEST_F(UnpackTest, NoFileKeepsTheRightToBecomeAnotherUser) {
  ASSERT_TRUE(unpack({{"su", AE_IFREG, 06755, "ELF", false}}));

  EXPECT_EQ(mode("su"), 0555U);
}

TEST_F(UnpackTest, ANameThatLeavesTheRootIsRefused) {
  EXPECT_FALSE(unpack({{"a/../../evil", AE_IFREG, 0644, "x", false}}));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "evil"));
}

TEST_F(UnpackTest, ALinkOfTheArchiveIsNeverFollowed) {
  std::filesystem::create_directories(dir_ / "outside");

  EXPECT_FALSE(unpack(
      {{"out", AE_IFLNK, 0777, "../outside", false}, {"out/evil", AE_IFREG, 0644, "x", false}}));
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "outside"));
}

TEST_F(UnpackTest, WhatTheSourceSaysIsTheError) {
  const auto failed = unpack_tar(
      []() -> Result<std::string> {
        return Error{Errc::artifact_mismatch, "wrong archive", {}, {}};
      },
      root_);

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::artifact_mismatch);
}

TEST_F(UnpackTest, AnArchiveThatEndsTooEarlyIsAnError) {
  auto rest = std::make_shared<std::string>(
      tar_of({{"big", AE_IFREG, 0644, std::string(20'000, 'x'), false}}).substr(0, 9'000));

  EXPECT_FALSE(unpack_tar(
      [rest]() -> Result<std::string> { return std::exchange(*rest, std::string()); }, root_));
}

}  // namespace
}  // namespace cupel::cli
