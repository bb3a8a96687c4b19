// Tasks that were given up: what is written of them, and what a replay or a drop does.
#include "tests/unit/coordinator_core/machine_fixture.hpp"

#include <algorithm>

namespace cupel::coordinator {
namespace {

class MachineLettersTest : public MachineTest {
 protected:
  /// The worker ends its newest lease without an answer; the next one follows after the back-off.
  void interrupt(const std::string& key) {
    TaskResult result = passing(last<Lease>(key));
    result.ending = Ending::interrupted;
    result.reason = Reason::aborted;
    from(key, ResultMessage{result});
    pass(300s);
    heartbeat(key);
    step(Tick{});
    heartbeat(key);
  }
  /// As a reader of the store would see it now.
  ReplayDeadLetter stored(TaskId task) const {
    ReplayDeadLetter event;
    for (const Transition& one : written_) apply(event, task, one);
    std::erase_if(event.units, [&](const UnitRow& unit) {
      return event.letter.unit ? unit.id != event.letter.unit : unit.deciding_task != task;
    });
    event.asked.retries_infra = 1;
    return event;
  }
  static void apply(ReplayDeadLetter& event, TaskId task, const Transition& one) {
    const auto unit_of_id = [&](UnitId id) {
      return std::ranges::find(event.units, id, &UnitRow::id);
    };
    if (const auto* made = std::get_if<CampaignCreated>(&one)) event.campaign = made->campaign;
    if (const auto* now = std::get_if<CampaignChanged>(&one)) event.campaign.state = now->state;
    if (const auto* made = std::get_if<RepositoryCreated>(&one))
      event.repository = made->repository;
    if (const auto* pin = std::get_if<RepositoryPinned>(&one)) {
      event.repository.commit = pin->commit;
      event.repository.holder = pin->holder;
    }
    if (const auto* made = std::get_if<UnitCreated>(&one)) event.units.push_back(made->unit);
    if (const auto* judged = std::get_if<UnitFinished>(&one)) {
      unit_of_id(judged->id)->verdict = judged->verdict;
      unit_of_id(judged->id)->deciding_task = judged->deciding_task;
      ++event.verdicts[judged->verdict];
    }
    if (const auto* open = std::get_if<UnitReopened>(&one)) unit_of_id(open->id)->verdict.reset();
    if (const auto* letter = std::get_if<DeadLetterAdded>(&one)) {
      if (letter->letter.task == task) event.letter = letter->letter;
    }
    if (const auto* handled = std::get_if<DeadLetterHandled>(&one)) {
      if (handled->task == task) event.letter.state = handled->state;
    }
  }
  /// One repository with one unit, whose modules can't be had; its dead letter.
  TaskId bury_modules() {
    join("k1", 11);
    submit({git("a")}, 1);
    from("k1", ResultMessage{acquired(last<Lease>("k1"))});
    interrupt("k1");
    interrupt("k1");
    return written<DeadLetterAdded>().back().letter.task;
  }
  void replay(TaskId task) {
    ReplayDeadLetter event = stored(task);
    event.request = ++requests_;
    step(std::move(event));
  }
};

TEST_F(MachineLettersTest, WhatIsGivenUpIsWrittenWithItsReasonAndItsUnit) {
  const TaskId task = bury_modules();

  const DeadLetterRow letter = written<DeadLetterAdded>().back().letter;
  EXPECT_EQ(letter.task, task);
  EXPECT_EQ(letter.unit, written<UnitCreated>().back().unit.id);
  EXPECT_EQ(letter.kind, TaskKind::acquire);
  EXPECT_EQ(letter.reason, Reason::aborted);
  EXPECT_NE(letter.message.find("2 interrupted attempts"), std::string::npos);
  EXPECT_EQ(written<UnitFinished>().back().verdict, Verdict::inconclusive);
  EXPECT_EQ(written<CampaignChanged>().back().state, CampaignState::finished);
}

TEST_F(MachineLettersTest, AReplayOpensTheUnitAndItsCampaignWithAFreshBudget) {
  const TaskId task = bury_modules();

  replay(task);

  ASSERT_TRUE(replies_.back().answer) << replies_.back().answer.error().what;
  EXPECT_EQ(written<CampaignReopened>().size(), 1U);
  EXPECT_EQ(written<UnitReopened>().size(), 1U);
  EXPECT_EQ(written<DeadLetterHandled>().back().state, DeadLetterState::replayed);
  EXPECT_NE(created_.back().id, task);
  EXPECT_EQ(created_.back().interruptions, 0U);
  EXPECT_EQ(created_.back().charged, 0U);
  TaskResult modules = passing(last<Lease>("k1"));
  EXPECT_TRUE(std::holds_alternative<AcquireModules>(last<Lease>("k1").spec.work));
  modules.modules = ModuleFacts{};
  from("k1", ResultMessage{modules});
  from("k1", ResultMessage{passing(last<Lease>("k1"))});
  EXPECT_EQ(written<UnitFinished>().back().verdict, Verdict::passing);
  EXPECT_EQ(written<CampaignChanged>().back().state, CampaignState::finished);
  const std::string sums = written<EventAppended>().back().body;
  EXPECT_NE(sums.find("\"verdicts\":{\"passing\":1}"), std::string::npos) << sums;
}

TEST_F(MachineLettersTest, ARepositoryThatCouldNotBeHadIsFetchedAgainAndItsStandInGoes) {
  join("k1", 11);
  submit({git("a")}, 1);
  interrupt("k1");
  interrupt("k1");
  const DeadLetterRow letter = written<DeadLetterAdded>().back().letter;
  EXPECT_FALSE(letter.unit);
  const UnitId stand_in = written<UnitCreated>().back().unit.id;

  replay(letter.task);

  ASSERT_TRUE(replies_.back().answer) << replies_.back().answer.error().what;
  ASSERT_EQ(written<UnitRemoved>().size(), 1U);
  EXPECT_EQ(written<UnitRemoved>()[0].id, stand_in);
  from("k1", ResultMessage{acquired(last<Lease>("k1"), {".", "sub"})});
  EXPECT_EQ(written<UnitCreated>().size(), 3U);
}

TEST_F(MachineLettersTest, AReplayGoesOnAfterItsHolderIsGone) {
  const TaskId task = bury_modules();
  join("k2", 12);
  step(TrustChanged{{{"k2", "two", {}}}});

  replay(task);
  step(Tick{});
  heartbeat("k2");

  const Lease lease = last<Lease>("k2");
  const auto* again = std::get_if<AcquireSource>(&lease.spec.work);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->pinned_commit, "abc") << "the same commit";
}

TEST_F(MachineLettersTest, TheSecondReplayOfOneLetterIsAConflict) {
  const TaskId task = bury_modules();
  ReplayDeadLetter late = stored(task);
  replay(task);
  const std::size_t tasks = created_.size();

  replay(task);
  EXPECT_EQ(replies_.back().answer.error().code, Errc::conflict);
  late.request = ++requests_;
  step(std::move(late));  // read before the first one was written
  EXPECT_EQ(replies_.back().answer.error().code, Errc::conflict);

  EXPECT_EQ(created_.size(), tasks);
}

TEST_F(MachineLettersTest, NothingOfACancelledCampaignIsReplayed) {
  const TaskId task = bury_modules();
  ReplayDeadLetter event = stored(task);
  event.request = ++requests_;
  event.campaign.state = CampaignState::cancelled;

  step(std::move(event));

  EXPECT_EQ(replies_.back().answer.error().code, Errc::conflict);
  EXPECT_TRUE(written<UnitReopened>().empty());
}

TEST_F(MachineLettersTest, ADroppedLetterLeavesTheVerdict) {
  const TaskId task = bury_modules();
  step(DropDeadLetter{++requests_, stored(task).letter});

  ASSERT_TRUE(replies_.back().answer);
  EXPECT_EQ(written<DeadLetterHandled>().back().state, DeadLetterState::dropped);
  EXPECT_TRUE(written<UnitReopened>().empty());
  EXPECT_EQ(machine_.counters().dead_letters_dropped, 1U);
  replay(task);
  EXPECT_EQ(replies_.back().answer.error().code, Errc::conflict);
}

TEST_F(MachineLettersTest, AReplayedUnitCanDieAgain) {
  const TaskId first = bury_modules();
  replay(first);
  interrupt("k1");
  interrupt("k1");

  ASSERT_EQ(written<DeadLetterAdded>().size(), 2U);
  EXPECT_NE(written<DeadLetterAdded>()[1].letter.task, first);
  EXPECT_EQ(written<UnitFinished>().back().verdict, Verdict::inconclusive);
  replay(written<DeadLetterAdded>()[1].letter.task);
  EXPECT_TRUE(replies_.back().answer);
}

}  // namespace
}  // namespace cupel::coordinator
