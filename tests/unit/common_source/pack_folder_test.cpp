#include "common/source/object_store.hpp"
#include "common/source/pack.hpp"
#include "tests/support/git_fixture.hpp"
#include "tests/support/temp_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace cupel::source {
namespace {

namespace stdfs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using tests::write_text;

class PackFolder : public testing::Test {
 protected:
  void SetUp() override {
    write_text(folder() / "go.mod", "module ex.test/f\n");
    write_text(folder() / "a" / "a.go", "package a\n");
  }

  [[nodiscard]] stdfs::path folder() const { return dir_ / "folder"; }

  PackAnswer pack(const stdfs::path& path, const PackLimits& limits = {}) {
    const auto out = dir_ / (fs::random_hex(4) + ".pack");
    last_ = out;
    auto answer = pack_local_path(path, "", out, limits);
    if (answer) return *answer;
    ADD_FAILURE() << answer.error().text();
    return SourceRefusal{};
  }

  PackedSource packed(const stdfs::path& path) {
    auto answer = pack(path);
    if (auto* source = std::get_if<PackedSource>(&answer)) return *source;
    ADD_FAILURE() << std::get<SourceRefusal>(answer).message;
    return {};
  }

  std::vector<gitfmt::TreeEntry> entries(const std::string& commit) {
    const auto work = dir_ / fs::random_hex(4);
    stdfs::create_directory(work);
    auto store = ObjectStore::open_pack(last_, work);
    if (!store) return {};
    auto tree = read_tree(*store, *gitfmt::ObjectId::parse(commit));
    return std::get<std::vector<gitfmt::TreeEntry>>(*tree);
  }

  tests::TempDir dir_;
  stdfs::path last_;
};

TEST_F(PackFolder, EqualContentGivesAnEqualCommitAndDigest) {
  const auto first = packed(folder());
  tests::shell(dir_.path(), "cp -r folder other; touch -d 2001-01-01 other/go.mod");
  const auto second = packed(dir_ / "other");
  EXPECT_EQ(first.commit, second.commit);
  EXPECT_EQ(first.digest, second.digest);
  EXPECT_THAT(first.notes, Contains(HasSubstr("no git repository")));
}

TEST_F(PackFolder, ContentAndModesDecideTheCommit) {
  const auto first = packed(folder());
  ::chmod((folder() / "a" / "a.go").c_str(), 0755);
  const auto second = packed(folder());
  EXPECT_NE(first.commit, second.commit);
  EXPECT_EQ(entries(second.commit).at(0).mode, gitfmt::kModeExecutable);
}

TEST_F(PackFolder, LinksStayLinksAndAreNeverFollowed) {
  stdfs::create_symlink("/etc/hostname", folder() / "host");
  stdfs::create_directory_symlink("/etc", folder() / "etc");
  const auto all = entries(packed(folder()).commit);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all.at(1).path, "etc");
  EXPECT_EQ(all.at(1).mode, gitfmt::kModeLink);
  EXPECT_EQ(all.at(3).size, std::string("/etc/hostname").size());
}

TEST_F(PackFolder, WhatIsNoFileIsLeftOutWithANote) {
  ::mkfifo((folder() / "pipe").c_str(), 0600);
  const auto source = packed(folder());
  EXPECT_EQ(entries(source.commit).size(), 2U);
  EXPECT_THAT(source.notes, Contains(HasSubstr("pipe")));
}

TEST_F(PackFolder, RepositoriesInsideAreTakenWithoutTheirGitFolder) {
  tests::make_repository(folder() / "inner");
  const auto source = packed(folder());
  for (const auto& entry : entries(source.commit)) EXPECT_THAT(entry.path, Not(HasSubstr(".git")));
  EXPECT_THAT(source.notes, Contains(HasSubstr("inner/.git")));
}

TEST_F(PackFolder, AFolderInsideARepositoryIsPackedAsItIsWithANote) {
  tests::make_repository(dir_ / "outer");
  write_text(dir_ / "outer" / "ok" / "new.go", "package ok\n");
  const auto source = packed(dir_ / "outer" / "ok");
  EXPECT_EQ(entries(source.commit).size(), 2U);
  EXPECT_THAT(source.notes, Contains(HasSubstr("lies inside the git repository")));
}

TEST_F(PackFolder, OddNamesAreKeptAsBytes) {
  for (const char* name : {"caf\xe9.txt", "new\nline", "-o", "trail ", "back\\slash"}) {
    write_text(folder() / name, "x");
  }
  EXPECT_EQ(entries(packed(folder()).commit).size(), 7U);
}

TEST_F(PackFolder, LimitsAndEmptyFoldersAreAnswers) {
  PackLimits few;
  few.files = 1;
  EXPECT_EQ(std::get<SourceRefusal>(pack(folder(), few)).reason, Reason::snapshot_too_large);
  EXPECT_FALSE(stdfs::exists(last_));
  PackLimits small;
  small.file_bytes = 5;
  EXPECT_EQ(std::get<SourceRefusal>(pack(folder(), small)).reason, Reason::snapshot_too_large);
  stdfs::create_directories(dir_ / "empty" / "more");
  EXPECT_EQ(std::get<SourceRefusal>(pack(dir_ / "empty")).reason, Reason::empty_repository);
}

TEST_F(PackFolder, DeepFoldersAreRefusedNotFollowed) {
  stdfs::path deep = folder();
  for (int i = 0; i < 140; ++i) deep /= "d";
  write_text(deep / "f", "x");
  EXPECT_EQ(std::get<SourceRefusal>(pack(folder())).reason, Reason::path_too_long);
}

TEST_F(PackFolder, TakesAFolderOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const auto own = packed(folder());
  tests::shell(dir_.path(), "chown -R 65534:65534 folder");

  EXPECT_EQ(packed(folder()).commit, own.commit);

  tests::make_repository(dir_ / "repository");
  tests::shell(dir_.path(), "chown -R 65534:65534 repository");
  EXPECT_EQ(packed(dir_ / "repository").commit.size(), 40U);
}

TEST_F(PackFolder, ARefNeedsARepository) {
  const auto answer = pack_local_path(folder(), "main", dir_ / "x.pack");
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(std::get<SourceRefusal>(*answer).reason, Reason::ref_not_found);
}

}  // namespace
}  // namespace cupel::source
