#include "common/engine/log_frames.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cupel::engine {
namespace {

std::string frame(unsigned char stream, const std::string& payload) {
  const auto size = static_cast<std::uint32_t>(payload.size());
  std::string bytes;
  bytes += static_cast<char>(stream);
  bytes.append(3, '\0');
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    bytes += static_cast<char>((size >> shift) & 0xFFU);
  return bytes + payload;
}

struct Collected {
  std::string out;
  std::string err;
  LogFrames frames{[this](Stream stream, std::string_view bytes) {
    (stream == Stream::out ? out : err) += bytes;
  }};
};

TEST(LogFrames, SplitsTheStreams) {
  Collected all;

  all.frames.feed(frame(1, "to out") + frame(2, "to err") + frame(1, "") + frame(1, "!"));

  EXPECT_EQ(all.out, "to out!");
  EXPECT_EQ(all.err, "to err");
  EXPECT_FALSE(all.frames.mid_frame());
}

TEST(LogFrames, AnySplitOfTheBytesGivesTheSamePayload) {
  const std::string bytes = frame(1, "alpha") + frame(2, std::string("\0\1\2", 3)) + frame(1, "b");
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    Collected all;

    all.frames.feed(std::string_view(bytes).substr(0, at));
    all.frames.feed(std::string_view(bytes).substr(at));

    EXPECT_EQ(all.out, "alphab") << at;
    EXPECT_EQ(all.err, std::string("\0\1\2", 3)) << at;
  }
}

TEST(LogFrames, AStreamThatEndsInsideAFrameSaysSo) {
  for (const std::size_t left_out : {1U, 3U, 8U}) {
    const std::string bytes = frame(1, "cut");
    Collected all;

    all.frames.feed(std::string_view(bytes).substr(0, bytes.size() - left_out));

    EXPECT_TRUE(all.frames.mid_frame()) << left_out;
  }
}

TEST(LogFrames, AHugeDeclaredLengthAllocatesNothing) {
  Collected all;

  all.frames.feed(std::string("\x01\0\0\0\xFF\xFF\xFF\xFF", 8) + "few");

  EXPECT_EQ(all.out, "few");
  EXPECT_TRUE(all.frames.mid_frame());
}

TEST(LogFrames, AHeaderThatNoEngineWritesStopsEverything) {
  for (const std::string& bad :
       {std::string("\x03\0\0\0\0\0\0\1x", 9), std::string("plain text")}) {
    Collected all;

    all.frames.feed(frame(1, "good") + bad + frame(1, "never"));

    EXPECT_TRUE(all.frames.malformed());
    EXPECT_EQ(all.out, "good");
  }
}

TEST(LogFrames, WhatTheEngineSaysInsteadOfOutputIsKeptApartAndCapped) {
  Collected all;

  all.frames.feed(frame(1, "good") + frame(3, "no more " + std::string(9000, 'x')) +
                  frame(1, "never"));

  EXPECT_TRUE(all.frames.malformed());
  EXPECT_EQ(all.out, "good");
  EXPECT_EQ(all.frames.engine_words().substr(0, 8), "no more ");
  EXPECT_EQ(all.frames.engine_words().size(), 4096U);
}

}  // namespace
}  // namespace cupel::engine
