#include "common/core/time.hpp"
#include "common/core/utf8.hpp"

#include <gtest/gtest.h>

namespace cupel {
namespace {

TEST(CleanText, TakesWellFormedText) {
  EXPECT_TRUE(is_clean_text(""));
  EXPECT_TRUE(is_clean_text("plain\n\ttext"));
  EXPECT_TRUE(is_clean_text("\u00e9 \u20ac \U0001F600 \U0010FFFF"));
}

TEST(CleanText, RefusesWhatIsNoUtf8) {
  EXPECT_FALSE(is_clean_text(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_clean_text("\x80"));
  EXPECT_FALSE(is_clean_text("\xC3"));              // cut short
  EXPECT_FALSE(is_clean_text("\xC0\xAF"));          // overlong
  EXPECT_FALSE(is_clean_text("\xE0\x80\xAF"));      // overlong
  EXPECT_FALSE(is_clean_text("\xED\xA0\x80"));      // surrogate
  EXPECT_FALSE(is_clean_text("\xF4\x90\x80\x80"));  // beyond the last character
  EXPECT_FALSE(is_clean_text("\xFF"));
}

TEST(CleanText, ReplacesEveryBadByte) {
  EXPECT_EQ(clean_text("a\xFF\xC3z"), "a\uFFFD\uFFFDz");
  EXPECT_EQ(clean_text(std::string_view("\0", 1)), "\uFFFD");
}

TEST(CleanText, CutsOnACharacterBoundary) {
  EXPECT_EQ(clean_text("ab\u20ac", 4), "ab");
  EXPECT_EQ(clean_text("ab\u20ac", 5), "ab\u20ac");
}

TEST(Rfc3339, ReadsWhatItWrites) {
  for (const std::int64_t us : {0LL, -1LL, 1'796'000'531'123'456LL, 253'402'300'799'999'999LL}) {
    EXPECT_EQ(parse_rfc3339(to_rfc3339(WallTime{us})), WallTime{us}) << to_rfc3339(WallTime{us});
  }
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:01Z"), WallTime{1'000'000});
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:01.5Z"), WallTime{1'500'000});
}

TEST(Rfc3339, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "now", "1970-13-01T00:00:00Z", "1970-02-30T00:00:00Z", "1970-01-01T24:00:00Z",
        "1970-01-01T00:00:00", "1970-01-01T00:00:00+01:00", "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00.1234567Z", "-970-01-01T00:00:00Z", "1970-01-01T00:00:00.-5Z"}) {
    EXPECT_FALSE(parse_rfc3339(text)) << text;
  }
}

}  // namespace
}  // namespace cupel
