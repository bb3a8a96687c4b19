#include "worker/core/engine/wrapper_protocol.hpp"

#include <gtest/gtest.h>

namespace cupel::worker {
namespace {

using namespace std::chrono_literals;

const std::string kNonce = "00112233445566778899aabbccddeeff";
const std::string kStart =
    "\x1e"
    "cupel-start " +
    kNonce + "\n";
const std::string kEnd =
    "\x1e"
    "cupel-end " +
    kNonce + " end=self exit=3 signal=0 out=5 err=0 oom=1 pids=-1 tmp=0 left=1 what=-\n";

struct Filtered {
  std::string payload;
  MarkerFilter filter{kNonce, [this](std::string_view bytes) { payload += bytes; }};
};

TEST(MarkerFilter, TakesTheMarkersOutAndReadsTheTrailer) {
  Filtered all;

  all.filter.feed(kStart + "hello" + kEnd);
  all.filter.finish();

  EXPECT_TRUE(all.filter.started());
  EXPECT_EQ(all.payload, "hello");
  ASSERT_TRUE(all.filter.report());
  EXPECT_EQ(all.filter.report()->exit_code, 3);
  EXPECT_EQ(all.filter.report()->out_bytes, 5U);
  EXPECT_EQ(all.filter.report()->oom_kills, 1);
  EXPECT_EQ(all.filter.report()->pids_refused, -1);
  EXPECT_TRUE(all.filter.report()->leftover);
  EXPECT_FALSE(all.filter.bytes_after_end());
}

TEST(MarkerFilter, AnySplitGivesTheSame) {
  const std::string bytes = kStart +
                            "a\x1e\x1e"
                            "cupel-end wrong\n\x1e"
                            "b" +
                            kEnd;
  for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
    Filtered all;

    for (std::size_t at = 0; at < bytes.size(); at += piece)
      all.filter.feed(bytes.substr(at, piece));
    all.filter.finish();

    EXPECT_EQ(all.payload,
              "a\x1e\x1e"
              "cupel-end wrong\n\x1e"
              "b")
        << piece;
    EXPECT_TRUE(all.filter.report()) << piece;
    EXPECT_TRUE(all.filter.started()) << piece;
  }
}

TEST(MarkerFilter, AForgedTrailerWithoutTheNonceIsPayload) {
  Filtered all;
  const std::string forged =
      "\x1e"
      "cupel-end " +
      std::string(32, '0') + " end=self exit=0\n";

  all.filter.feed(kStart + forged + kEnd);
  all.filter.finish();

  EXPECT_EQ(all.payload, forged);
  EXPECT_EQ(all.filter.report()->exit_code, 3);
}

TEST(MarkerFilter, AStreamWithoutItsHeadHasNotStarted) {
  Filtered all;

  all.filter.feed("tail of something" + kEnd);
  all.filter.finish();

  EXPECT_FALSE(all.filter.started());
  EXPECT_TRUE(all.filter.report());
}

TEST(MarkerFilter, ACutStreamKeepsItsPayload) {
  Filtered all;

  all.filter.feed(kStart + "hello" + kEnd.substr(0, 30));
  all.filter.finish();

  EXPECT_FALSE(all.filter.report());
  EXPECT_EQ(all.payload, "hello" + kEnd.substr(0, 30));
}

TEST(MarkerFilter, OutputThatBeginsNoMarkerIsNotHeldBack) {
  Filtered all;

  all.filter.feed(kStart + "progress 1%");

  EXPECT_EQ(all.payload, "progress 1%");
}

TEST(MarkerFilter, BytesBehindTheTrailerAreNotOurs) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{4096}}) {
    Filtered all;
    const std::string bytes = kStart + kEnd + "x";

    for (std::size_t at = 0; at < bytes.size(); at += piece)
      all.filter.feed(bytes.substr(at, piece));
    all.filter.finish();

    EXPECT_TRUE(all.filter.bytes_after_end());
    EXPECT_EQ(all.payload, "");
  }
}

TEST(MarkerFilter, ATrailerWithAMissingOrOddFieldIsNone) {
  for (const std::string& fields :
       {std::string("end=self exit=0 what=-"),
        std::string("end=maybe exit=0 signal=0 out=0 err=0 oom=0 pids=0 tmp=0 left=0 what=-"),
        std::string("end=self exit=0 signal=0 out=-1 err=0 oom=0 pids=0 tmp=0 left=0 what=-"),
        std::string("end=self exit=0 signal=0 out=0 err=0 oom=0 pids=0 tmp=2 left=0 what=-")}) {
    Filtered all;

    all.filter.feed(kStart +
                    "\x1e"
                    "cupel-end " +
                    kNonce + " " + fields + "\n");
    all.filter.finish();

    EXPECT_FALSE(all.filter.report()) << fields;
  }
}

TEST(MarkerFilter, HoldsNoMoreThanAMarkerCanBeLong) {
  Filtered all;
  const std::string endless =
      "\x1e"
      "cupel-end " +
      kNonce + " " + std::string(100'000, 'x');

  all.filter.feed(kStart + endless);

  EXPECT_GT(all.payload.size(), endless.size() - 3000);
}

TEST(EncodeOrders, WritesOneLineAnOrder) {
  const WrapperOrders orders{.nonce = kNonce,
                             .limit = 1500ms,
                             .grace = 10s,
                             .dump = true,
                             .digests = {{"abcd", "/src/go.mod"}},
                             .marks = {{"r1", "/gocache/.m"}},
                             .links = {{"net:[1]", "/proc/self/ns/net"}},
                             .present = {"/proxy/a b"},
                             .keep = {"PATH", "HOME"}};

  EXPECT_EQ(encode_orders(orders).value(),
            "cupel 1\nnonce " + kNonce +
                "\nlimit_ms 1500\ngrace_ms 10000\ndump 1\ndigest abcd /src/go.mod\n"
                "mark r1 /gocache/.m\nlink net:[1] /proc/self/ns/net\nhave /proxy/a b\nkeep "
                "PATH\nkeep HOME\nrun\n");
}

TEST(EncodeOrders, RefusesAPathThatWouldBeAnotherOrder) {
  WrapperOrders orders{.nonce = kNonce, .limit = 1s};
  orders.present = {"/a\nrun"};

  EXPECT_FALSE(encode_orders(orders));
}

}  // namespace
}  // namespace cupel::worker
