#include "worker/core/egress/exit_messages.hpp"

#include <gtest/gtest.h>

namespace cupel::worker::egress {
namespace {

using Messages = std::vector<ExitMessage>;

const std::string kSeen = "port=43210 net=net:[4026533321] found=-";

Messages some() {
  return {{ExitFrame::seen, 0, kSeen},
          {ExitFrame::begin, 1},
          {ExitFrame::bytes, 1, std::string("a\0b", 3)},
          give_message(1, 32768),
          {ExitFrame::end, 1},
          {ExitFrame::begin, 0x01020304},
          {ExitFrame::cut, 0x01020304}};
}

TEST(ExitMessages, AFrameIsItsKindItsLengthAndItsStream) {
  EXPECT_EQ(encode_exit({ExitFrame::bytes, 0x01020304, "hello"}),
            std::string("D\x00\x00\x05\x01\x02\x03\x04hello", 13));
  EXPECT_EQ(give_message(7, 0x00010203).payload, std::string("\x00\x01\x02\x03", 4));
}

TEST(ExitMessages, AnySplitGivesTheSameMessages) {
  std::string bytes;
  for (const ExitMessage& message : some()) bytes += encode_exit(message);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    ExitReader reader;
    auto first = reader.feed(std::string_view(bytes).substr(0, cut));
    const auto rest = reader.feed(std::string_view(bytes).substr(cut));
    ASSERT_TRUE(first && rest) << cut;
    first->insert(first->end(), rest->begin(), rest->end());
    EXPECT_EQ(*first, some()) << cut;
  }
}

TEST(ExitMessages, WhatNoExitContainerSaysEndsTheReading) {
  const Messages odd = {{ExitFrame::look, 0},           {ExitFrame::seen, 1, kSeen},
                        {ExitFrame::seen, 0},           {ExitFrame::begin, 0},
                        {ExitFrame::begin, 1, "x"},     {ExitFrame::bytes, 0, "x"},
                        {ExitFrame::bytes, 1},          {ExitFrame::give, 1, "123"},
                        {static_cast<ExitFrame>(0), 1}, {ExitFrame::cut, 1, "x"}};
  for (const ExitMessage& message : odd) {
    ExitReader reader;
    EXPECT_FALSE(reader.feed(encode_exit(message)));
    EXPECT_FALSE(reader.feed(encode_exit({ExitFrame::begin, 1}))) << "nothing behind it counts";
  }
  ExitReader reader;
  EXPECT_FALSE(reader.feed(std::string_view("D\x01\x00\x01\x00\x00\x00\x01", 8))) << "65,537 bytes";
}

TEST(ExitMessages, WhatWasSeenIsReadExactly) {
  const auto closed = parse_exit_seen(kSeen);
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->port, 43210);
  EXPECT_EQ(closed->network_namespace, "net:[4026533321]");
  EXPECT_TRUE(closed->enclosed());

  const auto open = parse_exit_seen("port=0 net=net:[1] found=interface:eth0,tcp:192.0.2.1");
  ASSERT_TRUE(open);
  EXPECT_FALSE(open->enclosed());
  EXPECT_EQ(open->found, "interface:eth0,tcp:192.0.2.1");
}

TEST(ExitMessages, WhatIsNotWholeIsNeverEnclosed) {
  for (const char* const odd : {"", "port=1", "port=1 net=net:[1]",
                                "port=1 net=net:[1] found=", "port=1 net=unknown found=-",
                                "port=70000 net=net:[1] found=-", "port=x net=net:[1] found=-",
                                "port=1 net=net:[1] found=- more", "net=net:[1] port=1 found=-"}) {
    EXPECT_FALSE(parse_exit_seen(odd)) << odd;
  }
}

}  // namespace
}  // namespace cupel::worker::egress
