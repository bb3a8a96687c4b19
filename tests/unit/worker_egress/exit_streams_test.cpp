// What an exit container passes on, without one: frames in, frames out, and the proxy behind them.
#include "worker/egress/exit_streams.hpp"

#include "worker/core/egress/credentials.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace cupel::worker::egress {
namespace {

using ::testing::HasSubstr;

class ExitStreamsTest : public ::testing::Test {
 protected:
  ExitStreamsTest() {
    boost::asio::co_spawn(io_, proxy_.open("run", "secret", allowance()),
                          [](std::exception_ptr) {});
    io_.run();
  }
  ~ExitStreamsTest() override {
    streams_->stop();
    boost::asio::co_spawn(io_, streams_->join(), [](std::exception_ptr) {});
    io_.restart();
    io_.run();
  }

  static Allowance allowance() {
    Allowance all;
    all.bytes_max = 1U << 20U;
    all.until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    all.peer = "exit one";
    return all;
  }

  static std::string request(const std::string& secret = "secret") {
    return "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Authorization: " +
           basic_authorization("run", secret) + "\r\n\r\n";
  }

  [[nodiscard]] bool take(ExitFrame kind, std::uint32_t stream, std::string payload = {}) {
    return streams_->take({kind, stream, std::move(payload)});
  }

  /// All bytes that the proxy says on a stream until it has ended there.
  std::string answer_on(std::uint32_t stream) {
    std::string said;
    std::size_t read = 0;
    io_.restart();
    for (bool ended = false; !ended;) {
      for (; read < sent_.size() && !ended; ++read) {
        if (sent_[read].stream != stream) continue;
        if (sent_[read].kind == ExitFrame::bytes) said += sent_[read].payload;
        ended = sent_[read].kind == ExitFrame::end || sent_[read].kind == ExitFrame::cut;
      }
      if (!ended) io_.run_one();
    }
    return said;
  }

  boost::asio::io_context io_{1};
  Proxy proxy_{ProxyOptions{}};
  std::vector<ExitMessage> sent_;
  std::shared_ptr<ExitStreams> streams_ = std::make_shared<ExitStreams>(
      io_.get_executor(), proxy_, "exit one",
      [this](ExitMessage message) { sent_.push_back(std::move(message)); });
};

TEST_F(ExitStreamsTest, TheProxyAnswersOnTheStreamThatAsked) {
  EXPECT_TRUE(take(ExitFrame::begin, 1));
  EXPECT_TRUE(take(ExitFrame::begin, 2));
  EXPECT_TRUE(take(ExitFrame::bytes, 2, request("wrong")));
  EXPECT_TRUE(take(ExitFrame::bytes, 1, request()));

  EXPECT_THAT(answer_on(1), HasSubstr("403 cupel: refused (target)"));
  EXPECT_THAT(answer_on(2), HasSubstr("407 "));
}

TEST_F(ExitStreamsTest, CredentialsDoNotCountFromAnotherExit) {
  const auto other = std::make_shared<ExitStreams>(
      io_.get_executor(), proxy_, "exit two",
      [this](ExitMessage message) { sent_.push_back(std::move(message)); });
  EXPECT_TRUE(other->take({ExitFrame::begin, 1}));
  EXPECT_TRUE(other->take({ExitFrame::bytes, 1, request()}));

  EXPECT_THAT(answer_on(1), HasSubstr("407 "));
  other->stop();
}

TEST_F(ExitStreamsTest, WhatWasTakenIsGivenBack) {
  EXPECT_TRUE(take(ExitFrame::begin, 1));
  EXPECT_TRUE(take(ExitFrame::bytes, 1, "CONNECT "));
  io_.restart();
  while (sent_.empty()) io_.run_one();

  EXPECT_EQ(sent_.front(), give_message(1, 8));
}

TEST_F(ExitStreamsTest, WhatNoExitContainerSendsIsRefused) {
  EXPECT_FALSE(take(ExitFrame::bytes, 1, "x")) << "a stream that never began";
  EXPECT_TRUE(take(ExitFrame::begin, 7));
  EXPECT_FALSE(take(ExitFrame::begin, 7)) << "a number again";
  EXPECT_FALSE(take(ExitFrame::begin, 3)) << "an older number";
  EXPECT_FALSE(take(ExitFrame::bytes, 8, "x")) << "a stream that never began";
  EXPECT_TRUE(take(ExitFrame::bytes, 3, "x")) << "one that is over, as far as anybody knows";
  EXPECT_FALSE(take(ExitFrame::give, 7, std::string("\x00\x00\x00\x01", 4)))
      << "more than a window";
}

TEST_F(ExitStreamsTest, MoreThanTheWindowIsRefused) {
  EXPECT_TRUE(take(ExitFrame::begin, 1));
  EXPECT_TRUE(take(ExitFrame::bytes, 1, std::string(kExitWindowBytes, 'x')));
  EXPECT_FALSE(take(ExitFrame::bytes, 1, "x"));
}

TEST_F(ExitStreamsTest, NothingIsSentBehindAnEnd) {
  EXPECT_TRUE(take(ExitFrame::begin, 1));
  EXPECT_TRUE(take(ExitFrame::end, 1));
  EXPECT_FALSE(take(ExitFrame::bytes, 1, "x"));
  EXPECT_EQ(answer_on(1), "");
  EXPECT_TRUE(take(ExitFrame::bytes, 1, "x")) << "over on both sides by now";
}

}  // namespace
}  // namespace cupel::worker::egress
