#include "common/httpclient/problem.hpp"

#include <gtest/gtest.h>

namespace cupel::httpclient {
namespace {

TEST(Problem, CarriesCodeTextAndEveryFault) {
  const Error error = error_of_answer(
      400,
      R"({"title":"Bad","detail":"the campaign is wrong","code":"CUP-1011","hint":"read the docs","errors":[{"line":3,"column":7,"message":"unknown key","code":"CUP-1011"},{"message":"another"}]})");

  EXPECT_EQ(error.code, Errc::unknown_key);
  EXPECT_EQ(error.what, "the campaign is wrong");
  EXPECT_EQ(error.detail, "3:7: unknown key (CUP-1011)\n  another");
  EXPECT_EQ(error.hint, "read the docs");
}

TEST(Problem, WithoutOneTheStatusDecides) {
  EXPECT_EQ(error_of_answer(401, "").code, Errc::unauthenticated);
  EXPECT_EQ(error_of_answer(403, "<html>").code, Errc::forbidden);
  EXPECT_EQ(error_of_answer(404, "[]").code, Errc::not_found);
  EXPECT_EQ(error_of_answer(422, "{}").code, Errc::conflict);
  EXPECT_EQ(error_of_answer(503, R"({"code":"CUP-0000"})").code, Errc::not_ready);
  EXPECT_EQ(error_of_answer(500, R"({"code":17,"detail":{},"errors":7})").code, Errc::store_failed);
}

}  // namespace
}  // namespace cupel::httpclient
