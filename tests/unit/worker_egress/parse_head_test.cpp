#include "worker/egress/parse_head.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cupel::worker::egress {
namespace {

TEST(EgressHead, MethodTargetAndHeadersInTheirOrder) {
  const auto head = parse_head(
      "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nX: 1\r\nx: 2\r\n\r\nrest");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->method, "CONNECT");
  EXPECT_EQ(head->target, "a.example:443");
  EXPECT_EQ(head->version, 11U);
  ASSERT_EQ(head->headers.size(), 3U);
  EXPECT_EQ(head->headers[1].second + head->headers[2].second, "12");
}

TEST(EgressHead, WhatIsNoWholeHeadIsRefused) {
  const std::string good = "GET http://a.example/ HTTP/1.1\r\n";
  for (const std::string& bytes :
       {std::string(), std::string("GET"), good, good + "X: 1", good + "X : 1\r\n\r\n",
        good + ": 1\r\n\r\n", std::string("GET  http://a/ HTTP/1.1\r\n\r\n"),
        std::string("GET http://a/ HTTP/x\r\n\r\n"),
        good + "X: " + std::string(9000, 'x') + "\r\n\r\n",
        good + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        std::string("\x16\x03\x01\x02", 4)}) {
    EXPECT_FALSE(parse_head(bytes)) << bytes.substr(0, 60);
  }
}

}  // namespace
}  // namespace cupel::worker::egress
