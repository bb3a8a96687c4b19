// docs/engine-scenarios.md is what a writer of scenarios has: it must know every word, and every
// scenario.
#include "common/fs/files.hpp"
#include "tests/engine_scenarios/scenario.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>

namespace cupel::scenarios {
namespace {

constexpr std::uint64_t kDocumentBytesMax = 1U << 20U;
// Not the engine's: the table says where it is shown.
const std::set<std::string> kNoScenario = {"L18"};

std::string source_file(const std::string& path) {
  return fs::read_file(std::string(CUPEL_SOURCE_DIR) + "/" + path, kDocumentBytesMax).value();
}

std::map<std::string, std::string> table_rows(const std::string& text) {
  std::map<std::string, std::string> rows;
  const std::regex row("\n\\| ([A-Z][0-9]{2}) \\|([^\n]*)");
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it) {
    rows[(*it)[1]] = (*it)[2];
  }
  return rows;
}

TEST(EngineScenariosDocument, EveryEntryHasAScenarioAndEveryScenarioAnEntry) {
  const auto rows = table_rows(source_file("docs/engine-scenarios.md"));
  std::set<std::string> covered;
  const std::string folder = std::string(CUPEL_SOURCE_DIR) + "/tests/fixtures/engine-scenarios";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    const ReadScenario read =
        read_scenario(fs::read_file(entry.path().string(), kDocumentBytesMax).value(), name);
    ASSERT_TRUE(read.scenario) << name;
    EXPECT_TRUE(!read.scenario->covers.empty() || name == "healthy-run") << name;
    for (const std::string& id : read.scenario->covers) {
      EXPECT_TRUE(rows.contains(id)) << name << " covers " << id;
      covered.insert(id);
    }
  }
  EXPECT_EQ(rows.size(), 47U);
  for (const auto& [id, row] : rows) {
    EXPECT_NE(covered.contains(id), kNoScenario.contains(id)) << id;
  }
}

TEST(EngineScenariosDocument, NamesNoScenarioThatIsNotThere) {
  const std::string folder = std::string(CUPEL_SOURCE_DIR) + "/tests/fixtures/engine-scenarios/";
  for (const auto& [id, row] : table_rows(source_file("docs/engine-scenarios.md"))) {
    const std::regex name("\\b([elhrmx][0-9]{2}-[a-z0-9-]*[a-z0-9])(?![-*a-z0-9])");
    for (std::sregex_iterator it(row.begin(), row.end(), name), end; it != end; ++it) {
      EXPECT_TRUE(std::filesystem::exists(folder + it->str(1) + ".yaml"))
          << id << ": " << it->str(1);
    }
  }
}

TEST(EngineScenariosDocument, KnowsEveryFactThatCanBeExpected) {
  const std::string text = source_file("docs/engine-scenarios.md");
  std::vector<std::string> kinds = call_names();
  kinds.insert(kinds.end(), {"run", "reap", "end"});
  for (const std::string& kind : kinds) {
    for (const std::string& fact : facts_of(kind)) {
      if (fact.starts_with("stderr_")) continue;  // "the same for stderr"
      EXPECT_NE(text.find(fact), std::string::npos) << kind << ": " << fact;
    }
  }
}

}  // namespace
}  // namespace cupel::scenarios
