#include "coordinator/http/event_hub.hpp"

#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include <mutex>

namespace cupel::coordinator::http {
namespace {

/// A store with events only.
class EventStore final : public StoreReader {
 public:
  Result<std::vector<EventRow>> events_after(std::uint64_t seq, std::optional<CampaignId> campaign,
                                             std::uint32_t limit) override {
    const std::lock_guard lock(mutex);
    ++reads;
    std::vector<EventRow> rows;
    for (const EventRow& event : events) {
      if (event.seq > seq && (!campaign || event.campaign == *campaign) && rows.size() < limit)
        rows.push_back(event);
    }
    return rows;
  }
  Result<CampaignSummary> campaign(CampaignId id) override {
    CampaignSummary summary;
    summary.campaign.id = id;
    summary.campaign.state = state;
    return summary;
  }
  Result<std::vector<FlakeRow>> flakes(const std::string&, Page) override {
    return std::vector<FlakeRow>{};
  }
  Result<std::uint64_t> last_event() override { return events.size(); }
  Result<Recovered> recover() override { return none(); }
  Result<std::vector<CampaignSummary>> campaigns(Page, std::optional<CampaignState>) override {
    return none();
  }
  Result<std::optional<CampaignId>> find_idempotent(const std::string&,
                                                    const std::string&) override {
    return none();
  }
  Result<std::vector<UnitResult>> results(CampaignId, UnitId, std::uint32_t,
                                          std::optional<Verdict>) override {
    return none();
  }
  Result<UnitRow> unit(UnitId) override { return none(); }
  Result<std::vector<DeadLetterView>> dead_letters(std::optional<CampaignId>,
                                                   std::optional<DeadLetterState>, Page) override {
    return none();
  }
  Result<DeadLetterView> dead_letter(TaskId) override { return none(); }
  Result<TaskView> task(TaskId) override { return none(); }
  Result<std::vector<TaskView>> tasks_of(CampaignId, UnitId) override { return none(); }
  Result<std::vector<RepositoryRow>> repositories(CampaignId) override { return none(); }

  std::mutex mutex;
  std::vector<EventRow> events;
  CampaignState state = CampaignState::running;
  int reads = 0;

 private:
  static Error none() { return {Errc::bug, "not in this test", "", ""}; }
};

EventRow event(std::uint64_t seq, std::uint64_t campaign, std::string type = "task.started") {
  return {seq, {campaign}, std::move(type), "{}", {}};
}

class EventHubTest : public testing::Test {
 protected:
  EventHubTest() {
    auto store = std::make_unique<EventStore>();
    store_ = store.get();
    std::vector<std::unique_ptr<StoreReader>> readers;
    readers.push_back(std::move(store));
    pool_ = std::make_unique<ReadPool>(std::move(readers));
  }

  static boost::asio::awaitable<void> read(std::shared_ptr<cupel::http::EventStream> stream,
                                           std::size_t events, std::string& into) {
    const auto far = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (static_cast<std::size_t>(std::ranges::count(into, '{')) < events) {
      const std::string text = co_await stream->take(100'000, far);
      if (text.empty()) break;
      into += text;
    }
    stream->gone();
  }
  /// Ids of the first `count` events of a stream (fewer when it ends).
  std::vector<int> ids(std::shared_ptr<cupel::http::EventStream> stream, std::size_t count) {
    std::string text;
    boost::asio::co_spawn(io_, read(std::move(stream), count, text), [](std::exception_ptr error) {
      if (error) std::rethrow_exception(error);
    });
    io_.restart();
    io_.run();
    std::vector<int> found;
    for (std::size_t at = text.find("id: "); at != std::string::npos;
         at = text.find("id: ", at + 1)) {
      found.push_back(std::stoi(text.substr(at + 4)));
    }
    return found;
  }

  EventStore* store_ = nullptr;
  std::unique_ptr<ReadPool> pool_;
  boost::asio::io_context io_{1};
};

TEST_F(EventHubTest, ReadsTheStoreForWhatIsOlderThanTheRingAndNothingTwice) {
  for (std::uint64_t i = 1; i <= 5; ++i) store_->events.push_back(event(i, 1));
  EventHub hub(io_, *pool_, 3);
  hub.publish({event(4, 1), event(5, 1)});

  EXPECT_EQ(ids(hub.subscribe(1, std::nullopt), 4), (std::vector<int>{2, 3, 4, 5}));
}

TEST_F(EventHubTest, LiveEventsNeedNoRead) {
  EventHub hub(io_, *pool_, 0);
  const auto stream = hub.subscribe(0, std::nullopt);
  hub.publish({event(1, 1), event(2, 2)});

  EXPECT_EQ(ids(stream, 2), (std::vector<int>{1, 2}));
  EXPECT_EQ(store_->reads, 0);
}

TEST_F(EventHubTest, TheLoopSleepsWhileNobodyListensAndNothingIsMissedLater) {
  EventHub hub(io_, *pool_, 0);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    store_->events.push_back(event(i, 1));
    hub.publish({event(i, 1)});
  }
  EXPECT_EQ(io_.poll(), 0U);
  EXPECT_EQ(hub.last_event(), 3U);

  const auto stream = hub.subscribe(1, std::nullopt);
  hub.publish({event(4, 1)});
  EXPECT_EQ(ids(stream, 3), (std::vector<int>{2, 3, 4}));
}

TEST_F(EventHubTest, WhatWasUnderWayWhenTheLastListenerLeftIsNotToldTwice) {
  EventHub hub(io_, *pool_, 0);
  const auto first = hub.subscribe(0, std::nullopt);
  hub.publish({event(1, 1)});
  EXPECT_EQ(ids(first, 1), (std::vector<int>{1}));
  store_->events = {event(1, 1), event(2, 1)};
  hub.publish({event(2, 1)});

  const auto second = hub.subscribe(0, std::nullopt);
  hub.publish({event(3, 1)});
  EXPECT_EQ(ids(second, 3), (std::vector<int>{1, 2, 3}));
}

TEST_F(EventHubTest, ACampaignsStreamHasOnlyItsEventsAndEndsWithIt) {
  EventHub hub(io_, *pool_, 0);
  const auto stream = hub.subscribe(0, CampaignId{1});
  hub.publish({event(1, 1), event(2, 2), event(3, 1, "campaign.finished"), event(4, 1)});

  EXPECT_EQ(ids(stream, 99), (std::vector<int>{1, 3}));
}

TEST_F(EventHubTest, TheStreamOfAFinishedCampaignEndsAtOnce) {
  store_->state = CampaignState::finished;
  store_->events = {event(1, 1), event(2, 1, "campaign.finished")};
  EventHub hub(io_, *pool_, 2);

  EXPECT_EQ(ids(hub.subscribe(0, CampaignId{1}), 99), (std::vector<int>{1, 2}));
  EXPECT_EQ(ids(hub.subscribe(2, CampaignId{1}), 99), std::vector<int>());
}

TEST_F(EventHubTest, AListenerThatFellBehindTheRingGoesOnFromTheStore) {
  EventHub hub(io_, *pool_, 0, 2);
  std::vector<EventRow> many;
  for (std::uint64_t i = 1; i <= 1000; ++i) many.push_back(event(i, 1));
  store_->events = many;
  const auto stream = hub.subscribe(0, std::nullopt);
  hub.publish(many);

  const auto found = ids(stream, 1000);

  ASSERT_EQ(found.size(), 1000U);
  EXPECT_EQ(found.back(), 1000);
  EXPECT_TRUE(std::ranges::is_sorted(found));
}

}  // namespace
}  // namespace cupel::coordinator::http
