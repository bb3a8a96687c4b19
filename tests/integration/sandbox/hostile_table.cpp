#include "tests/integration/sandbox/hostile_table.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace cupel::test {

void expect_table(const std::string& mark, const std::string& table) {
  constexpr const char* kDocument = CUPEL_SOURCE_DIR "/docs/hostile-runs.md";
  std::ifstream in(kDocument);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const std::string begin = "<!-- " + mark + " -->\n";
  const auto from = text.find(begin);
  ASSERT_NE(from, std::string::npos) << kDocument << " has no " << begin;
  const auto to = text.find("<!-- end -->", from);
  ASSERT_NE(to, std::string::npos) << kDocument;
  if (std::getenv("CUPEL_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kDocument) << text.substr(0, from + begin.size()) + table + text.substr(to);
    return;
  }
  EXPECT_EQ(table, text.substr(from + begin.size(), to - from - begin.size()))
      << "CUPEL_UPDATE_GOLDEN=1 writes it";
}

}  // namespace cupel::test
