#include "tests/tidy/rules.hpp"

#include <gtest/gtest.h>

namespace cupel::tidy {
namespace {

TEST(CheckArrows, LetsAModuleUseItselfAndWhatComesBeforeIt) {
  EXPECT_TRUE(check_arrows({"worker/app/a.cpp",
                            "#include \"worker/core/b.hpp\"\n#include \"common/core/c.hpp\"\n"})
                  .empty());
}

TEST(CheckArrows, RefusesASidewaysInclude) {
  const auto found = check_arrows({"worker/app/a.cpp", "\n#include \"coordinator/core/b.hpp\"\n"});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], "worker/app/a.cpp:2: worker may not include coordinator/core/b.hpp");
  EXPECT_FALSE(check_arrows({"common/core/a.hpp", "#include \"worker/core/b.hpp\"\n"}).empty());
  EXPECT_FALSE(check_arrows({"cli/a.cpp", "#  include <worker/core/b.hpp>\n"}).empty());
}

TEST(CheckArrows, RefusesATestsFileInTheProduct) {
  EXPECT_FALSE(check_arrows({"common/core/a.cpp", "#include \"tests/support/b.hpp\"\n"}).empty());
}

TEST(CheckPurity, FindsClocksThreadsRandomnessAndIo) {
  for (const char* line :
       {"auto t = Clock::now();", "std::random_device seed;", "std::thread t;",
        "#include <boost/asio/awaitable.hpp>", "#include <zmq.hpp>", "#include <git2.h>",
        "#include <soci/soci.h>", "#include <spdlog/spdlog.h>", "#include <thread>"}) {
    EXPECT_FALSE(check_purity({"worker/core/a.cpp", std::string(line) + "\n"}).empty()) << line;
  }
}

TEST(CheckPurity, AllowsTimeThatIsPassedInAndWordsInComments) {
  EXPECT_TRUE(check_purity({"worker/core/a.cpp",
                            "f(TimePoint now);  // never Clock::now()\n#include <chrono>\n"})
                  .empty());
}

TEST(CheckBans, AllowsDetachedOnlyInTests) {
  EXPECT_FALSE(check_bans({"worker/app/a.cpp", "co_spawn(ex, f(), asio::detached);\n"}).empty());
  EXPECT_TRUE(check_bans({"tests/unit/a.cpp", "co_spawn(ex, f(), asio::detached);\n"}).empty());
}

TEST(CheckBans, FindsRegistryHosts) {
  EXPECT_FALSE(check_bans({"docs/a.md", std::string("https://proxy.") + "golang.org\n"}).empty());
}

TEST(CheckCrashPoints, WantsOneBeforeARename) {
  const std::string rename = "  if (::rename(a, b) != 0) return;\n";
  EXPECT_EQ(check_crash_points({"worker/a.cpp", rename}).size(), 1U);
  EXPECT_TRUE(check_crash_points({"worker/a.cpp", "  CUPEL_CRASH_POINT(\"a.rename\");\n" + rename})
                  .empty());
  EXPECT_TRUE(check_crash_points({"cli/a.cpp", rename}).empty());
}

TEST(CheckOwnHeaderFirst, NamesWhatStandsBeforeIt) {
  const std::set<std::string> headers = {"common/a/x.hpp"};
  EXPECT_TRUE(check_own_header_first({"common/a/x.cpp", "\n#include \"common/a/x.hpp\"\n"}, headers)
                  .empty());
  EXPECT_TRUE(check_own_header_first({"common/a/y.cpp", "#include <vector>\n"}, headers).empty());
  EXPECT_FALSE(check_own_header_first(
                   {"common/a/x.cpp", "#include <vector>\n#include \"common/a/x.hpp\"\n"}, headers)
                   .empty());
  EXPECT_FALSE(check_own_header_first({"common/a/x.cpp", "int x;\n"}, headers).empty());
}

TEST(CheckNamedTests, FindsWhatIsMissingAndRowsWithoutATest) {
  const std::set<std::string> declared = declared_tests(
      {"tests/a_test.cpp", "TEST_F(Suite, Name) {\n  TEST(Not, Here)\nTEST(Other,  One) {\n"});
  EXPECT_EQ(declared, (std::set<std::string>{"Suite.Name", "Other.One"}));
  EXPECT_EQ(declared_tests({"a.py", "    def test_it(self):\n"}), std::set<std::string>{"test_it"});
  const SourceFile document{"docs/a.md",
                            "| failure | here | test |\n|---|---|---|\n"
                            "| a | `Suite.None` | `Suite.Name`, `Other.One` |\n"
                            "| b | c | `Suite.None` |\n"
                            "| d | e | later |\n\n| f | `Suite.None` |\n"};
  EXPECT_EQ(check_named_tests(document, declared),
            (Complaints{"docs/a.md:4: no such test: Suite.None", "docs/a.md:5: names no test"}));
}

TEST(CheckNamedMetrics, FindsWhatNoProgramHas) {
  const std::set<std::string> declared =
      declared_metrics({"a.cpp", "add(\"cupel_up\"); add(\"cupel_kept_total\", \"cupel help\");"});
  EXPECT_EQ(declared, (std::set<std::string>{"cupel_up", "cupel_kept_total"}));
  const SourceFile document{"docs/a.md",
                            "`cupel_up` and `cupel_kept_total{how}`, `cupel_kept_*`\n"
                            "`cupel_down`, `cupel_kept`\n`cupel_lost_*` cupel_said\n"};

  EXPECT_EQ(check_named_metrics(document, declared),
            (Complaints{"docs/a.md:2: no such metric: cupel_down",
                        "docs/a.md:2: no such metric: cupel_kept",
                        "docs/a.md:3: no such metric: cupel_lost_"}));
}

TEST(CheckLength, CountsLines) {
  EXPECT_TRUE(check_length({"a.cpp", "1\n2\n"}, 2).empty());
  EXPECT_FALSE(check_length({"a.cpp", "1\n2\n3\n"}, 2).empty());
}

}  // namespace
}  // namespace cupel::tidy
