#include "worker/core/go/test_stream.hpp"

#include "tests/unit/worker_core_go/recording.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace cupel::worker::go {
namespace {

std::string event(const std::string& action, const std::string& test,
                  const std::string& more = {}) {
  std::string line = R"({"Action":")" + action + R"(","Package":"m/p")";
  if (!test.empty()) line += R"(,"Test":")" + test + "\"";
  return line + more + "}\n";
}

std::string output(const std::string& test, const std::string& text) {
  return event("output", test, R"(,"Output":")" + text + "\"");
}

/// Everything that a stream holds, as text, so that two can be compared.
std::string shown(const TestStream& stream) {
  std::string text;
  for (const PackageRecord& package : stream.packages) {
    text += package.name + " " + std::to_string(package.started) + std::to_string(package.ends()) +
            " " + package.failed_build + " " + package.output.message(4096) + "\n";
    for (const TestRecord& test : package.tests) {
      text += "  " + test.name + " " + std::to_string(test.runs) + "/" +
              std::to_string(test.passes) + "/" + std::to_string(test.fails) + "/" +
              std::to_string(test.skips) + (test.running ? " running" : "") +
              (test.paused ? " paused " : " ") + test.output.message(4096) + "\n";
    }
  }
  for (const BuildRecord& build : stream.builds) {
    text += "build " + build.import_path + " " + std::to_string(build.failed) + "\n";
    for (const BuildSection& section : build.sections) text += section.package + ":" + section.text;
  }
  return text + std::to_string(stream.events) + " " + std::to_string(stream.non_json_lines) +
         (stream.cut_last_line ? " cut" : "");
}

std::string test_output_of(const recorded::Case& recording) {
  for (const CheckRun& run : recording.units.front().runs) {
    if (run.check == CheckKind::test) return run.report.out.bytes;
  }
  return {};
}

TEST(TestStream, CountsLinesThatAreNoObjectsAndNeverReadsThem) {
  const TestStream stream = read_test_stream(
      "FAIL\tm/p [build failed]\n[1,2]\n12\n\"x\"\n{broken\n{}\n" + event("start", ""));
  EXPECT_EQ(stream.non_json_lines, 5U);
  EXPECT_EQ(stream.first_non_json, "FAIL\tm/p [build failed]");
  ASSERT_EQ(stream.packages.size(), 1U);
  EXPECT_FALSE(stream.packages[0].says_build_failed);
}

TEST(TestStream, IgnoresUnknownActionsAndFields) {
  const TestStream stream = read_test_stream(
      event("attr", "T", R"(,"Key":"k","Value":{"a":[1,{"b":null}]})") + event("artifacts", "T") +
      event("run", "T", R"(,"New":[{"Action":"fail","Test":"X"}])") + event("pass", "T"));
  ASSERT_EQ(stream.packages.size(), 1U);
  ASSERT_EQ(stream.packages[0].tests.size(), 1U);
  EXPECT_EQ(stream.packages[0].tests[0].fails, 0U);
  EXPECT_EQ(stream.packages[0].tests[0].passes, 1U);
}

TEST(TestStream, KeepsStatePerPackageAndTest) {
  const std::string other = R"({"Action":"run","Package":"m/q","Test":"T"})"
                            "\n"
                            R"({"Action":"fail","Package":"m/q","Test":"T"})"
                            "\n";
  const TestStream stream =
      read_test_stream(event("run", "T") + other + event("pass", "T") + event("run", "T/a"));
  ASSERT_EQ(stream.packages.size(), 2U);
  EXPECT_EQ(stream.package("m/p")->tests[0].passes, 1U);
  EXPECT_EQ(stream.package("m/q")->tests[0].fails, 1U);
  EXPECT_TRUE(stream.package("m/p")->tests[1].running);
}

TEST(TestStream, KeepsTheOutputOfATestUntilItsPackagePasses) {
  const std::string forged = event("run", "T") + output("T", "real failure\\n") +
                             event("pass", "T") + event("fail", "T") + event("fail", "");
  EXPECT_EQ(read_test_stream(forged).packages[0].tests[0].output.message(100), "real failure");
  const std::string fine =
      event("run", "T") + output("T", "noise\\n") + event("pass", "T") + event("pass", "");
  EXPECT_EQ(read_test_stream(fine).packages[0].tests[0].output.message(100), "");
}

TEST(TestStream, PutsAPanicFirstWhenItStandsBehindMuchOutput) {
  std::string text = event("run", "T");
  for (int i = 0; i < 2000; ++i) text += output("T", "line of noise\\n");
  text += output("T", "panic: boom\\n");
  for (int i = 0; i < 2000; ++i) text += output("T", "frame\\n");
  const std::string message =
      read_test_stream(text + event("fail", "")).packages[0].tests[0].output.message(4096);
  EXPECT_EQ(message.substr(0, 11), "panic: boom");
  EXPECT_LE(message.size(), 4096U);
}

TEST(TestStream, LeavesFramesOutOfTheOutput) {
  const std::string text =
      event("run", "T") + output("T", "=== RUN   T\\n") + output("T", "    x_test.go:1: said\\n") +
      output("T", "    --- FAIL: T/a (0.00s)\\n") + output("T", "no newline--- PASS: T (0.00s)\\n");
  EXPECT_EQ(read_test_stream(text).packages[0].tests[0].output.message(100),
            "    x_test.go:1: said\nno newline--- PASS: T (0.00s)");
}

TEST(TestStream, SplitsBuildTextAtItsHeaders) {
  const auto line = [](const std::string& text) {
    return R"({"ImportPath":"m/p [m/p.test]","Action":"build-output","Output":")" + text +
           "\\n\"}\n";
  };
  const TestStream stream =
      read_test_stream(line("# m/p") + line("# [m/p]") + line("p.go:1:2: vet says") +
                       line("# m/q") + line("q.go:1:1: no") +
                       R"({"ImportPath":"m/p [m/p.test]","Action":"build-fail"})"
                       "\n");
  const BuildRecord* build = stream.build("m/p [m/p.test]");
  ASSERT_NE(build, nullptr);
  EXPECT_TRUE(build->failed);
  ASSERT_EQ(build->sections.size(), 2U);
  EXPECT_TRUE(build->sections[0].vet);
  EXPECT_EQ(build->sections[1].package, "m/q");
  EXPECT_EQ(build->sections[1].text, "q.go:1:1: no\n");
}

TEST(TestStream, SaysWhenItEndsInsideALine) {
  EXPECT_TRUE(read_test_stream(event("run", "T") + "{\"Action\":\"pa").cut_last_line);
  EXPECT_FALSE(read_test_stream(event("run", "T")).cut_last_line);
}

TEST(TestStream, PassesOverALineThatIsLongerThanItKeeps) {
  TestStreamReader reader;
  const std::string piece(1024 * 1024, 'x');
  for (std::size_t i = 0; i * piece.size() <= TestStreamReader::kLineBytesMax; ++i)
    reader.feed(piece);
  reader.feed("\n" + event("run", "T"));
  const TestStream stream = reader.finish();
  EXPECT_TRUE(stream.too_much);
  EXPECT_EQ(stream.events, 1U);
}

TEST(TestStream, RefusesNestingWithoutEnd) {
  const std::string deep =
      R"({"Action":"run","X":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}\n";
  EXPECT_EQ(read_test_stream(deep).non_json_lines, 1U);
}

TEST(TestStream, IsTheSameHoweverTheBytesAreCut) {
  std::mt19937 random(7);
  for (const std::string& name : recorded::names()) {
    const std::string bytes = test_output_of(recorded::load(name)).substr(0, 200'000);
    const std::string whole = shown(read_test_stream(bytes));
    TestStreamReader reader;
    std::size_t at = 0;
    while (at < bytes.size()) {
      const std::size_t length = std::uniform_int_distribution<std::size_t>(1, 700)(random);
      reader.feed(std::string_view(bytes).substr(at, length));
      at += length;
    }
    EXPECT_EQ(shown(reader.finish()), whole) << name;
  }
}

TEST(TestStream, SurvivesChangedBytes) {
  std::mt19937 random(11);
  for (const std::string& name : recorded::names()) {
    std::string bytes = test_output_of(recorded::load(name)).substr(0, 20'000);
    if (bytes.empty()) continue;
    for (int round = 0; round < 20; ++round) {
      std::string changed = bytes;
      for (int i = 0; i < 8; ++i) {
        const std::size_t at =
            std::uniform_int_distribution<std::size_t>(0, changed.size() - 1)(random);
        changed[at] = static_cast<char>(std::uniform_int_distribution<int>(0, 255)(random));
      }
      const TestStream stream = read_test_stream(changed);
      EXPECT_LE(stream.events + stream.non_json_lines, changed.size());
    }
  }
}

}  // namespace
}  // namespace cupel::worker::go
