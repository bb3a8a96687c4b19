// What the store tells those who ask: summaries, pages, events.
#include "tests/unit/coordinator_sql/fixture.hpp"

namespace cupel::coordinator::sql {
namespace {

TEST_P(StoreTest, TheCountsOfASummaryAddUp) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  UnitRow finished;
  finished.id = {32};
  finished.campaign = kCampaign;
  finished.repository = {22};
  finished.verdict = Verdict::refused;
  finished.reason = Reason::no_go_mod;
  RepositoryRow second;
  second.id = {22};
  second.campaign = kCampaign;
  RepositoryRow third;
  third.id = {23};
  third.campaign = kCampaign;
  ASSERT_TRUE(commit(*writer_,
                     {RepositoryCreated{second}, RepositoryCreated{third}, UnitCreated{finished}}));

  const auto summary = reader_->campaign(kCampaign);

  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->units, 2U);
  EXPECT_EQ(summary->units_open, 1U);
  EXPECT_EQ(summary->verdicts.at(Verdict::refused), 1U);
  EXPECT_EQ(summary->repositories, 3U);
  EXPECT_EQ(summary->repositories_open, 1U);
  EXPECT_EQ(summary->tasks.at(TaskState::queued), 1U);
  const auto refused = reader_->results(kCampaign, {}, 10, Verdict::refused);
  ASSERT_EQ(refused->size(), 1U);
  EXPECT_EQ((*refused)[0].unit.reason, Reason::no_go_mod);
}

TEST_P(StoreTest, PagesOfCampaignsAndResultsMeetWithoutOverlap) {
  std::vector<Transition> batch;
  for (std::uint64_t i = 1; i <= 5; ++i) {
    CampaignRow campaign;
    campaign.id = {i};
    batch.push_back(CampaignCreated{campaign});
    UnitRow unit;
    unit.id = {100 + i};
    unit.campaign = {1};
    batch.push_back(UnitCreated{unit});
  }
  ASSERT_TRUE(commit(*writer_, batch));

  const auto first = reader_->campaigns({2, ""}, std::nullopt);
  const auto rest = reader_->campaigns({10, CampaignId{4}.text()}, CampaignState::running);
  const auto units = reader_->results({1}, {102}, 2, std::nullopt);

  ASSERT_EQ(first->size(), 2U);
  EXPECT_EQ((*first)[1].campaign.id, CampaignId{4});
  ASSERT_EQ(rest->size(), 3U);
  EXPECT_EQ((*rest)[0].campaign.id, CampaignId{3});
  ASSERT_EQ(units->size(), 2U);
  EXPECT_EQ((*units)[0].unit.id, UnitId{103});
  EXPECT_EQ(reader_->campaigns({10, "nonsense"}, std::nullopt).error().code, Errc::bad_value);
}

TEST_P(StoreTest, EventsAreReadAfterANumber) {
  ASSERT_TRUE(
      commit(*writer_, {EventAppended{{1}, "a", R"({"x":1})", {1}},
                        EventAppended{{2}, "b", "{}", {2}}, EventAppended{{1}, "c", "{}", {3}}}));

  const auto all = reader_->events_after(1, std::nullopt, 10);
  const auto one = reader_->events_after(0, CampaignId{1}, 10);

  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].type, "c") << "a commit's events are numbered campaign by campaign";
  EXPECT_EQ((*all)[1].type, "b");
  ASSERT_EQ(one->size(), 2U);
  EXPECT_EQ((*one)[0].body, R"({"x":1})");
  EXPECT_EQ((*one)[1].type, "c");
  EXPECT_EQ((*one)[1].seq, 2U);
  EXPECT_EQ(*reader_->last_event(), 3U);
}

TEST_P(StoreTest, FindsACampaignByItsIdempotencyKey) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));

  EXPECT_EQ(*reader_->find_idempotent("alice", "once"), kCampaign);
  EXPECT_EQ(*reader_->find_idempotent("bob", "once"), std::nullopt);
  EXPECT_EQ(*reader_->find_idempotent("alice", ""), std::nullopt);
}

TEST_P(StoreTest, WhatIsUnknownIsNotFound) {
  EXPECT_EQ(reader_->campaign({99}).error().code, Errc::not_found);
  EXPECT_EQ(reader_->task({99}).error().code, Errc::not_found);
}

}  // namespace
}  // namespace cupel::coordinator::sql
