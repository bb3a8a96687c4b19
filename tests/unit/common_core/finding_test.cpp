#include "common/core/finding.hpp"

#include <gtest/gtest.h>

namespace cupel {
namespace {

TEST(Headline, IsTheFirstLineThatIsNotBlank) {
  EXPECT_EQ(headline_of(""), "");
  EXPECT_EQ(headline_of(" \n\t\n"), "");
  EXPECT_EQ(headline_of("./a.go:3:5: undefined: X\n./a.go:4:5: undefined: Y\n"),
            "./a.go:3:5: undefined: X");
  EXPECT_EQ(headline_of("\n  a_test.go:7: wrong result\r\n   got: 1\n"),
            "a_test.go:7: wrong result");
}

TEST(Headline, WhatEndsInAColonGoesOn) {
  EXPECT_EQ(headline_of("a_test.go:7:\n\n  not equal:\n  1 and 2\n3\n"),
            "a_test.go:7: not equal: 1 and 2");
  EXPECT_EQ(headline_of("a_test.go:7:"), "a_test.go:7:") << "nothing follows";
  EXPECT_EQ(headline_of("a:\nb:\nc:\nd:\ne:\nf"), "a: b: c: d:");
}

TEST(Headline, TestifysTraceIsPassedOver) {
  EXPECT_EQ(
      headline_of("    functions_test.go:62: \n"
                  "        \tError Trace:\tfunctions_test.go:62\n"
                  "        \t            \t/src/helper_test.go:9\n"
                  "        \tError:      \tReceived unexpected error:\n"
                  "        \t            \tExpected 'HttpServer', got 'httpServer'\n"
                  "        \tTest:       \tTestCamelCase\n"),
      "functions_test.go:62: Received unexpected error: Expected 'HttpServer', got 'httpServer'");
}

}  // namespace
}  // namespace cupel
