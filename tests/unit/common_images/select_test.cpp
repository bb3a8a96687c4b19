#include "common/images/select.hpp"

#include <gtest/gtest.h>

namespace cupel::images {
namespace {

Available image(std::string go, bool cc = true, char tag = 'a') {
  const auto version = GoVersion::parse(go);
  return {.identity = "sha256:" + std::string(64, tag),
          .engine_id = "sha256:engine-" + go,
          .go_version = go,
          .minor = version->minor_text(),
          .has_cc = cc,
          .base = {}};
}

const std::vector<Available> kTwo = {image("1.24.13", true, 'a'), image("1.26.8", true, 'b'),
                                     image("1.26.8", false, 'c')};

Selection choose(std::string_view go, std::string_view pin = "auto", bool without_c = false) {
  return select(builtin_table(), kTwo, go, pin, without_c).value();
}

TEST(GoVersionParse, OrdersLanguageBetaCandidateAndReleases) {
  const std::vector<std::string> ascending = {"1.16",     "1.21",   "1.21beta1", "1.21rc2",
                                              "1.21rc10", "1.21.0", "1.21.13",   "1.22"};
  for (std::size_t i = 1; i < ascending.size(); ++i) {
    ASSERT_TRUE(GoVersion::parse(ascending[i])) << ascending[i];
    EXPECT_LT(GoVersion::parse(ascending[i - 1]), GoVersion::parse(ascending[i])) << ascending[i];
  }
}

TEST(GoVersionParse, RefusesWhatGoRefuses) {
  for (const char* text : {"", "1", "1.", "v1.2", "1.02", "1.21.", "1.21rc", "1.21.1.1", "1.21 ",
                           "1.21-x", "1.99999999999", "go1.21", "1.-1"}) {
    EXPECT_FALSE(GoVersion::parse(text)) << text;
  }
}

TEST(Select, TakesTheLowestImageThatIsNewEnough) {
  EXPECT_EQ(choose("1.20").image.go_version, "1.24.13");
  EXPECT_EQ(choose("1.24").image.go_version, "1.24.13");
  EXPECT_EQ(choose("1.25").image.go_version, "1.26.8");
}

TEST(Select, CountsNoGoLineAs116) {
  EXPECT_EQ(choose("").image.go_version, "1.24.13");
}

TEST(Select, SkipsAnImageWhosePatchIsTooOld) {
  EXPECT_EQ(choose("1.24.13").image.go_version, "1.24.13");
  EXPECT_EQ(choose("1.24.14").image.go_version, "1.26.8");
}

TEST(Select, RefusesOnlyWhatNoEntryOfTheTableCanRun) {
  const Selection future = choose("1.99");
  EXPECT_EQ(future.outcome, Outcome::refused);
  EXPECT_EQ(future.reason, Reason::requires_newer_toolchain);

  const Selection not_here = choose("1.27");
  EXPECT_EQ(not_here.outcome, Outcome::inconclusive);
  EXPECT_EQ(not_here.reason, Reason::image_missing);
}

TEST(Select, NeverReplacesTheVariantThatWasAskedFor) {
  EXPECT_FALSE(choose("1.20", "auto", true).image.has_cc);
  EXPECT_EQ(choose("1.20", "auto", true).image.go_version, "1.26.8");
  EXPECT_EQ(choose("1.20", "1.24", true).reason, Reason::image_missing);
}

TEST(Select, TakesThePinnedImageEvenWhenALowerOneWouldDo) {
  EXPECT_EQ(choose("1.20", "1.26").image.go_version, "1.26.8");
  EXPECT_EQ(choose("1.20", "1.26.8").image.go_version, "1.26.8");
  EXPECT_EQ(choose("1.20", "sha256:" + std::string(64, 'c')).image.has_cc, false);
}

TEST(Select, ReadsTheDigestOfAPinThatNamesARepository) {
  EXPECT_EQ(choose("1.20", "golang@sha256:" + std::string(64, 'b')).image.go_version, "1.26.8");
}

TEST(Select, RefusesAPinnedImageThatIsOlderThanTheGoLine) {
  EXPECT_EQ(choose("1.25", "1.24").reason, Reason::requires_newer_toolchain);
  EXPECT_EQ(choose("1.25", "1.20").reason, Reason::requires_newer_toolchain);
}

TEST(Select, SaysWhichTextIsNoVersion) {
  EXPECT_EQ(select(builtin_table(), kTwo, "one", "auto", false).error().code, Errc::bad_value);
  EXPECT_EQ(select(builtin_table(), kTwo, "1.20", "newest", false).error().code, Errc::bad_value);
}

TEST(MatchImages, KnowsAssembledImagesByLabelAndPulledOnesByDigest) {
  const ImageEntry& pulled = builtin_table().entries.front();
  const std::vector<EngineImage> images = {
      {.id = "sha256:1", .repo_digests = {}, .labels = {{"other", "1"}}},
      {.id = "sha256:2", .repo_digests = {"golang@" + pulled.registry.digest}, .labels = {}},
      {.id = "sha256:3",
       .repo_digests = {},
       .labels = {{std::string(kLabelIdentity), "sha256:" + std::string(64, 'd')},
                  {std::string(kLabelGo), "1.26.8"},
                  {std::string(kLabelCc), "0"}}},
      {.id = "sha256:4",
       .repo_digests = {},
       .labels = {{std::string(kLabelIdentity), "latest"}, {std::string(kLabelGo), "1.26.8"}}},
  };

  const auto found = match_images(builtin_table(), images);

  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].engine_id, "sha256:2");
  EXPECT_EQ(found[0].identity, pulled.registry.digest);
  EXPECT_EQ(found[1].minor, "1.26");
  EXPECT_FALSE(found[1].has_cc);
}

TEST(ParseTable, NamesTheEntryThatIsWrong) {
  EXPECT_NE(parse_table(R"({"version":1,"entries":[{"minor":"1.2x","go":"1.2"}]})")
                .error()
                .what.find("1.2x"),
            std::string::npos);
  EXPECT_TRUE(parse_table("{").has_error());
  EXPECT_TRUE(parse_table(R"({"version":2,"entries":[]})").has_error());
  EXPECT_NE(
      parse_table(
          R"({"version":1,"entries":[{"minor":"1.26","go":"1.26.1"},{"minor":"1.25","go":"1.25.1"}]})")
          .error()
          .what.find("order"),
      std::string::npos);
}

TEST(BuiltinTable, CoversEveryMinorFrom120WithBothForms) {
  ASSERT_GE(builtin_table().entries.size(), 8U);
  EXPECT_EQ(builtin_table().entries.front().minor, "1.20");
  for (const ImageEntry& entry : builtin_table().entries) {
    EXPECT_FALSE(entry.registry.digest.empty()) << entry.minor;
    EXPECT_NE(entry.toolchain.version.find("go" + entry.go + ".linux-amd64"), std::string::npos)
        << entry.minor;
  }
}

}  // namespace
}  // namespace cupel::images
