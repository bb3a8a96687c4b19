#include "coordinator/sql/event_packs.hpp"

#include "coordinator/sql/connection.hpp"
#include "coordinator/sql/migrate.hpp"
#include "tests/unit/coordinator_sql/fixture.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cupel::coordinator::sql {
namespace {

std::vector<EventRow> unpacked(const std::vector<EventPack>& packs, std::uint64_t after = 0) {
  std::vector<EventRow> rows;
  for (const EventPack& pack : packs) EXPECT_TRUE(unpack_events(pack, after, rows));
  return rows;
}

TEST(EventPacks, WhatIsUnpackedIsWhatWasNumbered) {
  std::uint64_t next = 7;
  std::vector<EventRow> numbered;
  const auto packs = pack_events({{{1}, "task.started", R"({"a":"b c"})", {10}},
                                  {{2}, "task.started", "{}", {11}},
                                  {{1}, "unit.finished", R"({"text":"x\\ny"})", {12}}},
                                 next, numbered);
  ASSERT_EQ(packs.size(), 2U);
  EXPECT_EQ(next, 10U);
  EXPECT_EQ(packs[0].first, 7U);
  EXPECT_EQ(packs[0].last, 8U);
  EXPECT_EQ(packs[0].at.us, 12);
  const auto rows = unpacked(packs);
  ASSERT_EQ(rows.size(), numbered.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].seq, 7 + i);
    EXPECT_EQ(rows[i].seq, numbered[i].seq);
    EXPECT_EQ(rows[i].campaign, numbered[i].campaign);
    EXPECT_EQ(rows[i].type, numbered[i].type);
    EXPECT_EQ(rows[i].body, numbered[i].body);
    EXPECT_EQ(rows[i].at.us, numbered[i].at.us);
  }
  EXPECT_EQ(rows[1].type, "unit.finished") << "a campaign's events keep their order";
}

TEST(EventPacks, AReaderInTheMiddleOfAPackGoesOnBehindIt) {
  std::uint64_t next = 1;
  std::vector<EventRow> numbered;
  const auto packs = pack_events({{{1}, "a", "{}", {}}, {{1}, "b", "{}", {}}, {{1}, "c", "{}", {}}},
                                 next, numbered);
  const auto rows = unpacked(packs, 2);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].seq, 3U);
  EXPECT_EQ(rows[0].type, "c");
}

TEST(EventPacks, APackStaysSmall) {
  std::uint64_t next = 1;
  std::vector<EventRow> numbered;
  std::vector<EventAppended> many(1000, {{1}, "t", "{}", {}});
  many.push_back({{1}, "t", "{\"x\":\"" + std::string(kPackBytesMax, 'x') + "\"}", {}});
  const auto packs = pack_events(many, next, numbered);
  for (const EventPack& pack : packs) EXPECT_LE(pack.last - pack.first + 1, kPackEventsMax);
  EXPECT_EQ(packs.back().first, packs.back().last);
  EXPECT_EQ(unpacked(packs).size(), many.size());
}

TEST(EventPacks, ABrokenBodyIsAnErrorWithItsNumbers) {
  for (const char* const body :
       {"", "1 t {}", "1 t {}\n2 t {}\n", "x t {}\n", "1 t\n", "1\n", "\n"}) {
    std::vector<EventRow> rows;
    const auto read =
        unpack_events({.first = 3, .last = 3, .campaign = {}, .body = body, .at = {}}, 0, rows);
    ASSERT_FALSE(read) << body;
    EXPECT_NE(read.error().what.find("events 3 to 3"), std::string::npos);
  }
}

using EventPacksStoreTest = StoreTest;
CUPEL_ON_BOTH_STORES(EventPacksStoreTest);

TEST_P(EventPacksStoreTest, ReadersPageThroughPacksOfManyCampaigns) {
  for (int round = 0; round < 5; ++round) {
    std::vector<Transition> batch;
    for (std::uint64_t i = 0; i < 20; ++i)
      batch.emplace_back(EventAppended{{i % 3 + 100}, "t", "{}", {round}});
    ASSERT_TRUE(commit(*writer_, std::move(batch)));
  }
  std::uint64_t seen = 0;
  for (std::uint64_t after = 0; after < 100; after = seen) {
    const auto rows = reader_->events_after(after, std::nullopt, 7);
    ASSERT_TRUE(rows);
    ASSERT_FALSE(rows->empty());
    EXPECT_LE(rows->size(), 7U);
    for (const EventRow& row : *rows) EXPECT_EQ(row.seq, ++seen);
  }
  EXPECT_EQ(*reader_->last_event(), 100U);
  std::uint64_t of_one = 0;
  for (std::uint64_t after = 0;;) {
    const auto rows = reader_->events_after(after, CampaignId{101}, 4);
    ASSERT_TRUE(rows);
    if (rows->empty()) break;
    for (const EventRow& row : *rows) {
      EXPECT_EQ(row.campaign, CampaignId{101});
      EXPECT_GT(row.seq, after);
      after = row.seq;
      ++of_one;
    }
  }
  EXPECT_EQ(of_one, 35U);
}

using EventPacksMigration = BothStores;
CUPEL_ON_BOTH_STORES(EventPacksMigration);

TEST_P(EventPacksMigration, EventsOfAnOlderStoreAreReadAsBefore) {
  {
    auto connection = Connection::open(store_);
    ASSERT_TRUE(connection);
    std::vector<Migration> old;
    for (const Migration& migration : migrations()) {
      if (migration.name < "0004") old.push_back(migration);
    }
    ASSERT_TRUE(migrate(**connection, old));
    (*connection)->session()
        << "INSERT INTO events (seq, campaign, type, body, at_us) VALUES (41, 5, 'unit.finished', "
           "'{\"verdict\":\"passing\"}', 77)";
  }
  ASSERT_TRUE(prepare_store(store_));
  auto reader = SqlReader::open(store_);
  ASSERT_TRUE(reader);
  const auto rows = (*reader)->events_after(0, std::nullopt, 10);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ((*rows)[0].seq, 41U);
  EXPECT_EQ((*rows)[0].type, "unit.finished");
  EXPECT_EQ((*rows)[0].body, "{\"verdict\":\"passing\"}");
  EXPECT_EQ((*rows)[0].at.us, 77);
}

}  // namespace
}  // namespace cupel::coordinator::sql
