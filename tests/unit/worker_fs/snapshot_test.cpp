#include "worker/fs/snapshot.hpp"

#include "tests/support/git_fixture.hpp"
#include "tests/support/temp_dir.hpp"
#include "worker/fs/snapshot_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace cupel::worker {
namespace {

namespace stdfs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::make_repository;
using tests::read_text;
using tests::shell;
using tests::shell_output;

mode_t mode_of(const stdfs::path& path) {
  struct stat info{};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777U;
}

class SnapshotTest : public testing::Test {
 protected:
  void SetUp() override { stdfs::create_directory(parent()); }
  [[nodiscard]] stdfs::path repo() const { return dir_ / "repo"; }
  [[nodiscard]] stdfs::path parent() const { return dir_ / "snapshots"; }

  SnapshotAnswer write(const SnapshotLimits& limits = {}) {
    auto store = source::ObjectStore::open(repo() / ".git" / "objects");
    EXPECT_TRUE(store.has_value());
    const auto id = gitfmt::ObjectId::parse(shell_output(repo(), "git rev-parse HEAD"));
    auto answer = write_snapshot(*store, *id, parent(), limits);
    if (answer) return *std::move(answer);
    ADD_FAILURE() << answer.error().text();
    return SourceRefusal{};
  }
  Snapshot written() {
    auto answer = write();
    if (auto* snapshot = std::get_if<Snapshot>(&answer)) return std::move(*snapshot);
    ADD_FAILURE() << std::get<SourceRefusal>(answer).message;
    return {};
  }
  Reason refused(const SnapshotLimits& limits = {}) {
    auto answer = write(limits);
    EXPECT_TRUE(stdfs::is_empty(parent())) << "a refusal leaves nothing behind";
    const auto* why = std::get_if<SourceRefusal>(&answer);
    return why != nullptr ? why->reason : Reason::none;
  }

  tests::TempDir dir_;
};

TEST_F(SnapshotTest, HoldsTheCommitAndNothingElse) {
  make_repository(repo(),
                  "printf '#!/bin/sh\\n' > run.sh; chmod +x run.sh; mkdir d; echo x > 'd/a b'");
  shell(repo(), "echo later > uncommitted");

  const auto snapshot = written();

  EXPECT_EQ(read_text(snapshot.dir / "ok/ok.go"), "package ok\n");
  EXPECT_EQ(mode_of(snapshot.dir / "ok/ok.go"), 0444U);
  EXPECT_EQ(mode_of(snapshot.dir / "run.sh"), 0555U);
  EXPECT_EQ(mode_of(snapshot.dir / "d"), 0555U);
  EXPECT_EQ(mode_of(snapshot.dir), 0555U);
  EXPECT_FALSE(stdfs::exists(snapshot.dir / ".git"));
  EXPECT_FALSE(stdfs::exists(snapshot.dir / "uncommitted"));
  EXPECT_EQ(snapshot.files, 4U);
  EXPECT_EQ(*tree_digest(snapshot.dir), snapshot.tree);
}

TEST_F(SnapshotTest, EqualCommitsGiveEqualTreesUnderOtherNames) {
  make_repository(repo());
  const auto first = written();
  const auto second = written();
  EXPECT_NE(first.dir, second.dir);
  EXPECT_EQ(first.tree, second.tree);
}

TEST_F(SnapshotTest, TheDigestSeesContentModesAndLinks) {
  make_repository(repo(), "ln -s ok link");
  const auto snapshot = written();
  const auto tampered = [&](const std::string& line) {
    shell(dir_.path(),
          "rm -rf copy; cp -a '" + snapshot.dir.string() + "' copy; chmod -R u+w copy; " + line);
    return *tree_digest(dir_ / "copy") != snapshot.tree;
  };
  EXPECT_FALSE(tampered(":"));
  EXPECT_TRUE(tampered("echo >> copy/go.mod"));
  EXPECT_TRUE(tampered("chmod +x copy/go.mod"));
  EXPECT_TRUE(tampered("ln -sfn other copy/link"));
  EXPECT_TRUE(tampered("rm copy/link"));
  EXPECT_TRUE(tampered("touch copy/more"));
}

TEST_F(SnapshotTest, AttributesChangeNothing) {
  make_repository(repo(),
                  "printf '*.crlf eol=crlf\\n*.id ident\\ngone export-ignore\\n' > .gitattributes;"
                  " printf 'a\\nb\\n' > x.crlf; printf '$Id$\\n' > x.id; echo here > gone");
  const auto snapshot = written();
  EXPECT_EQ(read_text(snapshot.dir / "x.crlf"), "a\nb\n");
  EXPECT_EQ(read_text(snapshot.dir / "x.id"), "$Id$\n");
  EXPECT_EQ(read_text(snapshot.dir / "gone"), "here\n");
}

TEST_F(SnapshotTest, LinksAreKeptAndThoseThatLeaveAreNoted) {
  make_repository(
      repo(),
      "ln -s /etc/passwd ok/pw; ln -s ../../.. ok/up; ln -s loop ok/loop; ln -s .. ok/self");
  const auto snapshot = written();
  EXPECT_EQ(stdfs::read_symlink(snapshot.dir / "ok/pw"), "/etc/passwd");
  EXPECT_THAT(snapshot.notes.escaping_links, ElementsAre("ok/pw", "ok/up"));
}

TEST_F(SnapshotTest, SubmodulesAreEmptyFoldersAndNoted) {
  make_repository(
      repo(),
      "git commit -q --allow-empty -m c0;"
      " git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),third;"
      " printf '[submodule \"third\"]\\n\\tpath = third\\n\\turl = ../sub\\n' > .gitmodules;"
      " mkdir third");
  // The folder is empty, so `git add -A` keeps the link only when it is a repository; write it
  // again.
  shell(repo(),
        "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),third; git commit -q "
        "--amend -m c1");
  const auto snapshot = written();
  EXPECT_THAT(snapshot.notes.submodules, ElementsAre("third"));
  EXPECT_TRUE(stdfs::is_empty(snapshot.dir / "third"));
}

TEST_F(SnapshotTest, HostileSubmodulesAreRefused) {
  make_repository(repo(), "printf '[submodule \"x\"]\\n\\turl = ext::sh -c x\\n' > .gitmodules");
  EXPECT_EQ(refused(), Reason::submodule_untrusted_url);
}

TEST_F(SnapshotTest, LfsPointersAreNoted) {
  make_repository(
      repo(),
      "printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:a7\\nsize 12\\n' > m.bin");
  EXPECT_THAT(written().notes.lfs_pointers, ElementsAre("m.bin"));
}

TEST_F(SnapshotTest, ManifestsAreReadForDiscovery) {
  make_repository(repo(), "mkdir a; echo 'module ex.test/a' > a/go.mod");
  const auto snapshot = written();
  EXPECT_EQ(snapshot.view.manifests.at("a/go.mod"), "module ex.test/a\n");
  EXPECT_EQ(snapshot.view.manifests.at("go.mod"), "module ex.test/r\n\ngo 1.24\n");
}

TEST_F(SnapshotTest, NamesThatAreNoUtf8AreWritten) {
  make_repository(repo(), "touch $'caf\\xe9.txt' $'new\\nline'");
  const auto snapshot = written();
  EXPECT_TRUE(stdfs::exists(snapshot.dir / "caf\xe9.txt"));
  EXPECT_TRUE(stdfs::exists(snapshot.dir / "new\nline"));
}

/// A tree of this kind can only be made by hand: git would not write it.
TEST_F(SnapshotTest, MalformedTreesAreRefused) {
  make_repository(repo());
  const std::string blob = shell_output(repo(), "git rev-parse HEAD:go.mod");
  // printf of the shell wants the bytes of the id as \x escapes.
  std::string escaped;
  for (std::size_t i = 0; i < blob.size(); i += 2) escaped += "\\x" + blob.substr(i, 2);
  const auto commit_with = [&](const std::string& entry) {
    shell(repo(), "printf '" + entry + "\\0" + escaped +
                      "' > ../tree;"
                      " T=$(git hash-object -w --literally -t tree ../tree);"
                      " C=$(git commit-tree -m x $T); git update-ref --no-deref HEAD $C");
  };
  for (const char* entry : {"100644 ..", "100644 .git", "100644 a/b", "100644 .GIT", "100600 a"}) {
    commit_with(entry);
    EXPECT_EQ(refused(), Reason::malformed_tree) << entry;
  }
  commit_with("40000 sub");
  EXPECT_EQ(refused(), Reason::malformed_tree) << "a blob that the tree calls a folder";
}

TEST_F(SnapshotTest, NamesThatDifferInCaseAreRefused) {
  make_repository(repo(), "touch README readme");
  EXPECT_EQ(refused(), Reason::malformed_tree);
}

TEST_F(SnapshotTest, DeepTreesAreRefused) {
  make_repository(repo());
  shell(repo(),
        "T=$(git rev-parse HEAD^{tree}); for i in $(seq 300); do"
        " T=$(printf \"040000 tree $T\\tdddddddddddddddddd\\n\" | git mktree); done;"
        " git update-ref HEAD $(git commit-tree -m deep $T)");
  EXPECT_EQ(refused(), Reason::path_too_long);
}

TEST_F(SnapshotTest, ATreeThatMultipliesIsRefusedBeforeItIsWritten) {
  make_repository(repo());
  shell(repo(),
        "T=$(git rev-parse HEAD^{tree}); for i in $(seq 20); do"
        " T=$(printf \"040000 tree $T\\ta\\n040000 tree $T\\tb\\n040000 tree $T\\tc\\n\" | git "
        "mktree); done;"
        " git update-ref HEAD $(git commit-tree -m bomb $T)");
  EXPECT_EQ(refused(), Reason::snapshot_too_large);
}

TEST_F(SnapshotTest, LimitsOfTheWorkerCount) {
  make_repository(repo(), "head -c 3000 /dev/zero > big");
  SnapshotLimits limits;
  limits.file_bytes = 2999;
  EXPECT_EQ(refused(limits), Reason::snapshot_too_large);
}

TEST_F(SnapshotTest, ADerivedSnapshotSharesWhatDidNotChange) {
  make_repository(repo(), "printf x > run; chmod +x run; ln -s ok link");
  const auto base = written();

  const auto derived = derive_snapshot(
      base.dir, {{"go.mod", "module ex.test/r\n\ngo 1.16\n"}, {"sub/go.sum", "s\n"}}, parent());

  ASSERT_TRUE(derived.has_value()) << derived.error().text();
  EXPECT_EQ(read_text(derived->dir / "go.mod"), "module ex.test/r\n\ngo 1.16\n");
  EXPECT_EQ(read_text(derived->dir / "sub/go.sum"), "s\n");
  EXPECT_EQ(mode_of(derived->dir / "go.mod"), 0444U);
  struct stat one{};
  struct stat other{};
  ::lstat((base.dir / "ok/ok.go").c_str(), &one);
  ::lstat((derived->dir / "ok/ok.go").c_str(), &other);
  EXPECT_EQ(one.st_ino, other.st_ino);
  EXPECT_EQ(stdfs::read_symlink(derived->dir / "link"), "ok");
  EXPECT_EQ(read_text(base.dir / "go.mod"), "module ex.test/r\n\ngo 1.24\n")
      << "the base is untouched";
  EXPECT_EQ(*tree_digest(base.dir), base.tree);
  EXPECT_NE(derived->tree, base.tree);
  EXPECT_EQ(*tree_digest(derived->dir), derived->tree);
}

TEST_F(SnapshotTest, AWriterThatIsNotFinishedLeavesNothing) {
  {
    auto writer = SnapshotWriter::create(parent());
    ASSERT_TRUE(writer.has_value());
    ASSERT_TRUE(writer->add_file("a/b/c", false, "x").has_value());
    EXPECT_FALSE(writer->add_file("a/b/c", false, "y").has_value()) << "never overwritten";
    EXPECT_FALSE(writer->add_file("a/b/c/d", false, "y").has_value());
    EXPECT_FALSE(writer->add_file("../x", false, "y").has_value());
    ASSERT_TRUE(writer->add_link("l", "/tmp").has_value());
    EXPECT_FALSE(writer->add_file("l/x", false, "y").has_value()) << "never through a link";
  }
  EXPECT_TRUE(stdfs::is_empty(parent()));
}

}  // namespace
}  // namespace cupel::worker
