#include "common/text/unified_diff.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

namespace cupel::text {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// "LINE:COLUMN: words", or how many files were read.
std::string answer_to(std::string_view diff) {
  const auto read = read_unified_diff(diff);
  if (const auto* files = std::get_if<std::vector<FileDiff>>(&read)) {
    return std::to_string(files->size()) + " files";
  }
  const auto& fault = std::get<DiffFault>(read);
  return std::to_string(fault.line) + ":" + std::to_string(fault.column) + ": " + fault.text;
}

FileDiff only_file(std::string_view diff) {
  const auto read = read_unified_diff(diff);
  const auto* files = std::get_if<std::vector<FileDiff>>(&read);
  if (files == nullptr || files->size() != 1) {
    ADD_FAILURE() << answer_to(diff) << '\n' << diff;
    return {};
  }
  return files->front();
}

std::string signs_and_lines(const FileDiff& file) {
  std::string out;
  for (const Hunk& hunk : file.hunks) {
    for (const DiffLine& line : hunk.lines) out += line.sign + line.text + "|";
  }
  return out;
}

struct BadDiff {
  const char* name;
  const char* diff;
  const char* answer;
};
void PrintTo(const BadDiff& bad, std::ostream* out) {
  *out << bad.name;
}

class BadDiffs : public ::testing::TestWithParam<BadDiff> {};

TEST_P(BadDiffs, AreRefusedWithTheirPlace) {
  EXPECT_THAT(answer_to(GetParam().diff), StartsWith(GetParam().answer));
}

INSTANTIATE_TEST_SUITE_P(
    UnifiedDiff, BadDiffs,
    ::testing::Values(
        BadDiff{"empty", "", "0:0: the patch changes no file"},
        BadDiff{"prose", "hello\n", "0:0: the patch changes no file"},
        BadDiff{"counts_too_high", "--- a/x\n+++ b/x\n@@ -1,5 +1 @@\n-1\n+2\n",
                "3:1: a hunk shorter than its header says"},
        BadDiff{"counts_too_high_before_a_file",
                "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-1\n+2\ndiff --git a/y b/y\n",
                "3:1: a hunk shorter than its header says"},
        BadDiff{"counts_too_low", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n+3\n",
                "6:1: a hunk longer than its header says"},
        BadDiff{"counts_too_low_behind_a_blank_line",
                "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n\n 3\n",
                "7:1: a hunk longer than its header says"},
        BadDiff{"one_count_too_low", "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-1\n-2\n+3\n+4\n",
                "5:1: a hunk longer than its header says"},
        BadDiff{"no_counts", "--- a/x\n+++ b/x\n@@ -one +1 @@\n-1\n+2\n",
                "3:1: a malformed hunk header"},
        BadDiff{"huge_count", "--- a/x\n+++ b/x\n@@ -1,99999999999999999999999 +1 @@\n-1\n",
                "3:1: a malformed hunk header"},
        BadDiff{"line_0", "--- a/x\n+++ b/x\n@@ -0 +1 @@\n-1\n+2\n",
                "3:1: a hunk that begins at line 0"},
        BadDiff{"old_lines_of_a_new_file", "--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n",
                "3:1: a new file has no old lines"},
        BadDiff{"new_lines_of_a_deleted_file", "--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-1\n+2\n",
                "3:1: a deleted file has no new lines"},
        BadDiff{"missing_header", "@@ -1 +1 @@\n-1\n+2\n",
                "1:1: a hunk without '---' and '+++' lines before it"},
        BadDiff{"missing_header_of_the_second_file",
                "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\ndiff --git a/y b/y\n@@ -1 +1 @@\n-1\n+2\n",
                "7:1: a hunk without '---' and '+++' lines before it"},
        BadDiff{"half_a_header", "--- a/x\n@@ -1 +1 @@\n-1\n+2\n",
                "2:1: a hunk without '---' and '+++' lines before it"},
        BadDiff{"header_without_a_hunk", "--- a/x\n+++ b/x\n", "1:1: x: nothing of it is changed"},
        BadDiff{"git_header_alone", "diff --git a/x b/x\nindex 1..2 100644\n",
                "1:1: x: nothing of it is changed"},
        BadDiff{"git_binary",
                "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZ\n",
                "3:1: binary content"},
        BadDiff{"binary_of_diff", "diff -r a/x b/x\nBinary files a/x and b/x differ\n",
                "2:1: binary content"},
        BadDiff{"rename", "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
                "3:1: renames and copies"},
        BadDiff{"rename_by_names", "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n",
                "2:5: renames are not supported"},
        BadDiff{"merge", "diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n",
                "1:1: the diff of a merge"},
        BadDiff{"link", "diff --git a/x b/x\nnew file mode 120000\n",
                "2:1: mode 120000 is no plain file"},
        BadDiff{"parent", "--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-1\n+2\n",
                "1:5: '../x' is no path below the root"},
        BadDiff{"absolute", "--- /dev/null\n+++ /etc/passwd\n@@ -0,0 +1 @@\n+2\n",
                "2:5: '/etc/passwd' is no path below the root"},
        BadDiff{"git_folder", "--- /dev/null\n+++ b/x/.Git/hooks/h\n@@ -0,0 +1 @@\n+2\n",
                "2:5: 'x/.Git/hooks/h' is no path below the root"},
        BadDiff{"parent_by_mode_alone", "diff --git a/../x b/../x\nnew mode 100755\n",
                "1:1: '../x' is no path below the root"},
        BadDiff{"nowhere", "--- /dev/null\n+++ /dev/null\n@@ -0,0 +0,0 @@\n",
                "1:1: a file without a name"},
        BadDiff{"quoted", "--- \"a/\\q\"\n+++ \"b/x\"\n", "1:5: a malformed name"},
        BadDiff{"twice",
                "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n--- a/x\n+++ b/x\n@@ -5 +5 @@\n-1\n+2\n",
                "6:1: x: named twice"},
        BadDiff{"line_behind_the_last",
                "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-1\n+2\n\\ No newline at end of file\n+3\n",
                "7:1: a line behind the last one of its file"},
        BadDiff{"end_mark_first", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n\\ No newline at end of file\n",
                "4:1: '\\' without a line before it"}),
    [](const auto& made) { return std::string(made.param.name); });

TEST(UnifiedDiff, NamesMayHaveNoPrefixes) {
  EXPECT_EQ(only_file("--- x/y\n+++ x/y\n@@ -1 +1 @@\n-1\n+2\n").path(), "x/y");
  EXPECT_EQ(only_file("--- a/x\n+++ a/x\n@@ -1 +1 @@\n-1\n+2\n").path(), "a/x");
  EXPECT_EQ(only_file("diff --git b/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n"
                      "@@ -0,0 +1 @@\n+2\n")
                .path(),
            "b/x");
  EXPECT_EQ(only_file("--- x\t2026-01-01 00:00:00\n+++ x\t2026-01-02 00:00:00\n@@ -1 +1 @@\n-1\n"
                      "+2\n")
                .path(),
            "x");
}

TEST(UnifiedDiff, LineEndsOfWindowsBelongToTheLines) {
  const FileDiff file =
      only_file("--- a/x\r\n+++ b/x\r\n@@ -1,2 +1,2 @@\r\n-1\r\n+2\r\n\r\n-- \r\n2.39\r\n");

  EXPECT_EQ(file.path(), "x");
  EXPECT_EQ(signs_and_lines(file), "-1\r\n|+2\r\n| \r\n|");
}

TEST(UnifiedDiff, OnlyItsOwnLineSaysThatAFileHasNoLastLineEnd) {
  EXPECT_EQ(signs_and_lines(only_file("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n\\ No newline at end of "
                                      "file\n+2\n\\ No newline at end of file")),
            "-1|+2|");
  // An editor that ends the diff itself without one says nothing about the file.
  EXPECT_EQ(signs_and_lines(only_file("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2")), "-1\n|+2\n|");
}

TEST(UnifiedDiff, TextAroundItIsPassedOver) {
  EXPECT_EQ(
      answer_to("From: a <a@example.com>\nSubject: x\n\n---\n x | 2 +-\n\ndiff --git a/x b/x\n"
                "index 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@ func f()\n-1\n+2\n-- \n2.39.5"
                "\n\nFrom: a <a@example.com>\n\ndiff --git a/y b/y\nold mode 100644\nnew mode "
                "100755\ndiff --git a/z b/z\ndeleted file mode 100644\nindex e69de29..0000000\n"),
      "3 files");
}

TEST(UnifiedDiff, FilesBeginAndEndWithoutAWordOfGit) {
  const auto read = read_unified_diff(
      "diff -ru a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n@@ -9,0 +9 @@\n+3\n--- /dev/null\n"
      "+++ b/y\n@@ -0,0 +1 @@\n+1\n--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n--- deleted\n");

  const auto& files = std::get<std::vector<FileDiff>>(read);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0].hunks.size(), 2U);
  EXPECT_EQ(files[1].old_path, "");
  EXPECT_EQ(files[2].new_path, "");
  EXPECT_EQ(signs_and_lines(files[2]), "--- deleted\n|");
}

}  // namespace
}  // namespace cupel::text
