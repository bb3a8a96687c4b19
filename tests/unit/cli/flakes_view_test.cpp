#include "cli/core/flakes_view.hpp"

#include <gmock/gmock.h>

namespace cupel::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

json flake(const std::string& repository, int hits, int runs) {
  return {{"repository", repository},
          {"module", "example.com/m"},
          {"key", "test|p|TestA"},
          {"signature", "s"},
          {"hits", hits},
          {"runs", runs},
          {"times", 2},
          {"campaign", "c-1"},
          {"first", "2026-01-01T00:00:00Z"},
          {"last", "2026-01-02T00:00:00Z"}};
}

TEST(FlakesTable, SaysHowOftenAndOfHowManyRuns) {
  const std::string text = flakes_table({flake("a", 3, 8), flake("b", 0, 0)}, 0);

  EXPECT_THAT(text, HasSubstr("a example.com/m"));
  EXPECT_THAT(text, HasSubstr("3 of 8 (38 %)"));
  EXPECT_THAT(text, HasSubstr("0 of 0 (0 %)"));
  EXPECT_THAT(text, HasSubstr("test|p|TestA"));
  EXPECT_THAT(text, HasSubstr("2 findings come and go in 2 repositories"));
}

TEST(FlakesTable, SaysThatThereAreNone) {
  EXPECT_THAT(flakes_table({}, 0), Not(HasSubstr("REPOSITORY")));
}

TEST(FlakesTable, ShowsNoControlCharactersOfARepository) {
  EXPECT_THAT(flakes_table({flake("a\x1b[2Jb", 1, 2)}, 0), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace cupel::cli
