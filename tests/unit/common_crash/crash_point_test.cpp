#include "common/crash/crash_point.hpp"

#include "common/fs/files.hpp"
#include "tests/support/temp_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

namespace cupel::crash {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void pass_three_times() {
  for (int i = 0; i < 3; ++i) CUPEL_CRASH_POINT("test.point");
}

template <typename T>
T pass_in_a_template(T value) {
  CUPEL_CRASH_POINT("test.template");
  return value;
}

std::string listing() {
  const std::array<const char*, 2> arguments = {"program", "--crash-points"};
  testing::internal::CaptureStdout();
  const bool listed_them = listed(2, arguments.data());
  std::fflush(stdout);
  const std::string text = testing::internal::GetCapturedStdout();
  return listed_them ? text : "";
}

#ifdef CUPEL_CRASH_POINTS

TEST(CrashPoint, IsListedWhereverItStands) {
  EXPECT_NE(&pass_in_a_template<int>, nullptr);  // not called: this process stays unarmed
  EXPECT_THAT(listing(), AllOf(HasSubstr("test.point\n"), HasSubstr("test.template\n"),
                               HasSubstr("file.rename\n"), HasSubstr("file.renamed\n")));
}

TEST(CrashPointDeathTest, KillsAtThePassThatIsAskedFor) {
  EXPECT_EXIT(
      {
        ::setenv("CUPEL_CRASH_AT", "test.point:3", 1);
        pass_three_times();
        std::exit(0);
      },
      testing::KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(
      {
        ::setenv("CUPEL_CRASH_AT", "test.point:4", 1);
        pass_three_times();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(CrashPointDeathTest, LeavesTheOldFileOrTheNewOneAtARename) {
  const tests::TempDir dir;
  const auto file = dir / "f";
  std::ofstream(file) << "old";
  const auto die_at = [&file](const char* point) {
    ::setenv("CUPEL_CRASH_AT", point, 1);
    (void)fs::write_file_durably(file, "new", 0600);
    std::exit(0);
  };

  EXPECT_EXIT(die_at("file.rename"), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(fs::read_file(file, 100).value(), "old");
  EXPECT_EXIT(die_at("file.renamed"), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(fs::read_file(file, 100).value(), "new");
}

#else

TEST(CrashPointDeathTest, DoesNothingInABuildWithoutTheOption) {
  EXPECT_EQ(listing(), "");
  EXPECT_EQ(pass_in_a_template(1), 1);
  EXPECT_EXIT(
      {
        ::setenv("CUPEL_CRASH_AT", "test.point:1", 1);
        pass_three_times();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace cupel::crash
