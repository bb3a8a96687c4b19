#include "worker/core/source/admission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::worker {
namespace {

using namespace std::string_literals;
using gitfmt::kModeFile;
using gitfmt::kModeLink;
using gitfmt::TreeEntry;
using testing::HasSubstr;

TreeEntry file(std::string path, std::uint64_t size = 1) {
  return {std::move(path), kModeFile, {}, size};
}

Reason reason(const std::vector<TreeEntry>& entries, const SnapshotLimits& limits = {}) {
  const auto refused = admit(entries, limits);
  return refused ? refused->reason : Reason::none;
}

TEST(Admission, OrdinaryAndOddNamesAreFine) {
  EXPECT_EQ(
      reason({file("go.mod"), file("a/b.go"), file("caf\xe9.txt"), file("new\nline"), file("-o"),
              file("trail "), file("x.git"), file(".github/x"), file(".gitignore"), file("...")}),
      Reason::none);
}

TEST(Admission, NamesThatGitItselfRefusesAreRefusedWithThePath) {
  for (const std::string& path :
       {"a/../b"s, ".."s, "a/./b"s, "a//b"s, "/a"s, "a/"s, ""s, ".git/config"s, "a/.GIT/x"s,
        "a\0b"s, ".git "s, ".git."s, ".git::$INDEX_ALLOCATION/x"s, "GIT~1/x"s,
        ".g\xe2\x80\x8cit/x"s}) {
    EXPECT_EQ(reason({file(path)}), Reason::malformed_tree) << path;
  }
  EXPECT_THAT(admit({file("a/.git/hooks/x")}, {})->message, HasSubstr("a/.git/hooks/x"));
}

TEST(Admission, NamesThatDifferOnlyInCaseAreRefused) {
  EXPECT_EQ(reason({file("README.md"), file("readme.md")}), Reason::malformed_tree);
  EXPECT_EQ(reason({file("A/x"), file("a/y")}), Reason::malformed_tree);
  EXPECT_EQ(reason({file("\xc3\x89t\xc3\xa9"), file("\xc3\xa9t\xc3\xa9")}), Reason::malformed_tree);
  EXPECT_EQ(reason({file("a/x"), file("a/y"), file("b/x")}), Reason::none);
  EXPECT_THAT(admit({file("b/File"), file("b/file")}, {})->message, HasSubstr("b/File"));
}

TEST(Admission, APathCanOnlyStandOnce) {
  EXPECT_EQ(reason({file("a"), file("a")}), Reason::malformed_tree);
  EXPECT_EQ(reason({file("a"), file("a/b")}), Reason::malformed_tree);
}

TEST(Admission, ModesAreThoseThatGitWrites) {
  EXPECT_EQ(reason({{"a", 0100664, {}, 1}, {"b", 0100755, {}, 1}, {"c", 0160000, {}, 0}}),
            Reason::none);
  for (const std::uint32_t mode : {0100600U, 0100777U, 0010644U, 0060000U, 0U, 0140000U}) {
    EXPECT_EQ(reason({{"a", mode, {}, 1}}), Reason::malformed_tree) << mode;
  }
}

TEST(Admission, LimitsHoldExactly) {
  SnapshotLimits limits;
  limits.files = 2;
  limits.bytes = 10;
  limits.file_bytes = 6;
  EXPECT_EQ(reason({file("a", 6), file("b", 4)}, limits), Reason::none);
  EXPECT_EQ(reason({file("a", 6), file("b", 5)}, limits), Reason::snapshot_too_large);
  EXPECT_EQ(reason({file("a", 7)}, limits), Reason::snapshot_too_large);
  EXPECT_EQ(reason({file("a"), file("b"), file("c")}, limits), Reason::snapshot_too_large);
  SnapshotLimits paths;
  paths.path_bytes = 8;
  paths.component_bytes = 4;
  paths.depth = 3;
  EXPECT_EQ(reason({file("abcd/efg")}, paths), Reason::none);
  EXPECT_EQ(reason({file("abcd/efgh")}, paths), Reason::path_too_long);
  EXPECT_EQ(reason({file("abcde")}, paths), Reason::path_too_long);
  EXPECT_EQ(reason({file("a/b/c/d")}, paths), Reason::path_too_long);
}

TEST(Admission, LfsPointersAreToldByTheirContent) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:a7da80fc\nsize 1465634\n";
  EXPECT_TRUE(is_lfs_pointer(pointer));
  EXPECT_FALSE(is_lfs_pointer("x" + pointer));
  EXPECT_FALSE(is_lfs_pointer("version https://git-lfs.github.com/spec/v1\n"));
  EXPECT_FALSE(is_lfs_pointer(pointer + std::string(2000, 'x')));
  EXPECT_FALSE(is_lfs_pointer(""));
}

TEST(Admission, LinksThatLeaveTheTreeAreSeen) {
  const std::map<std::string, std::string> links = {
      {"ok/self", ".."}, {"ok/loop", "loop"}, {"deep/out", "../.."}, {"a/via", "../deep/out/x"}};
  EXPECT_TRUE(link_escapes("ok/pw", "/etc/passwd", links));
  EXPECT_TRUE(link_escapes("ok/up", "../../x", links));
  EXPECT_TRUE(link_escapes("ok/back", "../../tree/ok", links));
  EXPECT_TRUE(link_escapes("deep/out", "../..", links));
  EXPECT_TRUE(link_escapes("a/via", "../deep/out/x", links)) << "by way of another link";
  EXPECT_TRUE(link_escapes("ok/through", "self/../x", links))
      << "the parent of what the link names";
  EXPECT_FALSE(link_escapes("ok/self", "..", links));
  EXPECT_FALSE(link_escapes("ok/loop", "loop", links));
  EXPECT_FALSE(link_escapes("ok/dangling", "nowhere/at/all", links));
  EXPECT_FALSE(link_escapes("ok/inside", "../ok/x", links));
}

TEST(Admission, SubmodulesWithHostileUrlsAreRefused) {
  EXPECT_FALSE(judge_gitmodules("[submodule \"a\"]\n\tpath = a\n\turl = ../sub\n").has_value());
  EXPECT_FALSE(
      judge_gitmodules("[submodule \"a\"]\n\tpath = a\n\turl = https://ex.test/a\n").has_value());
  EXPECT_FALSE(judge_gitmodules("not a config").has_value());
  for (const char* text :
       {"[submodule \"a\"]\n\turl = ext::sh -c x\n", "[submodule \"a\"]\n\turl = -u/x\n",
        "[submodule \"a\"]\n\turl = file:///etc\n", "[submodule \"../a\"]\n\turl = ../x\n",
        "[submodule \"a\"]\n\tpath = -x\n", "[submodule \"a\"]\n\tupdate = !touch x\n"}) {
    const auto refused = judge_gitmodules(text);
    ASSERT_TRUE(refused.has_value()) << text;
    EXPECT_EQ(refused->reason, Reason::submodule_untrusted_url);
    EXPECT_EQ(refused->findings.at(0).line, 2);
  }
}

TEST(Admission, NotesOfLinksGoToTheirUnit) {
  SnapshotNotes notes;
  notes.escaping_links = {"a/x", "b/x", "x"};
  const std::vector<std::string> dirs = {".", "a"};
  ASSERT_EQ(link_notes(notes, "a", dirs).size(), 1U);
  EXPECT_THAT(link_notes(notes, "a", dirs)[0].message, HasSubstr("symlink_escapes_tree: a/x"));
  EXPECT_EQ(link_notes(notes, ".", dirs).size(), 2U);
}

TEST(Admission, PathsAreShownAsText) {
  EXPECT_EQ(shown_path("caf\xe9"), "caf?");
  EXPECT_EQ(shown_path("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(shown_path("a\nb\x1b"), "a?b?");
  EXPECT_EQ(shown_path(std::string(300, 'x')).size(), 203U);
}

}  // namespace
}  // namespace cupel::worker
