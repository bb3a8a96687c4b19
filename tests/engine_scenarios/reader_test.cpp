#include "tests/engine_scenarios/reader.hpp"

#include "tests/engine_scenarios/calls.hpp"
#include "tests/engine_scenarios/scenario.hpp"

#include <gtest/gtest.h>

namespace cupel::scenarios {
namespace {

std::string faults_of(const std::string& text) {
  std::string all;
  for (const text::Diagnostic& fault : read_scenario(text, "f").faults) all += fault.text() + "\n";
  return all;
}

const std::string kRest = "\ndrive: [{call: ping, expect: {}}]\ncalls: any\n";

TEST(ReadScenario, RefusesWhatItDoesNotKnowWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"scenario: x\nbudget: {ping: 1s}" + kRest, "f:2:1: scenario: unknown key 'budget'"},
      {"scenario: x\nbudgets: {pong: 1s}" + kRest, "f:2:11: budgets: unknown key 'pong'"},
      {"scenario: x\nbudgets: {ping: 1}" + kRest, "f:2:17: ping: must be a time"},
      {"scenario: x\nrules: [{on: GET /_ping, do: [sleep]}]" + kRest,
       "f:2:31: unknown action 'sleep'"},
      {"scenario: x\nrules: [{on: GET /_ping, do: [pause]}]" + kRest,
       "f:2:31: action 'pause' needs a value"},
      {"scenario: x\nrules: [{on: GET, do: [hang]}]" + kRest, "f:2:14: 'GET' is no call"},
      {"scenario: x\nrules: [{on: GET /v1.41/info, do: [hang]}]" + kRest,
       "the API version is not part of the path"},
      {"scenario: x\nrules: [{on: GET /_ping}]" + kRest, "f:2:9: rule: 'do' is missing"},
      {"scenario: x\nprogram: [{stdin: a}]" + kRest, "f:2:12: program step: unknown key 'stdin'"},
      {"scenario: x\nprogram: [{stdout: \"${nounce}\"}]" + kRest, "unknown placeholder ${nounce}"},
      {"scenario: x\nprogram: [{stdout: {hex: 0}}]" + kRest, "must be pairs of hex digits"},
      {"scenario: x\ndrive: [{call: pong, expect: {}}]\ncalls: any\n",
       "f:2:16: call: unknown call 'pong'"},
      {"scenario: x\ndrive: [{call: ping, expect: {exit_code: 0}}]\ncalls: any\n",
       "unknown key 'exit_code'"},
      {"scenario: x\ndrive: [{call: ping}]\ncalls: any\n", "f:2:9: step: 'expect' is missing"},
      {"scenario: x\ndrive: [{call: ping, run: {}, expect: {}}]\ncalls: any\n", "a step is one of"},
      {"scenario: x\ndrive: [{call: ping, expect: {}}]\n", "'calls' is missing"},
      {"scenario: x\ncalls: any\n", "'drive' is missing"},
      {"drive: [{call: ping, expect: {}}]\ncalls: any\n", "'scenario' is missing"},
      {"scenario: x\nscenario: y" + kRest, "f:2:1: "},
      {"scenario: [" + kRest, "not YAML"},
      {"- a\n", "f:1:1: scenario: must be a map"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string faults = faults_of(text);
    EXPECT_NE(faults.find(expected), std::string::npos) << text << "\n" << faults;
  }
  EXPECT_EQ(faults_of("scenario: x" + kRest), "");
}

TEST(ReadScenario, EveryFileEndsInAScenarioOrInAFault) {
  const std::string whole =
      "scenario: x\nbudgets: {ping: 1s}\nprogram: {steps: [{stdout: [a, {hex: 00}]}, {exit: {code: "
      "1}}]}\n"
      "rules: [{on: GET /_ping, times: 2, do: [{answer: {status: 500, headers: {A: b}}}]}]" +
      kRest;
  ASSERT_EQ(faults_of(whole), "");
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const ReadScenario read = read_scenario(whole.substr(0, cut), "f");
    EXPECT_NE(read.scenario.has_value(), !read.faults.empty()) << cut;
  }
}

TEST(ParseTime, TakesAUnitAndNothingElse) {
  EXPECT_EQ(parse_time("250ms"), std::chrono::milliseconds(250));
  EXPECT_EQ(parse_time("-2m"), std::chrono::minutes(-2));
  for (const char* const wrong : {"", "2", "s", "2 s", "1.5s", "9999999999s", "2sec"}) {
    EXPECT_FALSE(parse_time(wrong)) << wrong;
  }
}

// ---- calls -------------------------------------------------------------------------------------

CallPattern pattern(const std::string& text) {
  const ReadScenario read = read_scenario("scenario: x\nnever: ['" + text + "']" + kRest, "f");
  return read.scenario ? read.scenario->never.at(0) : CallPattern{};
}

TEST(Matches, AStarIsOneSegmentAndTwoAreTheRest) {
  const RecordedCall call =
      recorded_call("GET", "/v1.41/containers/c1/json?all=1&filters=%7B%22a%22%3A1%7D");

  EXPECT_EQ(call.version, "1.41");
  EXPECT_EQ(call.query.at("filters"), "{\"a\":1}");
  for (const char* const text :
       {"GET /containers/*/json", "* /containers/**", "GET /containers/c1/json?all=1",
        "GET /containers/*/json?force=none"}) {
    EXPECT_TRUE(matches(pattern(text), call)) << text;
  }
  for (const char* const text :
       {"POST /containers/*/json", "GET /containers/*", "GET /containers/*/json/*",
        "GET /containers/*/json?all=0", "GET /containers/*/json?all=none"}) {
    EXPECT_FALSE(matches(pattern(text), call)) << text;
  }
}

ExpectedGroup one(const std::string& text, std::uint64_t least = 1, std::uint64_t most = 1) {
  return {{ExpectedCall{.pattern = pattern(text), .times_min = least, .times_max = most}}};
}

std::vector<RecordedCall> calls(const std::string& letters) {
  std::vector<RecordedCall> all;
  for (const char c : letters) all.push_back(recorded_call("GET", std::string("/") + c));
  return all;
}

TEST(Differs, KeepsTheOrderButWhereAnyOrderIsSaid) {
  const ExpectedGroup both{{one("GET /b").calls.at(0), one("GET /c", 0, 2).calls.at(0)}};
  const std::vector<ExpectedGroup> expected = {one("GET /a", 1, UINT64_MAX), both,
                                               one("GET /a", 0, 1), one("GET /d")};

  for (const char* const good : {"abd", "aaacbd", "abccd", "acbcad"}) {
    EXPECT_EQ(differs(expected, calls(good)), std::nullopt) << good;
  }
  for (const char* const bad : {"", "a", "bd", "abcccd", "abdd", "abdx", "adb", "abaad"}) {
    EXPECT_TRUE(differs(expected, calls(bad))) << bad;
  }
}

TEST(Differs, ComparesTheBodyThatWasSent) {
  ExpectedGroup create = one("POST /containers/create");
  create.calls[0].body["/HostConfig/AutoRemove"] = Wanted{.is = "false"};
  RecordedCall call = recorded_call("POST", "/containers/create");

  call.body = R"({"HostConfig":{"AutoRemove":false}})";
  EXPECT_EQ(differs({create}, {call}), std::nullopt);
  call.body = R"({"HostConfig":{"AutoRemove":true}})";
  EXPECT_NE(differs({create}, {call})->find("body /HostConfig/AutoRemove is 'true'"),
            std::string::npos);
  call.body = "";
  EXPECT_NE(differs({create}, {call})->find("'absent'"), std::string::npos);
}

}  // namespace
}  // namespace cupel::scenarios
