#include "common/httpclient/sse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::httpclient {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kStream =
    ": hello\n\nid: 7\nevent: unit.finished\ndata: {\"a\":\ndata: "
    "1}\n\ndata:x\r\n\r\nid:8\rdata\r\r: beat\n\nretry: 100\nunknown: y\n\n"
    "id: 9\ndata: half";

TEST(SseParser, GivesWholeEventsWithTheLastId) {
  SseParser parser;

  EXPECT_THAT(parser.feed(kStream),
              ElementsAre(Event{"7", "unit.finished", "{\"a\":\n1}"}, Event{"7", "message", "x"},
                          Event{"8", "message", ""}));
  EXPECT_EQ(parser.last_id(), "8");
}

TEST(SseParser, AnySplitGivesTheSameEvents) {
  SseParser whole;
  const auto expected = whole.feed(kStream);
  for (std::size_t cut = 0; cut <= kStream.size(); ++cut) {
    SseParser parser;
    auto events = parser.feed(kStream.substr(0, cut));
    for (Event& event : parser.feed(kStream.substr(cut))) events.push_back(std::move(event));
    EXPECT_EQ(events, expected) << "cut at " << cut;
  }
}

TEST(SseParser, ForgetsWhatACutLeftHalfButNotWhereItWas) {
  SseParser parser("5");
  EXPECT_EQ(parser.last_id(), "5");
  EXPECT_THAT(parser.feed("id: 6\ndata: a\n\nid: 7\ndata: hal"),
              ElementsAre(Event{"6", "message", "a"}));

  parser.reset();

  EXPECT_EQ(parser.last_id(), "6");
  EXPECT_THAT(parser.feed("id: 7\ndata: whole\n\n"), ElementsAre(Event{"7", "message", "whole"}));
}

TEST(SseParser, SaysWhenAnEventIsTooLarge) {
  SseParser parser;
  EXPECT_THAT(parser.feed("data: " + std::string(SseParser::kEventBytesMax + 1, 'x')), IsEmpty());
  EXPECT_TRUE(parser.overflowed());
}

}  // namespace
}  // namespace cupel::httpclient
