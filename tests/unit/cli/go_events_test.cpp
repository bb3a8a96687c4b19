#include "cli/core/go_events.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace cupel::cli {
namespace {

std::string shown(std::string_view log, std::size_t step) {
  std::string text;
  GoEventText events([&text](std::string_view more) { text += more; });
  for (std::size_t at = 0; at < log.size(); at += step) events.push(log.substr(at, step));
  events.finish();
  return text;
}

constexpr std::string_view kEventLog =
    "{\"Action\":\"start\",\"Package\":\"example.com/a\"}\n"
    "{\"Action\":\"output\",\"Package\":\"example.com/a\",\"Output\":\"=== RUN   TestA\\n\"}\n"
    "a line of the program\n"
    "{\"Action\":\"build-output\",\"ImportPath\":\"example.com/b\",\"Output\":\"./b.go:1:1: "
    "x\\n\"}\n"
    "{\"name\": \"printed by the program\"}\n"
    "{\"Action\":\"output\",\"Output\":\"half \"}\n"
    "{\"Action\":\"output\",\"Output\":\"a line\\n\"}\n"
    "{\"Action\":\"pass\",\"Package\":\"example.com/a\",\"Elapsed\":0.1}\n"
    "{\"Action\":\"outp";

constexpr std::string_view kText =
    "=== RUN   TestA\n"
    "a line of the program\n"
    "./b.go:1:1: x\n"
    "{\"name\": \"printed by the program\"}\n"
    "half a line\n"
    "{\"Action\":\"outp";

TEST(GoEventText, ShowsTheOutputOfEventsAndEveryOtherLineAsItIs) {
  EXPECT_EQ(shown(kEventLog, kEventLog.size()), kText);
}

TEST(GoEventText, PiecesOfAnySizeGiveTheSameText) {
  for (const std::size_t step : {1UL, 2UL, 7UL, 64UL})
    EXPECT_EQ(shown(kEventLog, step), kText) << step;
}

TEST(GoEventText, AnOverlongLineIsPassedOnWhole) {
  const std::string line =
      "{\"Action\":\"output\",\"Output\":\"" + std::string(2UL << 20, 'x') + "\"}\n";
  const std::string log = line + "{\"Action\":\"output\",\"Output\":\"after\\n\"}\n";
  EXPECT_EQ(shown(log, 4096), line + "after\n");
  EXPECT_EQ(shown(log, log.size()), line + "after\n");
}

}  // namespace
}  // namespace cupel::cli
