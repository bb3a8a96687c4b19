#include "worker/core/scan/semver.hpp"

#include <gtest/gtest.h>

namespace cupel::worker::scan {
namespace {

Semver of(std::string_view text) {
  const auto version = Semver::parse(text);
  EXPECT_TRUE(version) << text;
  return version.value_or(Semver{});
}

TEST(ScanSemver, VersionsAreInTheOrderOfTheStandard) {
  const std::string_view ascending[] = {"v0.0.0-20200101000000-abcdefabcdef",
                                        "v0.0.1",
                                        "v1.0.0-1",
                                        "v1.0.0-2",
                                        "v1.0.0-10",
                                        "v1.0.0-alpha",
                                        "v1.0.0-alpha.1",
                                        "v1.0.0-rc.2",
                                        "v1.0.0-rc.10",
                                        "v1.0.0",
                                        "v1.0.10",
                                        "v1.2.0",
                                        "v1.10.0",
                                        "v2.0.0"};
  for (std::size_t i = 0; i < std::size(ascending); ++i) {
    for (std::size_t j = 0; j < std::size(ascending); ++j) {
      EXPECT_EQ(of(ascending[i]) < of(ascending[j]), i < j) << ascending[i] << " " << ascending[j];
    }
  }
}

TEST(ScanSemver, MetadataAndTheLetterInFrontCountForNothing) {
  EXPECT_EQ(of("v2.0.0+incompatible"), of("2.0.0"));
  EXPECT_EQ(of("1.2"), of("v1.2.0"));
  EXPECT_EQ(of("0"), of("v0.0.0"));
}

TEST(ScanSemver, WhatIsNoVersionIsNone) {
  for (const std::string_view text :
       {"", "v", "v1.x", "v1.2.3.4", "v01.0.0", "v1.0.0-", "v1.0.0-a..b", "latest", "v1.0.0+",
        "v99999999999999999999.0.0"}) {
    EXPECT_FALSE(Semver::parse(text)) << text;
  }
}

}  // namespace
}  // namespace cupel::worker::scan
