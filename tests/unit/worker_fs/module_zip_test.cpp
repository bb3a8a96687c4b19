#include "tests/support/git_fixture.hpp"
#include "tests/support/temp_dir.hpp"
#include "worker/fs/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <archive.h>
#include <archive_entry.h>

namespace cupel::worker {
namespace {

namespace stdfs = std::filesystem;
using tests::read_text;

struct ZipFile {
  std::string name;
  std::string content;
  unsigned type = AE_IFREG;
};

void make_zip(const stdfs::path& path, const std::vector<ZipFile>& files) {
  archive* zip = archive_write_new();
  archive_write_set_format_zip(zip);
  ASSERT_EQ(archive_write_open_filename(zip, path.c_str()), ARCHIVE_OK);
  for (const auto& file : files) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, file.name.c_str());
    archive_entry_set_filetype(entry, file.type);
    archive_entry_set_perm(entry, 0755);
    if (file.type == AE_IFLNK) {
      archive_entry_set_symlink(entry, file.content.c_str());
    } else {
      archive_entry_set_size(entry, static_cast<la_int64_t>(file.content.size()));
    }
    archive_write_header(zip, entry);
    if (file.type == AE_IFREG) archive_write_data(zip, file.content.data(), file.content.size());
    archive_entry_free(entry);
  }
  archive_write_close(zip);
  archive_write_free(zip);
}

class ModuleZip : public testing::Test {
 protected:
  void SetUp() override { stdfs::create_directory(dir_ / "out"); }

  Result<SnapshotAnswer> unpack(const std::vector<ZipFile>& files,
                                const std::string& go_mod = "module ex.test/M\n",
                                const SnapshotLimits& limits = {}) {
    make_zip(dir_ / "m.zip", files);
    return unpack_module_zip(dir_ / "m.zip", "ex.test/M", "v1.0.0", go_mod, dir_ / "out", limits);
  }
  Reason refused(const std::vector<ZipFile>& files, const SnapshotLimits& limits = {}) {
    const auto answer = unpack(files, "", limits);
    EXPECT_TRUE(answer.has_value());
    EXPECT_TRUE(stdfs::is_empty(dir_ / "out"));
    const auto* why = std::get_if<SourceRefusal>(&*answer);
    return why != nullptr ? why->reason : Reason::none;
  }

  tests::TempDir dir_;
};

TEST_F(ModuleZip, IsUnpackedWithoutItsPrefix) {
  const auto answer = unpack({{"ex.test/M@v1.0.0/go.mod", "module ex.test/M\n\ngo 1.20\n"},
                              {"ex.test/M@v1.0.0/a/a.go", "package a\n"}});
  ASSERT_TRUE(answer.has_value());
  const auto& snapshot = std::get<Snapshot>(*answer);
  EXPECT_EQ(read_text(snapshot.dir / "a/a.go"), "package a\n");
  EXPECT_EQ(read_text(snapshot.dir / "go.mod"), "module ex.test/M\n\ngo 1.20\n");
  EXPECT_EQ(snapshot.files, 2U);
  EXPECT_EQ(snapshot.tree, *tree_digest(snapshot.dir));
  const auto units = discover_units(snapshot.view, {});
  EXPECT_EQ(std::get<0>(units).at(0).go_version, "1.20");
}

TEST_F(ModuleZip, GetsTheGoModThatGoMadeUp) {
  const auto answer = unpack({{"ex.test/M@v1.0.0/a.go", "package a\n"}});
  ASSERT_TRUE(answer.has_value());
  const auto& snapshot = std::get<Snapshot>(*answer);
  EXPECT_EQ(read_text(snapshot.dir / "go.mod"), "module ex.test/M\n");
  EXPECT_EQ(std::get<0>(discover_units(snapshot.view, {})).size(), 1U);
}

TEST_F(ModuleZip, NamesOutsideOfThePrefixAreRefused) {
  for (const char* name : {"other@v1.0.0/x", "ex.test/M@v1.0.0/../x", "/etc/x",
                           "ex.test/M@v1.0.0/.git/config", "ex.test/M@v1.0.1/x"}) {
    EXPECT_EQ(refused({{name, "x"}}), Reason::malformed_tree) << name;
  }
}

TEST_F(ModuleZip, LinksAndDoublesAreRefused) {
  EXPECT_EQ(refused({{"ex.test/M@v1.0.0/l", "/etc/passwd", AE_IFLNK}}), Reason::malformed_tree);
  EXPECT_EQ(refused({{"ex.test/M@v1.0.0/x", "a"}, {"ex.test/M@v1.0.0/x", "b"}}),
            Reason::malformed_tree);
  EXPECT_EQ(refused({{"ex.test/M@v1.0.0/x", "a"}, {"ex.test/M@v1.0.0/X", "b"}}),
            Reason::malformed_tree);
}

TEST_F(ModuleZip, BombsAreRefused) {
  SnapshotLimits limits;
  limits.file_bytes = 1000;
  limits.bytes = 1500;
  limits.files = 3;
  EXPECT_EQ(refused({{"ex.test/M@v1.0.0/x", std::string(1'000'000, '\0')}}, limits),
            Reason::snapshot_too_large);
  EXPECT_EQ(refused({{"ex.test/M@v1.0.0/x", std::string(900, 'a')},
                     {"ex.test/M@v1.0.0/y", std::string(900, 'b')}},
                    limits),
            Reason::snapshot_too_large);
  EXPECT_EQ(refused({{"ex.test/M@v1.0.0/1", ""},
                     {"ex.test/M@v1.0.0/2", ""},
                     {"ex.test/M@v1.0.0/3", ""},
                     {"ex.test/M@v1.0.0/4", ""}},
                    limits),
            Reason::snapshot_too_large);
}

TEST_F(ModuleZip, BytesThatAreNoZipAreAnError) {
  tests::write_text(dir_ / "m.zip", "not a zip at all");
  const auto answer = unpack_module_zip(dir_ / "m.zip", "ex.test/M", "v1.0.0", "", dir_ / "out");
  EXPECT_FALSE(answer.has_value());
  EXPECT_TRUE(stdfs::is_empty(dir_ / "out"));
}

}  // namespace
}  // namespace cupel::worker
