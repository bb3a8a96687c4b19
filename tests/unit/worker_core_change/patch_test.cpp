#include "tests/support/git_fixture.hpp"
#include "tests/support/temp_dir.hpp"
#include "worker/core/change/apply_patch.hpp"
#include "worker/core/change/gomod_edit.hpp"
#include "worker/core/change/text_diff.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace cupel::worker::change {
namespace {

using testing::HasSubstr;

using Tree = std::map<std::string, std::string>;

TreeChange change_between(const Tree& before, const Tree& after) {
  TreeChange change;
  for (const auto& [path, text] : before) change[path].before = text;
  for (const auto& [path, text] : after) change[path].after = text;
  return change;
}

ReadFile reader(const Tree& tree) {
  return [tree](const std::string& path) -> std::optional<TreeFile> {
    const auto found = tree.find(path);
    if (found == tree.end()) return std::nullopt;
    return TreeFile{found->second, false, false};
  };
}

/// The tree that the diff makes of `before`, or the fault.
std::variant<Tree, std::string> applied(const Tree& before, const std::string& diff) {
  const auto patch = text::read_unified_diff(diff);
  if (const auto* fault = std::get_if<text::DiffFault>(&patch)) return fault->text;
  const auto change = apply_patch(std::get<std::vector<text::FileDiff>>(patch), reader(before));
  if (const auto* fault = std::get_if<PatchFault>(&change)) return fault->text;
  Tree after = before;
  for (const auto& [path, file] : std::get<TreeChange>(change)) {
    after.erase(path);
    if (file.after) after[path] = *file.after;
  }
  return after;
}

std::string fault_of(const Tree& before, const std::string& diff) {
  const auto answer = applied(before, diff);
  if (const auto* fault = std::get_if<std::string>(&answer)) return *fault;
  return "applied";
}

/// Pairs of trees that differ in every way a text can.
std::vector<std::pair<Tree, Tree>> trees() {
  std::string many;
  for (int i = 0; i < 60; ++i) many += "line " + std::to_string(i) + "\n";
  std::string other = many;
  other.replace(other.find("line 3\n"), 7, "line three\n");
  other.replace(other.find("line 40\n"), 8, "");
  other.insert(other.find("line 50\n"), "new\nnew\n");
  return {
      {{{"go.mod", "module m\n\ngo 1.24\n\nrequire a v1.0.0\n"}},
       {{"go.mod", "module m\n\ngo 1.25.0\n\nrequire a v1.1.0\n"}}},
      {{{"a", many}}, {{"a", other}}},
      {{{"a", "x\n"}}, {{"a", "x\n"}, {"dir/new", "1\n2\n"}}},
      {{{"a", "x\n"}, {"gone", "1\n"}}, {{"a", "x\n"}}},
      {{{"a", "x"}}, {{"a", "x\n"}}},
      {{{"a", "x\ny\n"}}, {{"a", "x\ny"}}},
      {{{"a", "x"}}, {{"a", "y"}}},
      {{{"a", "one\r\ntwo\r\n"}}, {{"a", "one\r\n2\r\n"}}},
      {{{"a b", "x\n"}, {"\xc3\xa4\"\\", "x\n"}}, {{"a b", "y\n"}, {"\xc3\xa4\"\\", "y\n"}}},
      {{{"a", ""}}, {{"a", "now\n"}}},
      {{{"a", "was\n"}}, {{"a", ""}}},
  };
}

TEST(TextDiff, GitAppliesItByteForByte) {
  std::size_t number = 0;
  for (const auto& [before, after] : trees()) {
    const tests::TempDir dir;
    const auto root = dir / "r";
    std::filesystem::create_directories(root);
    for (const auto& [path, text] : before) tests::write_text(root / path, text);
    const auto diff = unified_diff(change_between(before, after));
    ASSERT_TRUE(diff);
    tests::write_text(dir / "d.patch", *diff);
    tests::shell(root, "git init -q; git apply --whitespace=nowarn ../d.patch");
    for (const auto& [path, text] : after) {
      EXPECT_EQ(tests::read_text(root / path), text) << number << ' ' << path << '\n' << *diff;
    }
    for (const auto& [path, text] : before) {
      EXPECT_EQ(std::filesystem::exists(root / path), after.contains(path)) << number << *diff;
    }
    ++number;
  }
}

TEST(TextDiff, OurOwnApplyReadsIt) {
  for (const auto& [before, after] : trees()) {
    const auto diff = unified_diff(change_between(before, after));
    ASSERT_TRUE(diff);
    EXPECT_EQ(std::get<Tree>(applied(before, *diff)), after) << *diff;
  }
}

TEST(TextDiff, AnyTwoTextsGoThereAndBack) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const auto text = [&] {
      std::string out;
      const auto lines = random() % 30;
      for (unsigned i = 0; i < lines; ++i) out += std::string(1, char('a' + random() % 4)) + "\n";
      if (random() % 4 == 0) out += "end";
      return out;
    };
    const Tree before{{"f", text()}};
    const Tree after{{"f", text()}};
    const auto diff = unified_diff(change_between(before, after));
    ASSERT_TRUE(diff);
    if (before == after) {
      EXPECT_EQ(*diff, "");
      continue;
    }
    const auto answer = applied(before, *diff);
    ASSERT_TRUE(std::holds_alternative<Tree>(answer)) << std::get<std::string>(answer) << *diff;
    EXPECT_EQ(std::get<Tree>(answer), after) << round << '\n' << *diff;
  }
}

TEST(TextDiff, IsTheSmallestForASmallChange) {
  const auto diff =
      unified_diff(change_between({{"go.mod", "module m\n\ngo 1.24\n\nrequire a v1.0.0\n"}},
                                  {{"go.mod", "module m\n\ngo 1.24\n\nrequire a v1.1.0\n"}}));
  EXPECT_EQ(*diff,
            "diff --git a/go.mod b/go.mod\n--- a/go.mod\n+++ b/go.mod\n@@ -2,4 +2,4 @@\n \n go "
            "1.24\n \n-require a v1.0.0\n+require a v1.1.0\n");
}

TEST(TextDiff, BinaryFilesAreRefused) {
  const auto diff = unified_diff(change_between({{"a", std::string("\0", 1)}}, {{"a", "text\n"}}));
  ASSERT_FALSE(diff);
  EXPECT_THAT(diff.error().what, HasSubstr("binary"));
}

TEST(ApplyPatch, TheContextMustBeThere) {
  const Tree tree{{"a", "1\n2\n3\n4\n"}};
  EXPECT_THAT(fault_of(tree, "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n 1\n-two\n+2!\n 3\n"),
              HasSubstr("a:1: the hunk at patch line 3 does not fit"));
  EXPECT_THAT(fault_of(tree, "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n+2\n"),
              HasSubstr("b: no such file"));
  EXPECT_THAT(fault_of(tree, "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+2\n"), HasSubstr("exists"));
  EXPECT_EQ(std::get<Tree>(applied(tree, "text before\n--- a/a\n+++ b/a\n@@ -2 +2 @@\n-2\n+two\n")),
            (Tree{{"a", "1\ntwo\n3\n4\n"}}));
}

TEST(ApplyPatch, AHunkThatMovedIsFoundOnlyWhereItIsUnambiguous) {
  const std::string diff = "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n";
  EXPECT_EQ(std::get<Tree>(applied({{"a", "new\nx\ny\n"}}, diff)), (Tree{{"a", "new\nx\nz\n"}}));
  EXPECT_THAT(fault_of({{"a", "new\nx\ny\nx\ny\n"}}, diff), HasSubstr("does not fit"));
}

TEST(ApplyPatch, OnlyTheLastLineOfAFileHasNoEnd) {
  EXPECT_THAT(fault_of({{"a", "1\n2\n"}},
                       "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n\\ No newline at end of file\n"),
              HasSubstr("a: a line without an end"));
  EXPECT_THAT(fault_of({{"a", "1"}}, "--- a/a\n+++ b/a\n@@ -1,0 +2 @@\n+2\n"),
              HasSubstr("a: a line without an end"));
  EXPECT_EQ(std::get<Tree>(applied({{"a", "1\n2\n"}},
                                   "--- a/a\n+++ b/a\n@@ -2 +2 @@\n-2\n+two\n\\ No newline at "
                                   "end of file\n")),
            (Tree{{"a", "1\ntwo"}}));
}

TEST(ApplyPatch, NoPathLeavesTheTree) {
  for (const char* path :
       {"../a", "a/../../b", "/etc/passwd", ".git/config", "x/.GIT/hooks/h", "a//b", "./a", ""}) {
    const std::string diff =
        std::string("diff --git a/x b/x\n--- /dev/null\n+++ b/") + path + "\n@@ -0,0 +1 @@\n+x\n";
    EXPECT_NE(fault_of({}, diff), "applied") << path;
  }
}

TEST(ApplyPatch, WhatIsNoTextChangeIsRefused) {
  EXPECT_THAT(fault_of({{"a", "x\n"}},
                       "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n"),
              HasSubstr("renames"));
  EXPECT_THAT(fault_of({},
                       "diff --git a/a b/a\nnew file mode 120000\n--- /dev/null\n+++ b/a\n@@ "
                       "-0,0 +1 @@\n+/etc\n"),
              HasSubstr("no plain file"));
  EXPECT_THAT(
      fault_of({}, "diff --git a/a b/a\nnew file mode 100644\nGIT binary patch\nliteral 1\n"),
      HasSubstr("binary"));
  EXPECT_THAT(fault_of({}, "hello\n"), HasSubstr("no file"));
  EXPECT_THAT(fault_of({{"a", "1\n"}}, "--- a/a\n+++ b/a\n@@ -1,5 +1 @@\n-1\n"),
              HasSubstr("shorter"));
}

TEST(ApplyPatch, ALinkIsNoFile) {
  const auto patch = text::read_unified_diff("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n");
  const auto answer = apply_patch(std::get<std::vector<text::FileDiff>>(patch),
                                  [](const std::string&) { return TreeFile{"", false, true}; });
  EXPECT_THAT(std::get<PatchFault>(answer).text, HasSubstr("link"));
}

TEST(GoModEdit, OnlyTheGoLineChanges) {
  EXPECT_EQ(with_go_version("module m\n\ngo  1.24 // why\n\ntoolchain go1.24.1\n", "1.26"),
            "module m\n\ngo  1.26 // why\n\ntoolchain go1.24.1\n");
  EXPECT_EQ(with_go_version("module m\n", "1.26"), "module m\n\ngo 1.26\n");
  EXPECT_EQ(with_go_version("module m\r\n\r\ngo 1.16\r\n", "1.26"), "module m\r\n\r\ngo 1.26\r\n");
}

TEST(GoModEdit, AReplacementTakesThePlaceOfEarlierOnes) {
  EXPECT_EQ(
      with_replacement("module m\n\nreplace a => ./old\n\nrequire a v1.0.0\n", "a", "./new", ""),
      "module m\n\n\nrequire a v1.0.0\n\nreplace a => ./new\n");
  EXPECT_EQ(with_replacement("module m\n\nreplace (\n\ta v1.0.0 => b v1.0.0\n\tc => d v1.0.0\n)\n",
                             "a", "ex.test/f", "v1.2.0"),
            "module m\n\nreplace (\n\tc => d v1.0.0\n)\n\nreplace a => ex.test/f v1.2.0\n");
}

}  // namespace
}  // namespace cupel::worker::change
