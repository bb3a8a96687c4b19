#include "common/async/semaphore.hpp"
#include "common/async/task_group.hpp"
#include "common/async/with_budget.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace cupel::async {
namespace {

namespace asio = boost::asio;
using std::chrono::hours;
using std::chrono::milliseconds;

class Async : public testing::Test {
 protected:
  void run(asio::awaitable<void> task) {
    asio::co_spawn(io, std::move(task), [](const std::exception_ptr& exception) {
      if (exception) std::rethrow_exception(exception);
    });
    io.run_for(std::chrono::seconds(10));
    EXPECT_TRUE(io.stopped()) << "something still runs";
  }
  TaskGroup::OnException collect() {
    return [this](const std::exception_ptr& exception) {
      try {
        std::rethrow_exception(exception);
      } catch (const std::exception& error) {
        escaped.emplace_back(error.what());
      }
    };
  }

  asio::io_context io{1};
  std::vector<std::string> escaped;
  std::vector<std::string> seen;
};

asio::awaitable<void> note_after(Duration time, std::vector<std::string>& seen, std::string text) {
  const bool slept = co_await sleep_for(time);
  seen.push_back(slept ? text : text + " cancelled");
}

asio::awaitable<void> throw_soon() {
  static_cast<void>(co_await sleep_for(milliseconds(1)));
  throw std::runtime_error("a bug");
}

asio::awaitable<int> seven_after(Duration time) {
  static_cast<void>(co_await sleep_for(time));
  co_return 7;
}

asio::awaitable<void> cancel_and_join(TaskGroup& group, std::vector<std::string>& seen) {
  group.cancel();
  co_await group.join();
  seen.emplace_back("joined");
}

asio::awaitable<void> join_then_note(TaskGroup& group, std::vector<std::string>& seen) {
  co_await group.join();
  seen.emplace_back("joined");
}

class TaskGroupTest : public Async {};

TEST_F(TaskGroupTest, JoinsWhenTheLastCoroutineEnds) {
  TaskGroup group(io.get_executor(), collect());
  EXPECT_TRUE(group.spawn(note_after(milliseconds(5), seen, "slow")));
  EXPECT_TRUE(group.spawn(note_after(milliseconds(1), seen, "fast")));
  EXPECT_EQ(group.size(), 2U);

  run(join_then_note(group, seen));

  EXPECT_EQ(seen, (std::vector<std::string>{"fast", "slow", "joined"}));
  EXPECT_EQ(group.size(), 0U);
}

TEST_F(TaskGroupTest, JoinsAtOnceWhenNothingRuns) {
  TaskGroup group(io.get_executor(), collect());
  run(join_then_note(group, seen));
  EXPECT_EQ(seen, std::vector<std::string>{"joined"});
}

TEST_F(TaskGroupTest, CancelsEveryCoroutineAndTakesNoOther) {
  TaskGroup group(io.get_executor(), collect());
  EXPECT_TRUE(group.spawn(note_after(hours(1), seen, "one")));
  EXPECT_TRUE(group.spawn(note_after(hours(1), seen, "two")));

  run(cancel_and_join(group, seen));

  EXPECT_EQ(seen, (std::vector<std::string>{"one cancelled", "two cancelled", "joined"}));
  EXPECT_FALSE(group.spawn(note_after(milliseconds(1), seen, "late")));
  EXPECT_TRUE(escaped.empty());
}

TEST_F(TaskGroupTest, HandsOnWhatEscapes) {
  TaskGroup group(io.get_executor(), collect());
  EXPECT_TRUE(group.spawn(throw_soon()));

  run(join_then_note(group, seen));

  EXPECT_EQ(escaped, std::vector<std::string>{"a bug"});
}

asio::awaitable<void> cancel_own_group(TaskGroup& group, std::vector<std::string>& seen) {
  group.cancel();
  seen.emplace_back("goes on");
  seen.emplace_back(co_await sleep_for(hours(1)) ? "slept" : "cancelled at its next wait");
}

TEST_F(TaskGroupTest, MayBeCancelledByACoroutineOfItsOwn) {
  TaskGroup group(io.get_executor(), collect());
  EXPECT_TRUE(group.spawn(cancel_own_group(group, seen)));

  run(join_then_note(group, seen));

  EXPECT_EQ(seen, (std::vector<std::string>{"goes on", "cancelled at its next wait", "joined"}));
}

TEST_F(TaskGroupTest, CancelsWhenItIsDestroyed) {
  {
    TaskGroup group(io.get_executor(), collect());
    EXPECT_TRUE(group.spawn(note_after(hours(1), seen, "left")));
    io.poll();
  }
  io.restart();
  io.run_for(std::chrono::seconds(10));

  EXPECT_EQ(seen, std::vector<std::string>{"left cancelled"});
}

class WithBudget : public Async {};

asio::awaitable<void> try_budget(Duration work, Duration budget, std::vector<std::string>& seen) {
  const auto value = co_await with_budget(seven_after(work), budget);
  seen.push_back(value ? std::to_string(*value) : "spent");
}

TEST_F(WithBudget, GivesTheValueInTime) {
  run(try_budget(milliseconds(1), hours(1), seen));
  EXPECT_EQ(seen, std::vector<std::string>{"7"});
}

TEST_F(WithBudget, CancelsWhatTakesTooLong) {
  run(try_budget(hours(1), milliseconds(1), seen));
  EXPECT_EQ(seen, std::vector<std::string>{"spent"});
}

asio::awaitable<void> budget_for_a_bug(std::vector<std::string>& seen) {
  std::string what;
  try {
    static_cast<void>(co_await with_budget(throw_soon(), hours(1)));
  } catch (const std::runtime_error& error) {
    what = error.what();
  }
  seen.push_back(what);
}

TEST_F(WithBudget, ThrowsAtOnceWhatTheOperationThrows) {
  run(budget_for_a_bug(seen));
  EXPECT_EQ(seen, std::vector<std::string>{"a bug"});
}

asio::awaitable<void> budget_in_a_group(std::vector<std::string>& seen) {
  std::string what = "nothing";
  try {
    const auto value = co_await with_budget(seven_after(hours(1)), hours(1));
    what = value ? "value" : "spent";
  } catch (const boost::system::system_error& error) {
    what = error.code() == asio::error::operation_aborted ? "aborted" : "other";
  }
  seen.push_back(what);
}

TEST_F(WithBudget, TellsACancellationFromASpentBudget) {
  TaskGroup group(io.get_executor(), collect());
  EXPECT_TRUE(group.spawn(budget_in_a_group(seen)));
  io.poll();
  io.restart();

  run(cancel_and_join(group, seen));

  EXPECT_NE(seen.at(0), "spent");
}

class SemaphoreTest : public Async {};

asio::awaitable<void> hold(AsyncSemaphore& gate, Duration time, std::vector<std::string>& seen,
                           std::string text) {
  const Permit permit = co_await gate.acquire();
  if (!permit) {
    seen.push_back(text + " gave up");
    co_return;
  }
  seen.push_back(text + " in");
  static_cast<void>(co_await sleep_for(time));
  seen.push_back(text + " out");
}

TEST_F(SemaphoreTest, LetsInAsManyAsItHasPlacesInOrder) {
  AsyncSemaphore gate(io.get_executor(), 2);
  TaskGroup group(io.get_executor(), collect());
  for (const char* name : {"a", "b", "c", "d"}) {
    EXPECT_TRUE(group.spawn(hold(gate, milliseconds(2), seen, name)));
  }
  io.poll();
  EXPECT_EQ(seen, (std::vector<std::string>{"a in", "b in"}));
  EXPECT_EQ(gate.waiting(), 2U);
  io.restart();

  run(join_then_note(group, seen));

  EXPECT_EQ(gate.free(), 2U);
  EXPECT_EQ(gate.waiting(), 0U);
  const auto at = [&](const std::string& text) { return std::ranges::find(seen, text); };
  EXPECT_LT(at("a out"), at("c in"));
  EXPECT_LT(at("c in"), at("d in"));
}

TEST_F(SemaphoreTest, LosesNoPlaceToACancelledWait) {
  AsyncSemaphore gate(io.get_executor(), 1);
  Permit held = gate.try_acquire();
  ASSERT_TRUE(held);
  EXPECT_FALSE(gate.try_acquire());
  {
    TaskGroup group(io.get_executor(), collect());
    EXPECT_TRUE(group.spawn(hold(gate, milliseconds(1), seen, "x")));
    io.poll();
    EXPECT_EQ(gate.waiting(), 1U);
    io.restart();
    run(cancel_and_join(group, seen));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"x gave up", "joined"}));
  held.release();
  EXPECT_EQ(gate.free(), 1U);
}

TEST_F(SemaphoreTest, KeepsThePlaceThatComesTogetherWithACancellation) {
  AsyncSemaphore gate(io.get_executor(), 1);
  Permit held = gate.try_acquire();
  TaskGroup group(io.get_executor(), collect());
  EXPECT_TRUE(group.spawn(hold(gate, hours(1), seen, "x")));
  io.poll();
  io.restart();
  held.release();  // the place is x's now, but x has not run yet

  run(cancel_and_join(group, seen));

  EXPECT_EQ(gate.free(), 1U);
}

TEST_F(SemaphoreTest, MayGoBeforeItsPermits) {
  Permit held;
  {
    AsyncSemaphore gate(io.get_executor(), 1);
    held = gate.try_acquire();
  }
  EXPECT_TRUE(held);
  held.release();
  EXPECT_FALSE(held);
}

}  // namespace
}  // namespace cupel::async
