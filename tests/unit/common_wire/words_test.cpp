#include "common/wire/kj_compare.hpp"
// The generated header needs the line above before it.
#include "common/wire/words.hpp"
#include "tests/support/filled.hpp"

#include <capnp/schema.h>
#include <gtest/gtest.h>

#include <string>
#include <words.capnp.h>

namespace cupel::wire {
namespace {

// Every word of ours has a number of its own that leads back to it. A word that was added to a C++
// list only fails here: add it at the end of its list in schema/words.capnp.
template <typename Value, typename Wire>
void expect_same_list() {
  const std::size_t count = tests::words_of<Value>();
  EXPECT_EQ(capnp::Schema::from<Wire>().getEnumerants().size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<Value>(i);
    EXPECT_EQ(word_of<Value>(wire_number(value)), value) << "word number " << i;
  }
  EXPECT_EQ(word_of<Value>(static_cast<std::uint16_t>(count)), std::nullopt);
  EXPECT_EQ(word_of<Value>(65535), std::nullopt);
}

TEST(Words, AreTheSameInSchemaAndCode) {
  expect_same_list<TaskKind, schema::TaskKind>();
  expect_same_list<Side, schema::Side>();
  expect_same_list<CheckKind, schema::CheckKind>();
  expect_same_list<Stream, schema::Stream>();
  expect_same_list<Outcome, schema::Outcome>();
  expect_same_list<Reason, schema::Reason>();
  expect_same_list<FindingKind, schema::FindingKind>();
  expect_same_list<Select, schema::Select>();
  expect_same_list<VulnLevel, schema::VulnLevel>();
  expect_same_list<CheckParser, schema::CheckParser>();
  expect_same_list<NotAffected, schema::NotAffected>();
  expect_same_list<Gate, schema::Gate>();
  expect_same_list<Ending, schema::Ending>();
  expect_same_list<BuildCache, schema::BuildCache>();
}

TEST(Words, KeepTheirNumbers) {
  EXPECT_EQ(wire_number(Reason::resource_memory), 15);
  EXPECT_EQ(wire_number(Reason::source_not_allowed), 54);
  EXPECT_EQ(wire_number(FindingKind::note), 20);
  EXPECT_EQ(wire_number(Ending::lost_workspace), 2);
}

}  // namespace
}  // namespace cupel::wire
