// Dead letters in the store, and what a replay opens again.
#include "tests/unit/coordinator_sql/fixture.hpp"

namespace cupel::coordinator::sql {
namespace {

class LettersTest : public StoreTest {
 protected:
  DeadLetterRow letter(TaskId task = kTask, UnitId unit = kUnit) const {
    return {.task = task,
            .campaign = kCampaign,
            .repository = kRepository,
            .unit = unit,
            .kind = TaskKind::execute,
            .reason = Reason::engine,
            .message = "given up",
            .at = {50},
            .state = DeadLetterState::open,
            .handled = {}};
  }
  /// The one task is leased, given back for the last time, and its unit judged by it.
  void bury() {
    ASSERT_TRUE(commit(*writer_, small_campaign()));
    ASSERT_TRUE(commit(
        *writer_,
        {TaskLeased{kTask, kToken, kWorker, {40}},
         TaskReturned{kTask, kToken, TaskState::dead, 0, 3, {}, {50}, "engine"},
         DeadLetterAdded{letter()},
         UnitFinished{
             kUnit, Verdict::inconclusive, Reason::engine, Fault::fleet, "given up", kTask, {50}},
         UnitCompared{kUnit, kCampaign, "{}"},
         CampaignChanged{kCampaign, CampaignState::finished, {50}}}));
  }
};

CUPEL_ON_BOTH_STORES(LettersTest);

TEST_P(LettersTest, ALetterComesWithItsAttemptsItsUnitAndItsRepository) {
  bury();

  const auto list = reader_->dead_letters({}, DeadLetterState::open, {});

  ASSERT_TRUE(list) << list.error().text();
  ASSERT_EQ(list->size(), 1U);
  const DeadLetterView& view = list->front();
  EXPECT_EQ(view.letter.task, kTask);
  EXPECT_EQ(view.letter.kind, TaskKind::execute);
  EXPECT_EQ(view.letter.reason, Reason::engine);
  EXPECT_EQ(view.letter.message, "given up");
  EXPECT_EQ(view.letter.at.us, 50);
  EXPECT_EQ(view.repository.id, kRepository);
  ASSERT_EQ(view.units.size(), 1U);
  EXPECT_EQ(view.units[0].id, kUnit);
  ASSERT_EQ(view.task.attempts.size(), 1U);
  EXPECT_EQ(view.task.attempts[0].how, "engine");
  const auto one = reader_->dead_letter(kTask);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->letter.unit, kUnit);
  EXPECT_EQ(reader_->dead_letter(TaskId{99}).error().code, Errc::not_found);
}

TEST_P(LettersTest, ALetterWithoutAUnitHasThoseThatItDecided) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  ASSERT_TRUE(commit(
      *writer_,
      {DeadLetterAdded{letter(kTask, {})},
       UnitFinished{
           kUnit, Verdict::inconclusive, Reason::engine, Fault::fleet, "given up", kTask, {50}}}));

  const auto view = reader_->dead_letter(kTask);

  ASSERT_TRUE(view);
  ASSERT_EQ(view->units.size(), 1U);
  EXPECT_EQ(view->units[0].id, kUnit);
}

TEST_P(LettersTest, ListsByCampaignAndStateInPagesTheNewestFirst) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  for (std::uint64_t i = 1; i <= 5; ++i)
    ASSERT_TRUE(commit(*writer_, {DeadLetterAdded{letter(TaskId{100 + i}, UnitId{200 + i})}}));
  ASSERT_TRUE(
      commit(*writer_, {DeadLetterHandled{TaskId{103}, {}, DeadLetterState::dropped, {60}}}));

  const auto first =
      reader_->dead_letters(kCampaign, DeadLetterState::open, {.limit = 3, .token = {}});
  ASSERT_TRUE(first);
  ASSERT_EQ(first->size(), 3U);
  EXPECT_EQ(first->front().letter.task, TaskId{105});
  EXPECT_EQ(first->back().letter.task, TaskId{102});
  const auto rest = reader_->dead_letters(kCampaign, DeadLetterState::open,
                                          {.limit = 3, .token = TaskId{102}.text()});
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->size(), 1U);
  EXPECT_EQ(reader_->dead_letters({}, {}, {})->size(), 5U);
  EXPECT_EQ(reader_->dead_letters({}, DeadLetterState::dropped, {})->front().letter.handled.us, 60);
  EXPECT_TRUE(reader_->dead_letters(CampaignId{999}, {}, {})->empty());
  EXPECT_FALSE(reader_->dead_letters({}, {}, {.limit = 3, .token = "x"}));
}

TEST_P(LettersTest, AReplayOpensTheCampaignAndTheUnitAndForgetsItsComparison) {
  bury();
  ASSERT_TRUE(commit(*writer_, {DeadLetterHandled{kTask, kUnit, DeadLetterState::replayed, {60}},
                                CampaignReopened{kCampaign, {60}}, UnitReopened{kUnit}}));

  const auto recovered = reader_->recover();
  ASSERT_TRUE(recovered);
  ASSERT_EQ(recovered->campaigns.size(), 1U);
  EXPECT_EQ(recovered->campaigns[0].state, CampaignState::running);
  EXPECT_EQ(recovered->campaigns[0].finished.us, 0);
  ASSERT_EQ(recovered->units.size(), 1U);
  EXPECT_FALSE(recovered->units[0].verdict);
  EXPECT_FALSE(recovered->units[0].deciding_task);
  EXPECT_EQ(reader_->results(kCampaign, {}, 10, {})->front().comparison, "");
  EXPECT_EQ(reader_->unit(kUnit)->reason, Reason::none);
  EXPECT_TRUE(reader_->dead_letters({}, DeadLetterState::open, {})->empty());
  EXPECT_EQ(reader_->task(kTask)->task.state, TaskState::dead) << "the evidence stays";
}

TEST_P(LettersTest, OneReplayHandlesEveryOpenLetterOfItsUnit) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  ASSERT_TRUE(
      commit(*writer_, {DeadLetterAdded{letter(TaskId{101})}, DeadLetterAdded{letter(TaskId{102})},
                        DeadLetterAdded{letter(TaskId{103}, UnitId{32})}}));

  ASSERT_TRUE(
      commit(*writer_, {DeadLetterHandled{TaskId{101}, kUnit, DeadLetterState::replayed, {60}}}));

  const auto open = reader_->dead_letters({}, DeadLetterState::open, {});
  ASSERT_TRUE(open);
  ASSERT_EQ(open->size(), 1U);
  EXPECT_EQ(open->front().letter.task, TaskId{103});
}

TEST_P(LettersTest, ARunningCampaignCannotBeOpenedAgain) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));

  EXPECT_FALSE(commit(*writer_, {CampaignReopened{kCampaign, {60}}}));
}

TEST_P(LettersTest, AStandInGoes) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));

  ASSERT_TRUE(commit(*writer_, {UnitRemoved{kUnit}}));

  EXPECT_EQ(reader_->unit(kUnit).error().code, Errc::not_found);
}

}  // namespace
}  // namespace cupel::coordinator::sql
