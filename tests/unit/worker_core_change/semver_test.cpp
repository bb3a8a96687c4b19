#include "worker/core/change/semver.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cupel::worker::change {
namespace {

TEST(SemVersion, VersionsAreInTheOrderOfTheGoCommand) {
  const std::vector<std::string> ascending = {
      "not a version",
      "v0.0.0-20200101000000-0123456789ab",
      "v0.0.0-20210101000000-0123456789ab",
      "v0.1.0",
      "v1.0.0-alpha",
      "v1.0.0-alpha.1",
      "v1.0.0-alpha.beta",
      "v1.0.0-beta.2",
      "v1.0.0-beta.11",
      "v1.0.0-rc.1",
      "v1.0.0",
      "v1.0.1-0.20210101000000-0123456789ab",
      "v1.0.1",
      "v1.9.0",
      "v1.10.0",
      "v2.0.0+incompatible",
      "v99999999999999999999.0.0",
  };
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(compare_versions(ascending[i], ascending[j]) < 0, i < j)
          << ascending[i] << " and " << ascending[j];
    }
  }
}

TEST(SemVersion, OnlyFullVersionsAreVersions) {
  for (const char* text : {"v1", "v1.2", "1.2.3", "v01.2.3", "v1.2.3-", "v1.2.3-01", "v1.2.3+dirty",
                           "latest", "master", "v1.2.x", "", "v1.2.3.4", "v1.2.3 "}) {
    EXPECT_FALSE(parse_version(text)) << text;
  }
  EXPECT_EQ(parse_version("v2.0.0-rc.1+incompatible")->pre, "rc.1");
}

TEST(SemVersion, PseudoVersionsAreNoReleases) {
  EXPECT_TRUE(is_pseudo_version("v0.0.0-20240102030405-0123456789ab"));
  EXPECT_TRUE(is_pseudo_version("v1.2.4-0.20240102030405-0123456789ab"));
  EXPECT_TRUE(is_pseudo_version("v1.2.3-rc.1.0.20240102030405-0123456789ab"));
  EXPECT_TRUE(is_pseudo_version("v2.0.0-20240102030405-0123456789ab+incompatible"));
  EXPECT_FALSE(is_pseudo_version("v1.2.3-rc.1"));
  EXPECT_FALSE(is_pseudo_version("v1.2.3"));
  EXPECT_FALSE(is_pseudo_version("v1.2.3-20240102030405-short"));
}

TEST(SemVersion, AStepHasASize) {
  EXPECT_EQ(step_between("v1.2.3", "v1.2.4"), Step::patch);
  EXPECT_EQ(step_between("v1.2.3", "v1.3.0"), Step::minor);
  EXPECT_EQ(step_between("v0.9.0", "v1.0.0"), Step::major);
  EXPECT_EQ(step_between("v1.2.3", "v1.2.3"), Step::none);
  EXPECT_EQ(step_between("v1.2.3", "v1.2.2"), Step::none);
  EXPECT_EQ(step_between("v1.2.3-rc.1", "v1.2.3"), Step::patch);
}

TEST(SemVersion, TheNextMajorHasAnotherPath) {
  EXPECT_EQ(next_major_path("ex.test/m", "v1.2.3"), "ex.test/m/v2");
  EXPECT_EQ(next_major_path("ex.test/m/v2", "v2.0.0"), "ex.test/m/v3");
  EXPECT_EQ(next_major_path("ex.test/m", "v3.0.0+incompatible"), "ex.test/m/v4");
  EXPECT_EQ(next_major_path("gopkg.in/yaml.v2", "v2.0.0"), std::nullopt);
}

TEST(SemVersion, GoLinesHaveAnOrderOfTheirOwn) {
  EXPECT_TRUE(compare_go_versions("1.9", "1.10") < 0);
  EXPECT_TRUE(compare_go_versions("1.21rc2", "1.21.0") < 0);
  EXPECT_TRUE(compare_go_versions("1.24", "1.24.0") < 0);
  EXPECT_TRUE(compare_go_versions("1.24.1", "1.24.1") == 0);
}

}  // namespace
}  // namespace cupel::worker::change
