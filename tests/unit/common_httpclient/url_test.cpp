#include "common/httpclient/url.hpp"

#include <gtest/gtest.h>

namespace cupel::httpclient {
namespace {

TEST(Url, IsSplitIntoItsParts) {
  const auto url = parse_url("http://127.0.0.1:7400/cupel/");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "127.0.0.1");
  EXPECT_EQ(url->port, "7400");
  EXPECT_EQ(url->prefix, "/cupel");
  EXPECT_EQ(url->authority, "127.0.0.1:7400");

  const auto six = parse_url("http://[::1]:80");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->host, "::1");
  EXPECT_EQ(six->authority, "[::1]:80");
  EXPECT_EQ(parse_url("http://h")->port, "80");
}

TEST(Url, WhatIsNoneIsRefused) {
  for (const char* bad : {"", "h:80", "ftp://h", "http://", "http://:80", "http://h:", "http://h:x",
                          "http://h:123456", "http://u@h", "http://h/?q", "http://[::1",
                          "http://h h", "http://h/a\r\nX: y"}) {
    const auto url = parse_url(bad);
    ASSERT_FALSE(url) << bad;
    EXPECT_EQ(url.error().code, Errc::bad_value) << bad;
  }
  EXPECT_EQ(parse_url("ftp://h").error().code, Errc::bad_value);
  EXPECT_TRUE(parse_url("https://h")->tls);
  EXPECT_EQ(parse_url("https://h")->port, "443");
}

TEST(PercentEncoding, KeepsOnlyUnreservedCharacters) {
  EXPECT_EQ(percent_encoded("a-Z_0.~ /&ä"), "a-Z_0.~%20%2F%26%C3%A4");
}

}  // namespace
}  // namespace cupel::httpclient
