#include "worker/core/egress/request.hpp"

#include "worker/core/egress/credentials.hpp"

#include <gtest/gtest.h>

namespace cupel::worker::egress {
namespace {

ProxyHead connect(const std::string& target = "a.example:443") {
  return {.method = "CONNECT",
          .target = target,
          .headers = {{"Host", target}, {"Proxy-Authorization", basic_authorization("run", "s")}}};
}

ProxyHead get(const std::string& target) {
  ProxyHead head = connect();
  head.method = "GET";
  head.target = target;
  head.headers[0].second = "";
  head.headers.erase(head.headers.begin());
  return head;
}

std::optional<Refused> why(const ProxyHead& head) {
  const auto understood = understand(head);
  const auto* refused = std::get_if<RequestRefused>(&understood);
  return refused == nullptr ? std::nullopt : std::optional(refused->why);
}

TEST(EgressRequest, ATunnel) {
  const auto understood = understand(connect());
  const auto* request = std::get_if<ProxyRequest>(&understood);
  ASSERT_NE(request, nullptr);
  EXPECT_TRUE(request->tunnel);
  EXPECT_EQ(request->to.text(), "a.example:443");
  EXPECT_EQ(request->run, "run");
  EXPECT_EQ(request->secret, "s");
}

TEST(EgressRequest, AFetch) {
  const auto understood = understand(get("http://a.example/m/@v/list?x=1"));
  const auto* request = std::get_if<ProxyRequest>(&understood);
  ASSERT_NE(request, nullptr);
  EXPECT_FALSE(request->tunnel);
  EXPECT_EQ(request->to.text(), "a.example:80");
  EXPECT_EQ(request->path, "/m/@v/list?x=1");
}

TEST(EgressRequest, OtherMethodsAndTargetsAreMalformed) {
  for (const char* const target :
       {"/", "https://a.example/", "//a.example/", "http://", "http:///x", "http://u@a.example/",
        "http://a.example:x/", "http://a.example/\x01", "http://a.example/a b", "http://127.1/",
        "*", "a.example:443", "http://a.example/#f"}) {
    EXPECT_EQ(why(get(target)), Refused::malformed) << target;
  }
  for (const char* const target : {"http://a.example/", "/", "a.example", "a.example:443/x"}) {
    EXPECT_EQ(why(connect(target)), Refused::malformed) << target;
  }
  for (const char* const method : {"POST", "PUT", "TRACE", "connect", "OPTIONS", "PRI", ""}) {
    ProxyHead head = get("http://a.example/");
    head.method = method;
    EXPECT_EQ(why(head), Refused::malformed) << method;
  }
}

TEST(EgressRequest, NothingThatFramesABodyPasses) {
  const std::pair<const char*, const char*> headers[] = {{"Transfer-Encoding", "chunked"},
                                                         {"transfer-encoding", "identity"},
                                                         {"Content-Length", "5"},
                                                         {"Content-Length", ""},
                                                         {"Content-Length", "+0"},
                                                         {"Expect", "100-continue"},
                                                         {"Upgrade", "h2c"}};
  for (const auto& header : headers) {
    ProxyHead head = get("http://a.example/");
    head.headers.emplace_back(header);
    EXPECT_EQ(why(head), Refused::malformed) << header.first;
    ProxyHead tunnel = connect();
    tunnel.headers.emplace_back(header);
    EXPECT_EQ(why(tunnel), Refused::malformed) << header.first;
  }
  ProxyHead zero = get("http://a.example/");
  zero.headers.emplace_back("Content-Length", "0");
  EXPECT_FALSE(why(zero));
  zero.headers.emplace_back("content-length", "0");
  EXPECT_EQ(why(zero), Refused::malformed);
}

TEST(EgressRequest, TheHostSaysTheSameOnceOrNothing) {
  ProxyHead other = connect();
  other.headers[0].second = "b.example:443";
  EXPECT_EQ(why(other), Refused::malformed);
  ProxyHead twice = connect();
  twice.headers.emplace_back("HOST", "a.example:443");
  EXPECT_EQ(why(twice), Refused::malformed);
  ProxyHead without_port = connect();
  without_port.headers[0].second = "A.example";
  EXPECT_FALSE(why(without_port));
}

TEST(EgressRequest, CredentialsStandOnceAndAreBasic) {
  for (const char* const value :
       {"", "Basic", "Basic !!!", "Bearer abc", "Basic cnVu", "Basic OnNlY3JldA=="}) {
    ProxyHead head = connect();
    head.headers[1].second = value;
    EXPECT_EQ(why(head), Refused::credentials) << value;
  }
  ProxyHead twice = connect();
  twice.headers.push_back(twice.headers[1]);
  EXPECT_EQ(why(twice), Refused::malformed);
  ProxyHead long_one = connect();
  long_one.headers[1].second = basic_authorization("run", std::string(4000, 's'));
  EXPECT_EQ(why(long_one), Refused::credentials);
}

TEST(EgressRequest, OldAndFutureVersionsAreMalformed) {
  for (const unsigned version : {9U, 20U, 0U}) {
    ProxyHead head = connect();
    head.version = version;
    EXPECT_EQ(why(head), Refused::malformed) << version;
  }
}

TEST(EgressRequest, EveryReasonHasItsNameAndStatus) {
  for (std::size_t i = 0; i < kRefusedCount; ++i) {
    EXPECT_FALSE(name(static_cast<Refused>(i)).empty());
    EXPECT_GE(status_of(static_cast<Refused>(i)), 400U);
  }
  EXPECT_EQ(printable("a\r\nb\xff"), "a??b?");
}

}  // namespace
}  // namespace cupel::worker::egress
