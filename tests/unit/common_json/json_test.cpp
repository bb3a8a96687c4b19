#include "common/core/json.hpp"

#include "common/core/limits.hpp"
#include "tests/support/filled.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cupel {
namespace {

using nlohmann::json;
using tests::filled;
using tests::filled_alternatives;
using tests::same;

// Through text, as the store does it.
json through_text(const json& value) {
  return json::parse(value.dump());
}

TEST(Json, KeepsEveryMemberOfAResult) {
  const auto result = filled<TaskResult>();

  const auto back = result_from_json(through_text(to_json(result)));

  ASSERT_TRUE(back) << back.error().text();
  EXPECT_TRUE(same(result, *back)) << to_json(*back).dump(2);
}

TEST(Json, KeepsEveryMemberOfASpecWithEveryKindOfWorkAndSource) {
  for (const Work& work : filled_alternatives(Work())) {
    for (const Source& source : filled_alternatives(Source())) {
      auto spec = filled<TaskSpec>();
      spec.work = work;
      if (auto* const acquire = std::get_if<AcquireSource>(&spec.work)) acquire->source = source;

      const auto back = spec_from_json(through_text(to_json(spec)));

      ASSERT_TRUE(back) << back.error().text();
      EXPECT_TRUE(same(spec, *back)) << to_json(*back).dump(2);
    }
  }
}

TEST(Json, KeepsEveryMemberOfThePiecesOfARecord) {
  for (const Change& change : filled_alternatives(Change())) {
    EXPECT_EQ(change_from_json(to_json(change)).value(), change) << kind_of(change);
  }
  const auto facts = filled<SourceFacts>();
  const auto modules = filled<ModuleFacts>();
  const auto check = filled<CheckRecord>();
  const auto evidence = filled<Evidence>();
  const auto log = filled<LogRef>();
  const auto finding = filled<Finding>();
  const auto unit = filled<UnitInfo>();
  const auto settings = filled<ValidationSettings>();

  EXPECT_TRUE(same(facts, source_facts_from_json(through_text(to_json(facts))).value()));
  EXPECT_TRUE(same(modules, module_facts_from_json(through_text(to_json(modules))).value()));
  EXPECT_TRUE(same(check, check_from_json(through_text(to_json(check))).value()));
  EXPECT_TRUE(same(evidence, evidence_from_json(through_text(to_json(evidence))).value()));
  EXPECT_TRUE(same(log, log_from_json(through_text(to_json(log))).value()));
  EXPECT_TRUE(same(finding, finding_from_json(through_text(to_json(finding))).value()));
  EXPECT_TRUE(same(unit, unit_from_json(through_text(to_json(unit))).value()));
  EXPECT_TRUE(same(settings, settings_from_json(through_text(to_json(settings))).value()));
}

TEST(Json, KeepsDefaults) {
  EXPECT_TRUE(same(TaskResult(), result_from_json(through_text(to_json(TaskResult()))).value()));
  EXPECT_TRUE(same(TaskSpec(), spec_from_json(through_text(to_json(TaskSpec()))).value()));
}

TEST(Json, ShowsWordsAndTextForms) {
  auto result = TaskResult();
  result.task = TaskId{33};
  result.outcome = Outcome::inconclusive;
  result.reason = Reason::resource_memory;
  result.ending = Ending::lost_workspace;
  result.finished = WallTime{1'000'000};

  const json shown = to_json(result);

  EXPECT_EQ(shown["task"], "t-11");
  EXPECT_EQ(shown["outcome"], "inconclusive");
  EXPECT_EQ(shown["reason"], "resource_memory");
  EXPECT_EQ(shown["ending"], "lost_workspace");
  EXPECT_EQ(shown["finished"], "1970-01-01T00:00:01.000000Z");
  EXPECT_EQ(shown["source"], nullptr);
}

TEST(Json, NamesThePathOfAWrongMember) {
  json spec = to_json(filled<TaskSpec>());
  spec["work"] = {{"type", "acquire_source"}, {"source", {{"type", "git"}, {"url", 7}}}};

  const auto back = spec_from_json(spec);

  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, Errc::bad_value);
  EXPECT_EQ(back.error().what, "work.source.url: 7 is not a text");
}

TEST(Json, NamesThePlaceInAList) {
  json result = to_json(filled<TaskResult>());
  result["checks"][1]["outcome"] = "good";

  const auto back = result_from_json(result);

  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().what, "checks[1].outcome: \"good\" is not a word of its list");
}

TEST(Json, RefusesAnUnknownTypeAndNoType) {
  EXPECT_EQ(source_from_json(json{{"type", "svn"}}).error().what,
            "type: \"svn\" is not a known type");
  EXPECT_EQ(source_from_json(json{{"url", "x"}}).error().what, "type: null is not a known type");
  EXPECT_EQ(source_from_json(json::array()).error().what, "the value: [] is not an object");
}

TEST(Json, RefusesNumbersThatDoNotFit) {
  json check = to_json(CheckRecord());
  check["packages"] = -1;
  EXPECT_EQ(check_from_json(check).error().code, Errc::bad_value);
  check["packages"] = 4294967296ULL;
  EXPECT_EQ(check_from_json(check).error().code, Errc::bad_value);
  check["packages"] = 1.5;
  EXPECT_EQ(check_from_json(check).error().code, Errc::bad_value);
  check["packages"] = 4294967295ULL;
  EXPECT_TRUE(check_from_json(check));
}

TEST(Json, RefusesTheIdOfAnotherKind) {
  json spec = to_json(TaskSpec());
  spec["id"] = "c-1";

  EXPECT_EQ(spec_from_json(spec).error().what, "id: \"c-1\" is not an id such as t-1");
}

TEST(Json, ReadsRecordsOfOlderAndNewerVersions) {
  const auto evidence = evidence_from_json(json{{"image", "golang"}, {"colour", "blue"}});

  ASSERT_TRUE(evidence);
  EXPECT_EQ(evidence->image, "golang");
}

TEST(Json, WritesBytesThatAreNoTextSoThatTheyCanBePrinted) {
  Finding finding;
  finding.message = std::string("bad \xFF and NUL ") + '\0' + "end";

  const std::string text = to_json(finding).dump();

  EXPECT_NE(text.find("bad \uFFFD and NUL \uFFFDend"), std::string::npos) << text;
}

TEST(Json, RefusesMoreUnitsThanARepositoryMayHave) {
  json facts = to_json(SourceFacts());
  for (std::size_t i = 0; i <= kUnitsPerRepositoryMax; ++i)
    facts["units"].push_back(json::object());

  EXPECT_EQ(source_facts_from_json(facts).error().what, "units: 201 is not at most 200 entries");
}

}  // namespace
}  // namespace cupel
