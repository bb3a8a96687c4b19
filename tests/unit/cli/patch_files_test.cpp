#include "cli/core/patch_files.hpp"

#include <gtest/gtest.h>

namespace cupel::cli {
namespace {

json manifest(const std::vector<std::string>& files) {
  json patches = json::array({{{"state", "withheld"}}});
  for (const std::string& file : files) patches.push_back({{"state", "ready"}, {"file", file}});
  return {{"patches", patches}};
}

TEST(StalePatches, AreThoseOfAnEarlierManifestThatTheNewOneDoesNotName) {
  EXPECT_EQ(stale_patches(manifest({"0001-a.patch", "0002-b.patch"}), manifest({"0002-b.patch"})),
            (std::vector<std::string>{"0001-a.patch"}));
  EXPECT_TRUE(stale_patches(json(), manifest({"0001-a.patch"})).empty());
  EXPECT_TRUE(stale_patches(json::array({1}), manifest({})).empty());
}

TEST(StalePatches, NeverLieOutsideOfTheFolderAndAreNoOtherFiles) {
  EXPECT_TRUE(stale_patches(manifest({"../0001-a.patch", "/etc/x.patch", ".patch", "notes.txt"}),
                            manifest({}))
                  .empty());
}

}  // namespace
}  // namespace cupel::cli
