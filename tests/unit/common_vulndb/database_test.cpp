#include "common/vulndb/database.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace cupel::vulndb {
namespace {

using testing::HasSubstr;

using Files = std::map<std::string, std::string>;

Files good() {
  return {{"index/db.json", R"({"modified": "2026-01-02T00:00:00Z"})"},
          {"index/vulns.json", R"([{"id": "GO-2026-0001"}, {"id": "GO-2026-0002"}])"},
          {"index/modules.json",
           R"([{"path": "example.com/a", "vulns": [{"id": "GO-2026-0001"}]},
               {"path": "stdlib", "vulns": [{"id": "GO-2026-0002"}]}])"},
          {"ID/GO-2026-0001.json",
           R"({"id": "GO-2026-0001", "affected": [{"package": {"name": "example.com/a"}}]})"},
          {"ID/GO-2026-0002.json",
           R"({"id": "GO-2026-0002", "affected": [{"package": {"name": "stdlib"}}]})"}};
}

std::variant<Database, Problem> build(const Files& files, Limits limits = {}) {
  Builder builder(limits);
  for (const auto& [path, bytes] : files) {
    if (auto problem = builder.add(path, bytes)) return *problem;
  }
  return builder.finish();
}

std::string problem_of(const Files& files, Limits limits = {}) {
  const auto built = build(files, limits);
  const auto* problem = std::get_if<Problem>(&built);
  if (problem != nullptr) EXPECT_EQ(problem->reason, Reason::vulndb_corrupt);
  return problem == nullptr ? "" : problem->message;
}

std::string problem_with(const std::string& path, const std::string& bytes) {
  Files files = good();
  files[path] = bytes;
  return problem_of(files);
}

std::string problem_without(const std::string& path) {
  Files files = good();
  files.erase(path);
  return problem_of(files);
}

TEST(VulnDatabase, AConsistentOneHasATimeAndAnId) {
  const auto built = build(good());
  const auto* database = std::get_if<Database>(&built);
  ASSERT_NE(database, nullptr) << std::get<Problem>(built).message;
  EXPECT_EQ(database->time, "2026-01-02T00:00:00Z");
  EXPECT_EQ(database->entries, 2U);
  EXPECT_EQ(database->id.size(), 64U);
}

TEST(VulnDatabase, OneWithoutEntriesIsADatabase) {
  EXPECT_EQ(problem_of({{"index/db.json", R"({"modified": "2026-01-02T00:00:00Z"})"},
                        {"index/vulns.json", "[]"},
                        {"index/modules.json", "[]"}}),
            "");
}

TEST(VulnDatabase, EveryIndexIsNeeded) {
  EXPECT_THAT(problem_without("index/db.json"), HasSubstr("index/db.json is missing"));
  EXPECT_THAT(problem_without("index/vulns.json"), HasSubstr("index/vulns.json is missing"));
  // Without it a scanner takes the folder for another layout and finds nothing.
  EXPECT_THAT(problem_without("index/modules.json"), HasSubstr("index/modules.json is missing"));
}

TEST(VulnDatabase, AnEntryThatAnIndexNamesMustBeThere) {
  EXPECT_THAT(problem_without("ID/GO-2026-0001.json"), HasSubstr("GO-2026-0001"));
  EXPECT_THAT(problem_with("index/modules.json", R"([{"path": "x", "vulns": [{"id": "GO-9"}]}])"),
              HasSubstr("GO-9"));
}

TEST(VulnDatabase, AnEntryMustBeInBothIndexes) {
  EXPECT_THAT(problem_with("ID/GO-2026-0003.json", R"({"id": "GO-2026-0003"})"),
              HasSubstr("in no index"));
  EXPECT_THAT(
      problem_with("ID/GO-2026-0001.json",
                   R"({"id": "GO-2026-0001", "affected": [{"package": {"name": "other"}}]})"),
      HasSubstr("doesn't name GO-2026-0001 for module 'other'"));
}

TEST(VulnDatabase, AnEntryNamesItself) {
  EXPECT_THAT(problem_with("ID/GO-2026-0001.json", R"({"id": "GO-2026-0002"})"),
              HasSubstr("another name"));
  EXPECT_THAT(problem_with("ID/GO-2026-0001.json", "{"), HasSubstr("no JSON"));
}

TEST(VulnDatabase, AnUnreadableIndexIsCorrupt) {
  EXPECT_THAT(problem_with("index/db.json", "{}"), HasSubstr("no time"));
  EXPECT_THAT(problem_with("index/db.json", "x"), HasSubstr("no JSON"));
  EXPECT_THAT(problem_with("index/vulns.json", "{}"), HasSubstr("no list"));
  EXPECT_THAT(problem_with("index/vulns.json", "[1]"), HasSubstr("no id"));
  EXPECT_THAT(problem_with("index/vulns.json", R"([{"id": "../x"}])"), HasSubstr("no id"));
  EXPECT_THAT(
      problem_with("index/vulns.json", R"([{"id": "GO-2026-0001"}, {"id": "GO-2026-0001"}])"),
      HasSubstr("twice"));
  EXPECT_THAT(problem_with("index/modules.json", R"([{"vulns": []}])"), HasSubstr("no module"));
}

TEST(VulnDatabase, OtherNamesAreRefused) {
  for (const char* name : {"README", "index/db.json.gz", "ID/../x.json", "ID/.json",
                           "/index/db.json", "ID/a/b.json", "index", "ID/a b.json", ""}) {
    EXPECT_FALSE(Builder::is_allowed(name)) << name;
    EXPECT_THAT(problem_with(name, "x"), HasSubstr("does not belong")) << name;
  }
}

TEST(VulnDatabase, LimitsHold) {
  EXPECT_THAT(problem_of(good(), {.file_bytes = 10}), HasSubstr("too large"));
  EXPECT_THAT(problem_of(good(), {.total_bytes = 100}), HasSubstr("too large"));
  EXPECT_THAT(problem_of(good(), {.files = 4}), HasSubstr("too many"));
  Builder builder;
  EXPECT_FALSE(builder.add("ID/a.json", "{}"));
  EXPECT_THAT(builder.add("ID/a.json", "{}")->message, HasSubstr("twice"));
}

TEST(VulnDatabase, TheIdNamesTheContent) {
  const auto id_of = [](const Files& files) { return std::get<Database>(build(files)).id; };
  Files other = good();
  other["ID/GO-2026-0001.json"] += " ";
  EXPECT_EQ(id_of(good()), id_of(good()));
  EXPECT_NE(id_of(good()), id_of(other));
}

TEST(VulnDatabase, TheTarIsTheSameForTheSameContent) {
  const std::string tar = to_tar(std::get<Database>(build(good())));
  EXPECT_EQ(tar, to_tar(std::get<Database>(build(good()))));
  EXPECT_EQ(tar.size() % 512, 0U);
  EXPECT_EQ(tar.substr(257, 5), "ustar");
}

}  // namespace
}  // namespace cupel::vulndb
