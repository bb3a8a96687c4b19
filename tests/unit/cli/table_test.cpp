#include "cli/core/table.hpp"

#include "cli/core/results_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::cli {
namespace {

std::vector<json> units() {
  return {
      {{"repository", "b"},
       {"dir", "."},
       {"verdict", "passing"},
       {"reason", "none"},
       {"seconds", 4.25}},
      {{"repository", "a"},
       {"dir", "sub"},
       {"verdict", "failing"},
       {"reason", "none"},
       {"seconds", 61},
       {"findings",
        {{{"kind", "note"}, {"message", "n"}},
         {{"kind", "test_failure"},
          {"test", "TestX"},
          {"message", "\x1B[31mbad\nmore"},
          {"signature", "s1"}}}}},
      {{"repository", "c"}, {"verdict", nullptr}},
      {{"repository", "d"},
       {"verdict", "inconclusive"},
       {"reason", "timeout"},
       {"message", "no end"},
       {"seconds", 600.0}},
  };
}

TEST(ResultsTable, PutsTroubleFirstAndOneLineForEachUnit) {
  EXPECT_EQ(results_table(units(), {}),
            "UNIT   VERDICT       REASON   SECONDS  MESSAGE\n"
            "a/sub  failing                   61.0  test_failure TestX: [31mbad\n"
            "d      inconclusive  timeout    600.0  no end\n"
            "c      open                       0.0\n"
            "b      passing                    4.2\n");
}

TEST(ResultsTable, FitsTheTerminal) {
  const std::string text = results_table(units(), {false, 55});
  EXPECT_THAT(text, ::testing::HasSubstr("test_failure Te…\n"));
}

TEST(ResultsTable, ColoursCountForNoWidth) {
  const std::string colored_text = results_table(units(), {true, 0});
  std::string plain;
  for (std::size_t i = 0; i < colored_text.size(); ++i) {
    if (colored_text[i] == '\x1B') {
      i = colored_text.find('m', i);
    } else {
      plain += colored_text[i];
    }
  }
  EXPECT_EQ(plain, results_table(units(), {}));
  EXPECT_NE(plain, colored_text);
}

TEST(ResultsSummary, SumsToTheTotal) {
  ReportData data;
  data.results = units();
  EXPECT_EQ(results_summary(data),
            "4 units = 1 passing + 1 failing + 1 inconclusive + 1 open\n"
            "  G1  1 unit  timeout: no end\n"
            "  G2  1 unit  test_failure: [31mbad\n"
            "what helps:\n"
            "  timeout: raise validate.test.timeout or sandbox.timeouts.check\n");
}

TEST(Table, AlignsByCodePointsAndSkipsTrailingSpace) {
  EXPECT_EQ(render({{"A", "B"}, {{"ä", "1"}, {"xyz", ""}}, {}}), "A    B\nä    1\nxyz\n");
}

}  // namespace
}  // namespace cupel::cli
