#include "common/core/ids.hpp"

#include "common/core/digest.hpp"
#include "common/core/error.hpp"
#include "common/core/time.hpp"

#include <gtest/gtest.h>

namespace cupel {
namespace {

TEST(Ids, TextAndBackIsTheSameNumber) {
  for (const std::uint64_t value : {1ULL, 31ULL, 32ULL, 123456789ULL, ~0ULL}) {
    const TaskId id{value};
    EXPECT_EQ(TaskId::parse(id.text()), id) << id.text();
  }
}

TEST(Ids, RefusesWhatIsNotAnId) {
  for (const char* text :
       {"", "t-", "t", "c-1", "t-0", "t-U", "t-il", "t-zzzzzzzzzzzzzz", "t-zzzzzzzzzzzzz"}) {
    EXPECT_FALSE(TaskId::parse(text)) << text;
  }
}

TEST(Digest, IsTheStandardsSha256) {
  EXPECT_EQ(sha256("abc").hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Digest::parse("sha256:" + sha256("abc").hex()), sha256("abc"));
  EXPECT_FALSE(Digest::parse("ba78"));
}

TEST(Error, TextNamesCodeDetailAndHint) {
  const Error error{
      .code = Errc::image_missing, .what = "image x is not here", .detail = "404", .hint = {}};
  EXPECT_EQ(
      error.text(),
      "image x is not here (CUP-3005)\n  404\n  'cupel image pull' or 'cupel image build' gets it");
}

TEST(Time, WritesRfc3339WithMicroseconds) {
  EXPECT_EQ(to_rfc3339(WallTime{0}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(to_rfc3339(WallTime{1'796'054'531'000'007}), "2026-11-30T16:02:11.000007Z");
}

TEST(Time, WritesAnyDayOfAnyYear) {
  EXPECT_EQ(to_rfc3339(WallTime{951'782'399'999'999}), "2000-02-28T23:59:59.999999Z");
  EXPECT_EQ(to_rfc3339(WallTime{951'782'400'000'000}), "2000-02-29T00:00:00.000000Z");
  EXPECT_EQ(to_rfc3339(WallTime{-1}), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(to_rfc3339(WallTime{253'402'300'799'999'999}), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(to_rfc3339(WallTime{253'402'300'800'000'000}), "10000-01-01T00:00:00.000000Z");
}

}  // namespace
}  // namespace cupel
