#include "worker/core/engine/head_tail.hpp"

#include <gtest/gtest.h>

namespace cupel::worker {
namespace {

TEST(HeadTail, KeepsEverythingUpToTheCap) {
  HeadTail kept(10);

  kept.feed("01234");
  kept.feed("56789");

  EXPECT_FALSE(kept.truncated());
  EXPECT_EQ(kept.take(), "0123456789");
}

TEST(HeadTail, KeepsHeadAndTailAndSaysHowMuchIsMissing) {
  HeadTail kept(10);

  kept.feed("0123456789abcdefghij");

  EXPECT_TRUE(kept.truncated());
  EXPECT_EQ(kept.total(), 20U);
  EXPECT_EQ(kept.take(), "01234\n[cupel: 10 bytes of output left out here]\nfghij");
}

TEST(HeadTail, AnySplitKeepsTheSame) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>('a' + i % 26);
  HeadTail whole(64);
  whole.feed(text);
  const std::string expected = whole.take();
  for (std::size_t piece = 1; piece < 80; ++piece) {
    HeadTail kept(64);

    for (std::size_t at = 0; at < text.size(); at += piece)
      kept.feed(std::string_view(text).substr(at, piece));

    EXPECT_EQ(kept.take(), expected) << piece;
  }
}

TEST(HeadTail, OneByteOverTheCapIsTruncated) {
  HeadTail kept(4);

  kept.feed("abcde");

  EXPECT_TRUE(kept.truncated());
  EXPECT_EQ(kept.take(), "ab\n[cupel: 1 bytes of output left out here]\nde");
}

}  // namespace
}  // namespace cupel::worker
