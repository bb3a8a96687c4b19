#include "common/source/pack.hpp"

#include "common/source/object_store.hpp"
#include "tests/support/git_fixture.hpp"
#include "tests/support/temp_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sys/resource.h>

namespace cupel::source {
namespace {

namespace stdfs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::make_repository;
using tests::shell;
using tests::shell_output;
using tests::write_text;

class PackGit : public testing::Test {
 protected:
  [[nodiscard]] stdfs::path repo() const { return dir_ / "repo"; }

  PackAnswer pack(const std::string& ref = "", const PackLimits& limits = {}) {
    stdfs::remove(out());
    auto answer = pack_local_path(repo(), ref, out(), limits);
    if (!answer) {
      ADD_FAILURE() << answer.error().text();
      return SourceRefusal{};
    }
    return *answer;
  }

  PackedSource packed(const std::string& ref = "") {
    auto answer = pack(ref);
    if (const auto* refused = std::get_if<SourceRefusal>(&answer)) {
      ADD_FAILURE() << refused->message;
      return {};
    }
    return std::get<PackedSource>(answer);
  }

  SourceRefusal refused(const std::string& ref = "", const PackLimits& limits = {}) {
    auto answer = pack(ref, limits);
    if (std::holds_alternative<PackedSource>(answer)) {
      ADD_FAILURE() << "packed";
      return {};
    }
    EXPECT_FALSE(stdfs::exists(out())) << "a refused source leaves no file";
    return std::get<SourceRefusal>(answer);
  }

  /// The paths that a reader finds in the pack.
  std::vector<std::string> paths_in_pack(const std::string& commit) {
    const auto work = dir_ / ("index-" + fs::random_hex(4));
    stdfs::create_directory(work);
    auto store = ObjectStore::open_pack(out(), work);
    if (!store) {
      ADD_FAILURE() << store.error().text();
      return {};
    }
    auto tree = read_tree(*store, *gitfmt::ObjectId::parse(commit));
    std::vector<std::string> paths;
    if (!tree) {
      ADD_FAILURE() << tree.error().text();
    } else if (const auto* why = std::get_if<SourceRefusal>(&*tree)) {
      ADD_FAILURE() << why->message;
    } else {
      for (const auto& entry : std::get<0>(*tree)) paths.push_back(entry.path);
    }
    return paths;
  }

  [[nodiscard]] stdfs::path out() const { return dir_ / "source.pack"; }

  tests::TempDir dir_;
};

TEST_F(PackGit, TakesTheCommitOfHeadWithItsTreeOnly) {
  make_repository(repo());
  shell(repo(), "echo x > later; git add -A; git commit -q -m c2; echo y > uncommitted");

  const auto source = packed();

  EXPECT_EQ(source.commit, shell_output(repo(), "git rev-parse HEAD"));
  EXPECT_EQ(source.bytes, stdfs::file_size(out()));
  EXPECT_EQ(source.digest, sha256(tests::read_text(out())));
  EXPECT_THAT(paths_in_pack(source.commit), ElementsAre("go.mod", "later", "ok/ok.go"));
}

TEST_F(PackGit, WritesAPackThatGitAccepts) {
  make_repository(repo());
  const auto source = packed();
  shell(dir_.path(),
        "git init -q --bare other; git --git-dir=other unpack-objects -q < source.pack");
  EXPECT_EQ(shell_output(dir_.path(), "git --git-dir=other show " + source.commit + ":ok/ok.go"),
            "package ok");
}

TEST_F(PackGit, EqualCommitsGiveEqualDigests) {
  make_repository(repo());
  const auto first = packed();
  shell(repo(), "git gc -q");
  EXPECT_EQ(packed().digest, first.digest);
}

TEST_F(PackGit, FindsBranchesTagsFullNamesAndIds) {
  make_repository(repo());
  shell(repo(),
        "git tag light; git tag -a -m t annotated; git tag -a -m tt outer annotated;"
        " git branch other/name; git pack-refs --all; git branch later");
  const std::string head = shell_output(repo(), "git rev-parse HEAD");
  for (const std::string& ref :
       {std::string("main"), std::string("HEAD"), std::string("light"), std::string("annotated"),
        std::string("outer"), std::string("other/name"), std::string("later"),
        std::string("refs/heads/main"), std::string("heads/main"), head, head.substr(0, 8)}) {
    EXPECT_EQ(packed(ref).commit, head) << ref;
  }
}

TEST_F(PackGit, ATagWinsOverABranchOfOneNameWithANote) {
  make_repository(repo());
  shell(repo(), "git tag both; git commit -q --allow-empty -m c2; git branch both");
  const auto source = packed("both");
  EXPECT_EQ(source.commit, shell_output(repo(), "git rev-parse refs/tags/both^{commit}"));
  EXPECT_THAT(source.notes, ElementsAre(HasSubstr("refs/heads/both")));
}

TEST_F(PackGit, AFullIdNamesTheObjectEvenWhenABranchIsCalledLikeIt) {
  make_repository(repo());
  const std::string first = shell_output(repo(), "git rev-parse HEAD");
  shell(repo(), "git commit -q --allow-empty -m c2; git update-ref refs/heads/" + first + " HEAD");
  EXPECT_EQ(packed(first).commit, first);
}

TEST_F(PackGit, RefsThatAreNoneAreRefused) {
  make_repository(repo());
  shell(repo(), "git tag blobtag HEAD:go.mod; git tag treetag HEAD^{tree}");
  for (const char* ref : {"nowhere", "../../HEAD", "refs/heads/../../config", "-rf", "main^",
                          "0123456789012345678901234567890123456789"}) {
    EXPECT_EQ(refused(ref).reason, Reason::ref_not_found) << ref;
  }
  EXPECT_THAT(refused("blobtag").message, HasSubstr("not_a_commit"));
  EXPECT_EQ(refused("treetag").reason, Reason::ref_not_found);
}

TEST_F(PackGit, AnUnbornBranchIsAnEmptyRepository) {
  stdfs::create_directories(repo());
  shell(repo(), "git init -q");
  EXPECT_EQ(refused().reason, Reason::empty_repository);
}

TEST_F(PackGit, AnUnbornBranchBesideOthersIsNamed) {
  make_repository(repo());
  shell(repo(), "git symbolic-ref HEAD refs/heads/nothing");
  EXPECT_EQ(refused().reason, Reason::empty_repository);
  EXPECT_THAT(refused().message, HasSubstr("HEAD names refs/heads/nothing"));
  EXPECT_EQ(packed("main").commit.size(), 40U);
}

TEST_F(PackGit, OtherObjectFormatsAreRefused) {
  stdfs::create_directories(repo());
  shell(repo(), "git init -q --object-format=sha256; git commit -q --allow-empty -m x");
  const auto why = refused();
  EXPECT_EQ(why.reason, Reason::unsupported_object_format);
  EXPECT_THAT(why.findings.at(0).message, HasSubstr("unknown object format 'sha256'"));
}

TEST_F(PackGit, ConfigurationThatRunsProgramsIsRefusedAndNeverRun) {
  make_repository(repo());
  shell(repo(), "git config core.fsmonitor 'touch \"$FOLDER/ran\"'");
  const auto why = refused();
  EXPECT_EQ(why.reason, Reason::hostile_git_config);
  EXPECT_EQ(why.findings.at(0).kind, FindingKind::security);
  EXPECT_THAT(why.message, HasSubstr("core.fsmonitor"));
  EXPECT_FALSE(stdfs::exists(repo() / "ran"));
}

TEST_F(PackGit, ConfigurationOfAWorkTreeIsReadToo) {
  make_repository(repo());
  write_text(repo() / ".git" / "config.worktree", "[core]\n\tsshCommand = x\n");
  EXPECT_EQ(refused().reason, Reason::hostile_git_config);
}

TEST_F(PackGit, AConfigurationThatIsALinkIsRefused) {
  make_repository(repo());
  shell(repo(), "mv .git/config ../config; ln -s /etc/hostname .git/config");
  EXPECT_EQ(refused().reason, Reason::hostile_git_config);
}

TEST_F(PackGit, HooksAreHarmless) {
  make_repository(repo());
  shell(repo(),
        "git config core.hooksPath .githooks; mkdir -p .git/hooks;"
        " printf '#!/bin/sh\\ntouch x' > .git/hooks/post-checkout; chmod +x .git/hooks/*");
  EXPECT_FALSE(packed().commit.empty());
}

TEST_F(PackGit, ReplacementsAndGraftsAreIgnored) {
  make_repository(repo());
  shell(repo(),
        "A=$(git rev-parse HEAD); echo evil > ok/ok.go; git commit -q -a -m evil;"
        " B=$(git rev-parse HEAD); git reset -q --hard $A; git replace $A $B");
  const auto source = packed();
  const auto work = dir_ / "w";
  stdfs::create_directory(work);
  auto store = ObjectStore::open_pack(out(), work);
  ASSERT_TRUE(store.has_value());
  auto tree = read_tree(*store, *gitfmt::ObjectId::parse(source.commit));
  const auto& entries = std::get<0>(*tree);
  EXPECT_EQ(store->read(entries.at(1).id, 100)->bytes, "package ok\n");
}

TEST_F(PackGit, AGitfileThatLeadsOutsideIsRefused) {
  make_repository(repo());
  shell(repo(), "mv .git ../elsewhere.git; echo \"gitdir: ../elsewhere.git\" > .git");
  const auto why = refused();
  EXPECT_EQ(why.reason, Reason::gitdir_outside);
  EXPECT_THAT(why.message, HasSubstr("gitdir"));
}

TEST_F(PackGit, AGitfileThatStaysInsideIsFollowed) {
  make_repository(repo());
  shell(repo(), "mv .git .real; echo 'gitdir: .real' > .git");
  EXPECT_FALSE(packed().commit.empty());
}

TEST_F(PackGit, AGitFolderThatIsALinkIsRefused) {
  make_repository(repo());
  shell(repo(), "mv .git ../elsewhere.git; ln -s ../elsewhere.git .git");
  EXPECT_EQ(refused().reason, Reason::gitdir_outside);
}

TEST_F(PackGit, AlternatesOutsideAreRefusedAndInsideAreRead) {
  make_repository(repo());
  shell(
      repo(),
      "cp -r .git/objects ../objects; echo \"$FOLDER/../objects\" > .git/objects/info/alternates");
  EXPECT_EQ(refused().reason, Reason::alternates_outside);
  shell(repo(),
        "mkdir .git/more; mv .git/objects/?? .git/more/; echo ../more > "
        ".git/objects/info/alternates");
  EXPECT_FALSE(packed().commit.empty());
}

TEST_F(PackGit, AFolderOfObjectsThatIsALinkIsRefused) {
  make_repository(repo());
  shell(repo(), "mv .git/objects ../objects; ln -s ../../objects .git/objects");
  EXPECT_EQ(refused().reason, Reason::alternates_outside);
}

TEST_F(PackGit, MissingObjectsAreNeverFetched) {
  make_repository(dir_ / "full");
  shell(dir_.path(),
        "git -C full config uploadpack.allowFilter true;"
        " git clone -q --no-checkout --filter=blob:none \"file://$FOLDER/full\" repo");
  const auto why = refused();
  EXPECT_EQ(why.reason, Reason::acquire_incomplete);
  EXPECT_EQ(why.findings.at(0).kind, FindingKind::acquire_error);
  EXPECT_THAT(why.message, HasSubstr("object not found"));
}

TEST_F(PackGit, ADamagedObjectIsNoWrongContent) {
  make_repository(repo());
  shell(repo(),
        "f=.git/objects/$(git rev-parse HEAD:go.mod | sed 's,^..,&/,');"
        " g=.git/objects/$(git rev-parse HEAD:ok/ok.go | sed 's,^..,&/,'); chmod u+w $f; cp $g $f");
  EXPECT_EQ(refused().reason, Reason::malformed_tree);
}

TEST_F(PackGit, BareRepositoriesAreRead) {
  make_repository(dir_ / "work");
  shell(dir_.path(), "git clone -q --bare work repo");
  EXPECT_EQ(packed("main").commit, shell_output(dir_ / "work", "git rev-parse HEAD"));
}

TEST_F(PackGit, LimitsAreCheckedBeforeAnythingIsKept) {
  make_repository(repo(),
                  "for i in 1 2 3 4 5; do echo $i > f$i; done; head -c 5000 /dev/zero > big");
  PackLimits few;
  few.files = 3;
  EXPECT_EQ(refused("", few).reason, Reason::snapshot_too_large);
  PackLimits small;
  small.file_bytes = 4999;
  EXPECT_THAT(refused("", small).message, HasSubstr("big"));
  PackLimits total;
  total.bytes = 5000;
  EXPECT_EQ(refused("", total).reason, Reason::snapshot_too_large);
  PackLimits pack_size;
  pack_size.pack_bytes = 100;
  EXPECT_EQ(refused("", pack_size).reason, Reason::snapshot_too_large);
}

TEST_F(PackGit, AnExistingFileIsNeverOverwritten) {
  make_repository(repo());
  write_text(out(), "mine");
  const auto answer = pack_local_path(repo(), "", out());
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Errc::already_exists);
  EXPECT_EQ(tests::read_text(out()), "mine");
}

TEST_F(PackGit, AMissingFolderIsAnError) {
  const auto answer = pack_local_path(dir_ / "nothing", "", out());
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Errc::not_found);
}

TEST_F(PackGit, TruncatedAndForeignPacksAreErrors) {
  make_repository(repo());
  static_cast<void>(packed());
  const std::string whole = tests::read_text(out());
  for (const std::string& bytes : {whole.substr(0, whole.size() / 2), std::string("no pack"),
                                   std::string(), whole.substr(0, whole.size() - 1)}) {
    const auto work = dir_ / ("x-" + fs::random_hex(4));
    stdfs::create_directory(work);
    write_text(dir_ / "bad.pack", bytes);
    const auto store = ObjectStore::open_pack(dir_ / "bad.pack", work);
    ASSERT_FALSE(store.has_value());
    EXPECT_EQ(store.error().code, Errc::bad_value);
  }
}

/// No file of this process grows beyond so many bytes: as on a full disk, but for the number.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    static_cast<void>(std::signal(SIGXFSZ, handler_));
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = SIG_DFL;
};

TEST_F(PackGit, AHostWithoutRoomIsNoFaultOfThePack) {
  make_repository(repo());
  static_cast<void>(packed());
  const auto work = dir_ / "work";
  stdfs::create_directory(work);

  const auto store = [&] {
    const FileSizeLimit limit(16);
    return ObjectStore::open_pack(out(), work);
  }();

  ASSERT_FALSE(store.has_value());
  EXPECT_TRUE(is_of_host(store.error())) << store.error().text();
}

}  // namespace
}  // namespace cupel::source
