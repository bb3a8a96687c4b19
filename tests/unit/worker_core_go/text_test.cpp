#include "worker/core/go/text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cupel::worker::go {
namespace {

TEST(CleanText, ReplacesWhatIsNoUtf8ByteForByteAsGoDoes) {
  EXPECT_EQ(to_utf8("a\xff\xc3z"), "a\xEF\xBF\xBD\xEF\xBF\xBDz");
  EXPECT_EQ(to_utf8("\xed\xa0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
  EXPECT_EQ(to_utf8("na\xC3\xAFve \xE4\xB8\x96"), "na\xC3\xAFve \xE4\xB8\x96");
}

TEST(CleanText, DropsTerminalEscapesProgressAndControlCharacters) {
  EXPECT_EQ(clean("\x1b[31mred\x1b[0m", 100), "red");
  EXPECT_EQ(clean("\x1b]0;title\atext", 100), "text");
  EXPECT_EQ(clean("10%\r50%\r100%\nend", 100), "100%\nend");
  EXPECT_EQ(clean("dos\r\nline\r\n", 100), "dos\nline\n");
  EXPECT_EQ(clean(std::string_view("a\0b\x01"
                                   "c\td",
                                   7),
                  100),
            "a\xEF\xBF\xBD"
            "bc\td");
}

TEST(CleanText, EndsWithAnEscapeThatIsCutOff) {
  EXPECT_EQ(clean("a\x1b", 10), "a");
  EXPECT_EQ(clean("a\x1b[", 10), "a");
  EXPECT_EQ(clean("a\x1b]0;t", 10).substr(0, 1), "a");
}

TEST(CleanText, CutsOnACharacterBoundary) {
  EXPECT_EQ(clean("\xE4\xB8\x96\xE4\xB8\x96", 4), "\xE4\xB8\x96");
  EXPECT_EQ(clean("abc", 0), "");
  EXPECT_LE(clean_name(std::string(10'000, 'x')).size(), 4096U);
}

TEST(SplitPosition, ReadsFileLineAndColumn) {
  const Position position = split_position("lib/lib.go:3:23: undefined: missing");
  EXPECT_EQ(position.file, "lib/lib.go");
  EXPECT_EQ(position.line, 3);
  EXPECT_EQ(position.column, 23);
  EXPECT_EQ(position.rest, "undefined: missing");
}

TEST(SplitPosition, LeavesOtherTextAlone) {
  EXPECT_EQ(split_position("panic: 12").line, 0);
  EXPECT_EQ(split_position("panic: 12").rest, "panic: 12");
  EXPECT_EQ(split_position("").line, 0);
  EXPECT_EQ(split_position(":12: x").line, 0);
  EXPECT_EQ(split_position("a.go:99999999999999999999: x").line, 0);
}

TEST(SaysNoSpace, InAnyLanguageButNotInQuotes) {
  EXPECT_TRUE(says_no_space("write /tmp/x: no space left on device"));
  EXPECT_TRUE(says_no_space("ld: final link failed: No space left on device"));
  EXPECT_TRUE(says_no_space("no space left on device"));
  EXPECT_TRUE(says_no_space("java.io.IOException (No space left on device)"));
  EXPECT_TRUE(says_no_space("wanted \"no space left on device\", got no space left on device"));
  EXPECT_FALSE(says_no_space("wanted \"no space left on device\", got nil"));
  EXPECT_FALSE(says_no_space("wanted `No space left on device`"));
  EXPECT_FALSE(says_no_space("there is space left on device"));
  EXPECT_FALSE(says_no_space("o space left on device"));
}

TEST(Normalise, ForgetsWhatDiffersFromRunToRun) {
  EXPECT_EQ(normalise("p_test.go:13: red"), "p_test.go: red");
  EXPECT_EQ(normalise("a/b.go:3:23: undefined: x"), "a/b.go: undefined: x");
  EXPECT_EQ(normalise("T(0xc000123488, {0x550fc0?, 0x1})"), "T(0x?, {0x?, 0x?})");
  EXPECT_EQ(normalise("goroutine 19 [chan receive, 5 minutes]:"), "goroutine ? [chan receive]:");
  EXPECT_EQ(normalise("took 1.25s, then 3m0.5s and 20ms"),
            "took <duration>, then <duration> and <duration>");
  EXPECT_EQ(normalise("2026/11/29 16:19:10 cannot go on"), "<time> cannot go on");
  EXPECT_EQ(normalise("at 2026-11-29T16:19:10.123Z."), "at <time>.");
  EXPECT_EQ(normalise("open /tmp/TestA2047255761/001/big: no"), "open /tmp/TestA?/?/big: no");
  EXPECT_EQ(normalise("/tmp/go-build2018421053/b001/p.test"), "/tmp/go-build?/b?/p.test");
  EXPECT_EQ(normalise("dial 10.255.255.53:53 and 127.0.0.1:41234"), "dial <address> and <address>");
  EXPECT_EQ(normalise("[::1]:8080 and localhost:9"), "[::1]:? and localhost:?");
}

TEST(Normalise, ForgetsTheMountsAndModuleVersions) {
  EXPECT_EQ(normalise("\t/src/p/p_test.go:7 +0x25"), "\tp/p_test.go +0x?");
  EXPECT_EQ(normalise("/modcache/example.com/d@v1.2.3/x.go:4:1: no"), "example.com/d/x.go: no");
  EXPECT_EQ(normalise("../../modcache/example.com/d@v1.2.3/x.go:4:1: no"),
            "example.com/d/x.go: no");
}

TEST(Normalise, KeepsWhatTheTestSaid) {
  EXPECT_EQ(normalise("got 12, want 13"), "got 12, want 13");
  EXPECT_EQ(normalise("version 1.2.3 of ex.test/m"), "version 1.2.3 of ex.test/m");
  EXPECT_EQ(normalise("user@example.com:80"), "user@example.com:80");
  EXPECT_EQ(normalise(""), "");
}

TEST(SourcePath, IsBelowTheUnit) {
  EXPECT_EQ(source_path("/src/p/a.go", "."), "p/a.go");
  EXPECT_EQ(source_path("/src/sub/p/a.go", "sub"), "p/a.go");
  EXPECT_EQ(source_path("/src/subway/a.go", "sub"), "subway/a.go");
  EXPECT_EQ(source_path("./a.go", "."), "a.go");
  EXPECT_EQ(source_path("../../modcache/d@v1.0.0/x.go", "."), "d@v1.0.0/x.go");
}

}  // namespace
}  // namespace cupel::worker::go
