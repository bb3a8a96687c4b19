#include "worker/core/change/gates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::worker::change {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> names(const std::vector<GateFinding>& gates) {
  std::vector<std::string> all;
  for (const auto& one : gates) all.emplace_back(name(one.gate));
  return all;
}

constexpr const char* kBase =
    "module ex.test/m\n\ngo 1.24\n\nrequire (\n\tex.test/a v1.0.0\n\tex.test/b v1.0.0\n\tex.test/c "
    "v1.0.0 // indirect\n)\n";

std::string base_with(const std::string& from, const std::string& to) {
  std::string text = kBase;
  const auto at = text.find(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

std::vector<std::string> gates_of(const std::string& after, GateRules rules = {}) {
  if (rules.targets.empty()) rules.targets = {{"ex.test/a", "v1.1.0"}};
  return names(gate_b(parse_go_mod(kBase), parse_go_mod(after), rules));
}

const std::string kUpgraded = base_with("ex.test/a v1.0.0", "ex.test/a v1.1.0");

TEST(Gates, AnUpgradeThatOnlySetsItsTargetPasses) {
  EXPECT_THAT(gates_of(kUpgraded), IsEmpty());
}

TEST(Gates, EveryOtherLineOfAGoModHasItsCode) {
  struct Row {
    const char* line;
    const char* gate;
  };
  for (const Row& row : std::vector<Row>{
           {"toolchain go1.26.0\n", "toolchain_changed"},
           {"replace ex.test/x => ./x\n", "replace_changed"},
           {"exclude ex.test/x v1.0.0\n", "exclude_changed"},
           {"retract v1.0.0\n", "retract_changed"},
           {"tool ex.test/a/cmd\n", "tool_changed"},
           {"godebug panicnil=1\n", "godebug_changed"},
           {"ignore ./x\n", "ignore_changed"},
           {"require ex.test/new v1.0.0\n", "direct_dependency_added"},
           {"require ex.test/new v1.0.0 // indirect\n", "increase_outside_closure"},
       }) {
    EXPECT_THAT(gates_of(kUpgraded + row.line), ElementsAre(row.gate)) << row.line;
  }
  EXPECT_THAT(gates_of("module ex.test/other\n" + kUpgraded.substr(17)),
              ElementsAre("module_path_changed"));
  auto go = kUpgraded;
  go.replace(go.find("go 1.24"), 7, "go 1.25.0");
  EXPECT_THAT(gates_of(go), ElementsAre("go_directive_changed"));
}

TEST(Gates, RequirementsMayOnlyMoveForAReason) {
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_THAT(gates_of(kBase), ElementsAre("target_not_set"));
  EXPECT_THAT(gates_of(with(kUpgraded, "ex.test/b v1.0.0", "ex.test/b v0.9.0")),
              ElementsAre("version_decreased"));
  EXPECT_THAT(gates_of(with(kUpgraded, "ex.test/b v1.0.0", "ex.test/b v1.0.1")),
              ElementsAre("increase_outside_closure"));
  GateRules explained;
  explained.closure = {"ex.test/b"};
  EXPECT_THAT(gates_of(with(kUpgraded, "ex.test/b v1.0.0", "ex.test/b v1.0.1"), explained),
              IsEmpty());
  EXPECT_THAT(gates_of(with(kUpgraded, "\tex.test/b v1.0.0\n", "")),
              ElementsAre("direct_dependency_removed"));
  EXPECT_THAT(gates_of(with(kUpgraded, "ex.test/b v1.0.0", "ex.test/b v1.0.0 // indirect")),
              ElementsAre("direct_became_indirect"));
  EXPECT_THAT(gates_of(with(kUpgraded, "\tex.test/c v1.0.0 // indirect\n", "")), IsEmpty())
      << "an indirect one may leave";
}

TEST(Gates, KindsMayDoWhatTheyAreFor) {
  GateRules rules;
  rules.may_replace = true;
  EXPECT_THAT(gates_of(kUpgraded + "replace ex.test/a => ./x\n", rules), IsEmpty());
  rules = {};
  rules.may_raise_go = true;
  auto go = kUpgraded;
  go.replace(go.find("go 1.24"), 7, "go 1.26");
  EXPECT_THAT(gates_of(go, rules), IsEmpty());
}

BuildList modules(const std::vector<std::pair<std::string, std::string>>& all) {
  BuildList list;
  for (const auto& [path, version] : all) {
    ListedModule module;
    module.path = path;
    module.version = version;
    list.emplace(path, module);
  }
  return list;
}

TEST(Gates, TheBuildListMovesOnlyInsideTheClosure) {
  GateRules rules;
  rules.targets = {{"a", "v1.1.0"}};
  rules.closure = {"c"};
  const auto before = modules({{"a", "v1.0.0"}, {"b", "v1.0.0"}, {"c", "v1.0.0"}, {"d", "v1.0.0"}});
  const auto judged = [&](const BuildList& after) {
    return names(gate_build_list(before, after, rules));
  };
  EXPECT_THAT(judged(modules({{"a", "v1.1.0"}, {"b", "v1.0.0"}, {"c", "v1.5.0"}})), IsEmpty());
  EXPECT_THAT(judged(modules({{"a", "v1.0.0"}, {"b", "v1.0.0"}})),
              ElementsAre("target_not_in_build_list"))
      << "a tidy dropped the target";
  EXPECT_THAT(judged(modules({{"a", "v1.1.0"}, {"b", "v1.1.0"}})), ElementsAre("outside_closure"));
  EXPECT_THAT(judged(modules({{"a", "v1.1.0"}, {"e", "v1.0.0"}})), ElementsAre("outside_closure"));
  EXPECT_THAT(judged(modules({{"a", "v1.1.0"}, {"c", "v0.9.0"}})),
              ElementsAre("version_decreased"));
}

TEST(Gates, EveryLineOfGoSumIsExplained) {
  ManifestSide before;
  before.modules = modules({{"a", "v1.0.0"}, {"b", "v1.0.0"}});
  before.sum = "a v1.0.0 h1:a=\na v1.0.0/go.mod h1:am=\nb v1.0.0 h1:b=\nb v1.0.0/go.mod h1:bm=\n";
  ManifestSide after;
  after.modules = modules({{"a", "v1.1.0"}, {"b", "v1.0.0"}});
  const ModuleGraph graph = {{"a@v1.1.0", {"c@v1.0.0"}}};
  const auto judged = [&](const std::string& sum) {
    after.sum = sum;
    std::vector<std::string> details;
    for (const auto& one : gate_go_sum(before, after, graph)) details.push_back(one.detail);
    return details;
  };
  const std::string rest = "b v1.0.0 h1:b=\nb v1.0.0/go.mod h1:bm=\n";
  const std::string moved = "a v1.1.0 h1:x=\na v1.1.0/go.mod h1:y=\n";
  EXPECT_THAT(judged(moved + rest), IsEmpty());
  EXPECT_THAT(judged(moved + rest + "c v1.0.0/go.mod h1:c=\n"), IsEmpty());
  EXPECT_THAT(judged(moved + rest + "evil v1.0.0 h1:e=\n"), ElementsAre("added: evil v1.0.0"));
  EXPECT_THAT(judged(moved + "b v1.0.0 h1:other=\nb v1.0.0/go.mod h1:bm=\n"),
              ElementsAre("changed: b v1.0.0"));
  EXPECT_THAT(judged(moved + "b v1.0.0 h1:b=\n"), ElementsAre("removed: b v1.0.0/go.mod"));
}

TEST(Gates, AStaleLineOfGoSumThatTidyAloneDropsIsExplained) {
  ManifestSide before;
  before.modules = modules({{"a", "v1.0.0"}, {"b", "v1.0.0"}});
  before.sum = "a v1.0.0/go.mod h1:am=\nb v1.0.0 h1:b=\nb v1.0.0/go.mod h1:bm=\n";
  ManifestSide after;
  after.modules = modules({{"a", "v1.1.0"}, {"b", "v1.0.0"}});
  after.sum = "a v1.1.0/go.mod h1:y=\nb v1.0.0/go.mod h1:bm=\n";
  ASSERT_TRUE(lost_sums(before, after));

  EXPECT_THAT(names(gate_go_sum(before, after, {})), ElementsAre("gosum_unexplained"));
  EXPECT_THAT(gate_go_sum(before, after, {}, "a v1.0.0/go.mod h1:am=\nb v1.0.0/go.mod h1:bm=\n"),
              IsEmpty());
  // Tidy alone keeps it: the change took it away.
  EXPECT_THAT(names(gate_go_sum(before, after, {}, before.sum)), ElementsAre("gosum_unexplained"));
  // Of a version that left nothing has to be asked.
  after.sum = "a v1.1.0/go.mod h1:y=\nb v1.0.0 h1:b=\nb v1.0.0/go.mod h1:bm=\n";
  EXPECT_FALSE(lost_sums(before, after));
}

TEST(Gates, AGoLineThatSaysWhatItsAbsenceMeansIsNoChange) {
  const std::string without = "module ex.test/m\n\nrequire ex.test/a v1.0.0\n";
  const auto judged = [&](const std::string& line) {
    GateRules rules;
    rules.targets = {{"ex.test/a", "v1.1.0"}};
    const std::string after = "module ex.test/m\n\n" + line + "require ex.test/a v1.1.0\n";
    return names(gate_a(parse_go_mod(without), parse_go_mod(after), rules));
  };
  EXPECT_THAT(judged("go 1.16\n\n"), IsEmpty());
  EXPECT_THAT(judged("go 1.17\n\n"), ElementsAre("go_directive_changed"));
}

TEST(Gates, TheClosureIsWhatATargetReaches) {
  const auto graph = parse_module_graph(
      "m a@v1.1.0\nm z@v1.0.0\na@v1.1.0 b@v1.0.0\na@v1.1.0 go@1.24\nb@v1.0.0 "
      "c@v1.0.0\nz@v1.0.0 d@v1.0.0\ngo@1.24 toolchain@go1.24\n");
  ASSERT_TRUE(graph);
  EXPECT_THAT(closure_of(*graph, {{"a", "v1.1.0"}}), testing::UnorderedElementsAre("b", "c"));
  EXPECT_FALSE(parse_module_graph("one\n"));
}

}  // namespace
}  // namespace cupel::worker::change
