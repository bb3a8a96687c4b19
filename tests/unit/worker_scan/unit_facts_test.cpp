#include "worker/scan/unit_facts.hpp"

#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace cupel::worker {
namespace {

void write_below(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(UnitFacts, RequirementsCarryTheirReplacements) {
  const tests::TempDir dir;
  write_below(
      dir / "u/go.mod",
      "module m\n\ngo 1.24\n\nrequire (\n\texample.com/a v1.0.0\n\texample.com/b v1.0.0 // "
      "indirect\n"
      "\texample.com/c v1.0.0\n)\n\nreplace example.com/b => ../b\n"
      "replace example.com/c => example.com/d v2.0.0\nreplace example.com/c v0.9.0 => ./x\n");
  const auto required = read_required(dir.path().string(), "u");
  ASSERT_EQ(required.size(), 3U);
  EXPECT_EQ(required[0].path, "example.com/a");
  EXPECT_EQ(required[0].replaced_by, "");
  EXPECT_TRUE(required[1].replaced_by_folder);
  EXPECT_EQ(required[2].replaced_by, "example.com/d");
  EXPECT_EQ(required[2].version, "v2.0.0");
  EXPECT_FALSE(required[2].replaced_by_folder);
  EXPECT_TRUE(read_required(dir.path().string(), "none").empty());
}

TEST(UnitFacts, OnlyAdvisoriesAboutRequiredModulesAreRead) {
  const tests::TempDir dir;
  write_below(dir / "index/modules.json",
              R"([{"path": "example.com/a", "vulns": [{"id": "A"}]},
            {"path": "example.com/z", "vulns": [{"id": "Z"}]}])");
  write_below(dir / "ID/A.json",
              R"({"id": "A", "affected": [{"package": {"name": "example.com/a"}}]})");
  const auto known = read_advisories(dir.path().string(), {{"example.com/a", "v1.0.0", "", false}});
  ASSERT_EQ(known.size(), 1U);
  ASSERT_EQ(known.at("example.com/a").size(), 1U);
  EXPECT_EQ(known.at("example.com/a")[0].osv, "A");
}

}  // namespace
}  // namespace cupel::worker
