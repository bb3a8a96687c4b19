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
  EXPECT_EQ(newest_trouble(kLog),
            "not ready: no engine (CUP-3001)\nNo such file or directory\nis the engine running?");
}

TEST(DaemonLog, KeepsQuietAboutALogWithoutTrouble) {
  EXPECT_EQ(newest_trouble("2026-11-30T00:00:03.000001Z info    still here\nloose line\n"),
            std::nullopt);
  EXPECT_EQ(newest_trouble(""), std::nullopt);
}

TEST(DaemonLog, FindsTheFirstKnownCode) {
  EXPECT_EQ(code_named_in(kLog), Errc::engine_unreachable);
  EXPECT_EQ(code_named_in("CUP-0001, CUP-x, then CUP-2001"), Errc::bad_config);
  EXPECT_EQ(code_named_in("nothing CUP-"), std::nullopt);
}

}  // namespace
}  // namespace cupel::cli
