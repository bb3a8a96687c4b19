#include "cli/core/daemon_log.hpp"

#include <gtest/gtest.h>

namespace cupel::cli {
namespace {

constexpr const char* kLog =
    "2026-11-30T00:00:01.000001Z info    worker w-1 connects to tcp://127.0.0.1:1\n"
    "2026-11-30T00:00:02.000001Z error   not ready: no engine (CUP-3001)\n"
    "      No such file or directory\n"
    "      is the engine running?\n"
    "2026-11-30T00:00:03.000001Z info    still here\n";

TEST(DaemonLog, TellsTheNewestTroubleWithItsLines) {
  const auto trouble = newest_trouble(kLog);

  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->text,
            "not ready: no engine (CUP-3001)\nNo such file or directory\nis the engine running?");
  EXPECT_TRUE(trouble->is_error);
}

TEST(DaemonLog, TellsAWarningFromWhatKeepsADaemonFromItsWork) {
  const auto trouble =
      newest_trouble(std::string(kLog) + "2026-11-30T00:00:04.000001Z warning no download cache\n");

  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->text, "no download cache");
  EXPECT_FALSE(trouble->is_error);
}

TEST(DaemonLog, KeepsQuietAboutALogWithoutTrouble) {
  EXPECT_FALSE(newest_trouble("2026-11-30T00:00:03.000001Z info    still here\nloose line\n"));
  EXPECT_FALSE(newest_trouble(""));
}

TEST(DaemonLog, FindsTheFirstKnownCode) {
  EXPECT_EQ(code_named_in(kLog), Errc::engine_unreachable);
  EXPECT_EQ(code_named_in("CUP-0001, CUP-x, then CUP-2001"), Errc::bad_config);
  EXPECT_EQ(code_named_in("nothing CUP-"), std::nullopt);
}

}  // namespace
}  // namespace cupel::cli
