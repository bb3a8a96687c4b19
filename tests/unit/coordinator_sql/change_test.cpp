#include "coordinator/sql/store.hpp"
#include "tests/unit/coordinator_sql/fixture.hpp"

#include <algorithm>

namespace cupel::coordinator::sql {
namespace {

using ChangeStoreTest = StoreTest;
CUPEL_ON_BOTH_STORES(ChangeStoreTest);

TEST_P(ChangeStoreTest, ATasksStepComesBack) {
  auto batch = small_campaign();
  for (Transition& transition : batch) {
    if (auto* created = std::get_if<TaskCreated>(&transition)) created->task.step = 0x0007'0304;
  }
  ASSERT_TRUE(commit(*writer_, std::move(batch)));

  EXPECT_EQ(reader_->recover()->tasks.front().step, 0x0007'0304U);
}

TEST_P(ChangeStoreTest, AnOpenUnitsProgressIsTheNewestAndGoesWithItsComparison) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  ASSERT_TRUE(commit(*writer_, {UnitProgressed{kUnit, kCampaign, "one"}}));
  ASSERT_TRUE(commit(*writer_, {UnitProgressed{kUnit, kCampaign, "two"}}));

  ASSERT_EQ(reader_->recover()->progress.size(), 1U);
  EXPECT_EQ(reader_->recover()->progress.front().body, "two");
  EXPECT_EQ(reader_->results(kCampaign, {}, 10, std::nullopt)->front().comparison, "");

  ASSERT_TRUE(commit(*writer_, {UnitCompared{kUnit, kCampaign, R"({"patch":{}})"}}));
  EXPECT_TRUE(reader_->recover()->progress.empty());
  EXPECT_EQ(reader_->results(kCampaign, {}, 10, std::nullopt)->front().comparison,
            R"({"patch":{}})");
}

TEST_P(StoreTest, ABeforeSideIsFoundByItsNameUntilItsTimeIsOver) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  const auto found = [this](const std::string& name, std::int64_t at) {
    auto applied = commit(*writer_, {BaselineWanted{kUnit, name, {at}}});
    EXPECT_TRUE(applied) << applied.error().text();
    return applied ? applied->baselines : std::map<UnitId, BaselineRow>{};
  };
  ASSERT_TRUE(commit(*writer_, {BaselineKept{"n", kCampaign, kUnit, "one", {10}, {100}}}));
  ASSERT_TRUE(commit(*writer_, {BaselineKept{"n", kCampaign, kUnit, "two", {20}, {100}},
                                BaselineKept{"m", kCampaign, kUnit, "other", {20}, {300}}}));

  const auto known = found("n", 99);
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known.at(kUnit).body, "two");
  EXPECT_EQ(known.at(kUnit).campaign, kCampaign);
  EXPECT_EQ(known.at(kUnit).unit, kUnit);
  EXPECT_EQ(known.at(kUnit).at.us, 20);
  EXPECT_TRUE(found("x", 99).empty());
  EXPECT_TRUE(found("n", 100).empty());
  // What is over goes with the next one that is kept.
  ASSERT_TRUE(commit(*writer_, {BaselineKept{"k", kCampaign, kUnit, "k", {200}, {300}}}));
  EXPECT_TRUE(found("n", 50).empty());
  ASSERT_TRUE(commit(*writer_, {BaselineDropped{"m"}}));
  EXPECT_TRUE(found("m", 200).empty());
  EXPECT_EQ(found("k", 200).size(), 1U);
}

TEST_P(StoreTest, TheTimeOfAPinnedCommitComesBack) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  const RepositoryId repository = reader_->repositories(kCampaign)->front().id;

  ASSERT_TRUE(commit(*writer_, {RepositoryPinned{repository, "c", "t", {}, {1'234'567}}}));

  EXPECT_EQ(reader_->repositories(kCampaign)->front().committed.us, 1'234'567);
}

FlakeSeen flake(const std::string& repository, std::int64_t at) {
  return {repository, "example.com/m", "test|p|TestA", std::string(4000, 's'), 1, 4, kCampaign,
          {at}};
}

TEST_P(ChangeStoreTest, FlakesAddUpByWhatTheyAre) {
  ASSERT_TRUE(commit(*writer_, {flake("a", 10), flake("a", 20), flake("b", 15)}));

  const auto all = reader_->flakes("", {});
  ASSERT_TRUE(all) << all.error().text();
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(all->front().repository, "a");
  EXPECT_EQ(all->front().hits, 2U);
  EXPECT_EQ(all->front().runs, 8U);
  EXPECT_EQ(all->front().times, 2U);
  EXPECT_EQ(all->front().first.us, 10);
  EXPECT_EQ(all->front().last.us, 20);

  EXPECT_EQ(reader_->flakes("b", {})->size(), 1U);
  EXPECT_FALSE(reader_->flakes("", {.limit = 200, .token = "x"}));
  EXPECT_FALSE(reader_->flakes("", {.limit = 200, .token = "20"}));
}

TEST_P(ChangeStoreTest, PagesOfFlakesLoseNoneOfThoseSeenAtOneMoment) {
  ASSERT_TRUE(commit(*writer_, {flake("a", 20), flake("b", 20), flake("c", 20), flake("d", 10)}));

  std::string seen;
  std::string token;
  for (int pages = 0; pages < 5; ++pages) {
    const auto page = reader_->flakes("", {.limit = 1, .token = token});
    ASSERT_TRUE(page) << page.error().text();
    if (page->empty()) break;
    seen += page->front().repository;
    token = std::to_string(page->front().last.us) + "-" + page->front().name;
  }

  std::ranges::sort(seen);
  EXPECT_EQ(seen, "abcd");
}

}  // namespace
}  // namespace cupel::coordinator::sql
