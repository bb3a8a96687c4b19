#include "common/vulndb_io/take.hpp"

#include "tests/support/temp_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <archive.h>
#include <archive_entry.h>
#include <cstring>
#include <fstream>
#include <sys/stat.h>

namespace cupel::vulndb {
namespace {

using testing::HasSubstr;

const std::vector<std::pair<std::string, std::string>> kFiles = {
    {"index/db.json", R"({"modified": "2026-01-02T00:00:00Z"})"},
    {"index/vulns.json", R"([{"id": "GO-2026-0001"}])"},
    {"index/modules.json", R"([{"path": "example.com/a", "vulns": [{"id": "GO-2026-0001"}]}])"},
    {"ID/GO-2026-0001.json",
     R"({"id": "GO-2026-0001", "affected": [{"package": {"name": "example.com/a"}}]})"}};

void write_files(const std::filesystem::path& folder) {
  for (const auto& [path, bytes] : kFiles) {
    std::filesystem::create_directories((folder / path).parent_path());
    std::ofstream(folder / path) << bytes;
  }
}

/// `link`: the last file becomes a symbolic link.
std::string packed(bool zip, bool link = false) {
  std::string out(1 << 20, '\0');
  std::size_t used = 0;
  archive* writer = archive_write_new();
  zip ? archive_write_set_format_zip(writer) : archive_write_set_format_ustar(writer);
  archive_write_open_memory(writer, out.data(), out.size(), &used);
  for (const auto& [path, bytes] : kFiles) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, path.c_str());
    archive_entry_set_perm(entry, 0644);
    if (link && path.starts_with("ID/")) {
      archive_entry_set_filetype(entry, AE_IFLNK);
      archive_entry_set_symlink(entry, "/etc/passwd");
    } else {
      archive_entry_set_filetype(entry, AE_IFREG);
      archive_entry_set_size(entry, static_cast<la_int64_t>(bytes.size()));
    }
    archive_write_header(writer, entry);
    if (!link || !path.starts_with("ID/")) archive_write_data(writer, bytes.data(), bytes.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  out.resize(used);
  return out;
}

std::string id_of(const Answer& answer) {
  if (const auto* problem = std::get_if<Problem>(&answer)) return problem->message;
  return std::get<Database>(answer).id;
}

TEST(VulnSnapshot, FolderZipAndTarOfOneContentHaveOneId) {
  const tests::TempDir dir;
  write_files(dir.path());
  const std::string id = id_of(take_snapshot(dir.path().string()));
  EXPECT_EQ(id.size(), 64U) << id;
  EXPECT_EQ(id_of(read_archive(packed(true))), id);
  EXPECT_EQ(id_of(read_archive(packed(false))), id);
  const auto database = std::get<Database>(take_snapshot(dir.path().string()));
  EXPECT_EQ(id_of(read_archive(to_tar(database))), id);
}

TEST(VulnSnapshot, AnArchiveFileIsReadByItsPath) {
  const tests::TempDir dir;
  std::ofstream(dir / "db.zip", std::ios::binary) << packed(true);
  EXPECT_EQ(id_of(take_snapshot((dir / "db.zip").string())), id_of(read_archive(packed(true))));
}

TEST(VulnSnapshot, LinksAreRefused) {
  EXPECT_THAT(id_of(read_archive(packed(false, true))), HasSubstr("no plain file"));
  EXPECT_THAT(id_of(read_archive(packed(true, true))), HasSubstr("no plain file"));
  const tests::TempDir dir;
  write_files(dir.path());
  std::filesystem::remove(dir / "ID/GO-2026-0001.json");
  std::filesystem::create_symlink("/etc/passwd", dir / "ID/GO-2026-0001.json");
  EXPECT_THAT(id_of(take_snapshot(dir.path().string())), HasSubstr("no plain file"));
}

TEST(VulnSnapshot, WhatIsNotThereIsUnavailableAndWhatIsBrokenIsCorrupt) {
  const tests::TempDir dir;
  const auto missing = take_snapshot((dir / "none").string());
  EXPECT_EQ(std::get<Problem>(missing).reason, Reason::vulndb_unavailable);
  std::ofstream(dir / "broken.zip") << "PK no zip";
  const auto broken = take_snapshot((dir / "broken.zip").string());
  EXPECT_EQ(std::get<Problem>(broken).reason, Reason::vulndb_corrupt);
  const auto empty = take_snapshot(dir.path().string());
  EXPECT_EQ(std::get<Problem>(empty).reason, Reason::vulndb_corrupt);
}

TEST(VulnSnapshot, AnArchiveCutAnywhereIsNeverADatabase) {
  const std::string whole = packed(true);
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    EXPECT_TRUE(std::holds_alternative<Problem>(read_archive(whole.substr(0, size)))) << size;
  }
}

TEST(VulnSnapshot, AServerThatIsNotThereIsUnavailable) {
  // Port 9 of the loopback: nothing listens.
  const auto answer = take_snapshot("http://user:secret@127.0.0.1:9/db.zip?token=x");
  const auto* problem = std::get_if<Problem>(&answer);
  ASSERT_NE(problem, nullptr);
  EXPECT_EQ(problem->reason, Reason::vulndb_unavailable);
  EXPECT_EQ(problem->message.find("secret"), std::string::npos);
  EXPECT_EQ(problem->message.find("token"), std::string::npos);
}

TEST(VulnSnapshot, AWrittenFolderIsReadOnlyAndTheSame) {
  const tests::TempDir dir;
  const auto database = std::get<Database>(read_archive(packed(true)));
  std::filesystem::create_directory(dir / "out");
  ASSERT_TRUE(write_folder(database, dir / "out"));
  EXPECT_EQ(id_of(read_folder(dir / "out")), database.id);
  struct stat facts{};
  ASSERT_EQ(lstat((dir / "out/index/db.json").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0444U);
}

}  // namespace
}  // namespace cupel::vulndb
