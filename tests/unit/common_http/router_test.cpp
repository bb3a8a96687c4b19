#include "common/http/router.hpp"

#include <gtest/gtest.h>

namespace cupel::http {
namespace {

Router router_with(const std::vector<std::pair<std::string, std::string>>& routes) {
  Router router;
  for (const auto& [method, pattern] : routes) {
    Route route;
    route.method = method;
    route.pattern = pattern;
    router.add(std::move(route));
  }
  return router;
}

TEST(Router, MatchesParametersLiteralsAndVerbs) {
  const Router router =
      router_with({{"GET", "/a/{x}/log"}, {"POST", "/a:check"}, {"POST", "/a/{x}/log"}});

  const auto log = router.find("GET", *parse_target("/a/t-1/log?check=test"));
  ASSERT_NE(log.route, nullptr);
  EXPECT_EQ(log.route->method, "GET");
  EXPECT_EQ(log.params.at("x"), "t-1");
  EXPECT_NE(router.find("POST", *parse_target("/a:check")).route, nullptr);
  EXPECT_NE(router.find("HEAD", *parse_target("/a/b/log")).route, nullptr);
  EXPECT_EQ(router.find("DELETE", *parse_target("/a/b/log")).allowed, "GET, POST");
  EXPECT_EQ(router.find("GET", *parse_target("/a//log")).route, nullptr);
  EXPECT_EQ(router.find("GET", *parse_target("/a/b/log/")).route, nullptr);
}

TEST(ParseTarget, DecodesPathAndQuery) {
  const auto target = parse_target("/a%20b/c%2Fd?x=1+2&y=%26&x=3&flag");

  ASSERT_TRUE(target);
  EXPECT_EQ(target->segments, (std::vector<std::string>{"a b", "c/d"}));
  EXPECT_EQ(target->query.at("x"), "1 2");
  EXPECT_EQ(target->query.at("y"), "&");
  EXPECT_EQ(target->query.at("flag"), "");
}

TEST(ParseTarget, RefusesMalformedTargets) {
  for (const char* target : {"", "a", "*", "/%", "/%2", "/%zz", "/a%00b", "/a?x=%0"}) {
    EXPECT_FALSE(parse_target(target)) << target;
  }
}

TEST(ParseRange, FollowsTheStandardForSingleRanges) {
  using Kind = RangeAnswer::Kind;
  const auto expect_part = [](std::string_view header, std::uint64_t first, std::uint64_t length) {
    const auto answer = parse_range(header, 10);
    EXPECT_EQ(answer.kind, Kind::part) << header;
    EXPECT_EQ(answer.range.first, first) << header;
    EXPECT_EQ(answer.range.length, length) << header;
  };
  expect_part("bytes=0-3", 0, 4);
  expect_part("bytes=4-", 4, 6);
  expect_part("bytes=-3", 7, 3);
  expect_part("bytes=-99", 0, 10);
  expect_part("bytes=8-99", 8, 2);
  for (const char* whole :
       {"", "items=0-1", "bytes=1-2,4-5", "bytes=x-", "bytes=5-4", "bytes=-", "bytes=1"}) {
    EXPECT_EQ(parse_range(whole, 10).kind, Kind::whole) << whole;
  }
  for (const char* none : {"bytes=10-", "bytes=10-20", "bytes=-0"}) {
    EXPECT_EQ(parse_range(none, 10).kind, Kind::unsatisfiable) << none;
  }
  EXPECT_EQ(parse_range("bytes=-5", 0).kind, Kind::unsatisfiable);
}

}  // namespace
}  // namespace cupel::http
