#include "common/text/diagnostic.hpp"
#include "common/text/document.hpp"
#include "common/text/units.hpp"
#include "common/text/utf8.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace cupel::text {
namespace {

using namespace std::chrono_literals;

TEST(Sizes, AreExactOrRefused) {
  EXPECT_EQ(parse_size("4MiB"), 4ULL << 20);
  EXPECT_EQ(parse_size("1.5GiB"), 3ULL << 29);
  EXPECT_EQ(parse_size("100"), 100U);
  EXPECT_EQ(parse_size("100B"), 100U);
  EXPECT_EQ(parse_size("0"), 0U);
  for (const char* bad :
       {"", "MiB", "4MB", "4 MiB", "-4MiB", "0.3B", "1e3", "9999999TiB", ".5MiB", "4.MiB", "4m"}) {
    EXPECT_FALSE(parse_size(bad)) << bad;
  }
  for (const std::uint64_t bytes : {0ULL, 1ULL, 1000ULL, 1024ULL, 5ULL << 30, (1ULL << 40) + 1}) {
    EXPECT_EQ(parse_size(format_size(bytes)), bytes);
  }
}

TEST(Durations, AreExactOrRefused) {
  EXPECT_EQ(parse_duration("1h30m"), 90min);
  EXPECT_EQ(parse_duration("90s"), 90s);
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("2d"), 48h);
  EXPECT_EQ(parse_duration("0"), 0s);
  for (const char* bad :
       {"", "10", "m", "10m10m", "10s10m", "1.5h", "-1s", "1 h", "99999999999999h", "10us"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
  for (const auto duration : {0ms, 1ms, 61'000ms, 90'000'500ms, 86'400'000ms}) {
    EXPECT_EQ(parse_duration(format_duration(duration)), duration);
  }
  EXPECT_EQ(format_seconds(14.23), "14.2s");
  EXPECT_EQ(format_seconds(59.97), "1m00s");
  EXPECT_EQ(format_seconds(160.2), "2m40s");
  EXPECT_EQ(format_seconds(4680), "1h18m");
}

TEST(Words, TheNearestOneIsFoundAndNothingFar) {
  const std::vector<std::string> words = {"sandbox", "strategy", "validate"};
  EXPECT_EQ(nearest_word("sandbx", words), "sandbox");
  EXPECT_EQ(nearest_word("strat", words), "strategy");
  EXPECT_EQ(nearest_word("vaildate", words), "validate");
  EXPECT_EQ(nearest_word("zzz", words), "");
  EXPECT_EQ(nearest_word("", words), "");
}

TEST(Utf8, InvalidBytesAreFoundAndReplaced) {
  EXPECT_EQ(first_invalid_utf8("aä€😀"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("a\xC0\xAF"), 1U);
  EXPECT_EQ(first_invalid_utf8("a\xED\xA0\x80"), 1U);
  EXPECT_EQ(first_invalid_utf8("a\xE2\x82"), 1U);
  EXPECT_EQ(printable("a\x1B[31m\xFF\tb\n"), "a[31m\xEF\xBF\xBD\tb\n");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "31m");
}

TEST(Utf8, TextIsCutAtCodePoints) {
  EXPECT_EQ(width("äb"), 2U);
  EXPECT_EQ(shortened("äöü", 3), "äöü");
  EXPECT_EQ(shortened("äöüx", 3), "äö…");
  EXPECT_EQ(shortened("abc", 0), "");
  EXPECT_EQ(cut_to_bytes("äö", 3), "ä");
}

TEST(Documents, ScalarsStayAsWritten) {
  const Document document = read_yaml("a: 1.20\nb: on\nc: \"1\"\nd: 010\ne: ~\nf: |\n  x\n", "f");
  ASSERT_TRUE(document.root);
  EXPECT_EQ(document.root->find("a")->scalar, "1.20");
  EXPECT_EQ(document.root->find("b")->scalar, "on");
  EXPECT_FALSE(document.root->find("a")->quoted);
  EXPECT_TRUE(document.root->find("c")->quoted);
  EXPECT_EQ(document.root->find("d")->scalar, "010");
  EXPECT_TRUE(document.root->find("e")->is_null());
  EXPECT_EQ(document.root->find("f")->scalar, "x\n");
  EXPECT_EQ(document.root->find("g"), nullptr);
}

}  // namespace
}  // namespace cupel::text
