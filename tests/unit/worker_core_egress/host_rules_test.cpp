#include "worker/core/egress/host_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace cupel::worker::egress {
namespace {

const Bridge kBridge{.name = "cup-abc", .gateway = "172.30.0.1", .port = 4711};

std::string line(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += (text.empty() ? "" : " ") + argument;
  return text;
}

std::vector<std::string> lines(const std::vector<RuleStep>& steps) {
  std::vector<std::string> all;
  for (const RuleStep& step : steps) all.push_back(line(step.arguments));
  return all;
}

TEST(EgressRules, AllIsDroppedBeforeTheJumpAndBeforeTheOneException) {
  const auto steps = lines(rules_v4(kBridge));
  const auto at = [&](const std::string& text) {
    const auto found = std::ranges::find(steps, text);
    EXPECT_NE(found, steps.end()) << text;
    return found - steps.begin();
  };
  const auto drop = at("-t raw -I CUPEL-cup-abc 1 -j DROP");
  const auto open = at("-t raw -I CUPEL-cup-abc 1 -d 172.30.0.1/32 -p tcp --dport 4711 -j ACCEPT");
  const auto jump = at("-t raw -I PREROUTING 1 -i cup-abc -j CUPEL-cup-abc");
  EXPECT_LT(drop, open);
  EXPECT_LT(drop, jump);
}

TEST(EgressRules, NothingIsAddedTwiceAndNoRuleOfOthersIsTouched) {
  for (const auto& steps : {rules_v4(kBridge), rules_v6(kBridge), removal(kBridge.name)}) {
    for (const RuleStep& step : steps) {
      const std::string text = line(step.arguments);
      EXPECT_NE(text.find("CUPEL-cup-abc"), std::string::npos) << text;
      if (text.find("PREROUTING") == std::string::npos && text.find("INPUT") == std::string::npos)
        continue;
      EXPECT_NE(text.find("-i cup-abc"), std::string::npos) << text;
      const bool guarded = step.may_fail || !step.unless.empty();
      EXPECT_TRUE(guarded) << text;
    }
  }
}

TEST(EgressRules, EveryCheckIsOfARuleThatIsMade) {
  const auto made = lines(rules_v4(kBridge));
  for (const auto& check : checks_v4(kBridge)) {
    std::string wanted = line(check);
    wanted.replace(wanted.find("-C"), 2, "-I");
    const auto chain_end = wanted.find(' ', wanted.find("-I ") + 3);
    wanted.insert(chain_end, " 1");
    EXPECT_TRUE(std::ranges::count(made, wanted) == 1) << wanted;
  }
}

TEST(EgressRules, NamesFitAndDiffer) {
  std::set<std::string> names;
  for (std::uint64_t worker = 1; worker <= 2000; ++worker) {
    const std::string name = bridge_name(worker * 0x123456789ULL);
    EXPECT_LE(name.size(), 14U);
    EXPECT_LE(("CUPEL-" + name).size(), 28U) << "longer than a chain's name may be";
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 2000U);
}

}  // namespace
}  // namespace cupel::worker::egress
