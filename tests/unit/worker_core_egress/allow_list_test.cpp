#include "worker/core/egress/allow_list.hpp"

#include "worker/core/egress/credentials.hpp"
#include "worker/core/egress/upstream_proxy.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cupel::worker::egress {
namespace {

std::string authority(std::string_view text) {
  const auto at = parse_authority(text);
  return at ? at->text() : "refused";
}

TEST(EgressAuthority, OneFormForEachHost) {
  EXPECT_EQ(authority("Proxy.Example.COM:443"), "proxy.example.com:443");
  EXPECT_EQ(authority("proxy.example.com.:443"), "proxy.example.com:443");
  EXPECT_EQ(authority("[::1]:80"), "[::1]:80");
  EXPECT_EQ(authority("10.1.2.3:8080"), "10.1.2.3:8080");
}

TEST(EgressAuthority, WhatIsNoHostAndPortIsRefused) {
  for (const char* const text : {"",
                                 ":443",
                                 "example.com",
                                 "example.com:",
                                 "example.com:0",
                                 "example.com:65536",
                                 "example.com:0443",
                                 "example.com:+443",
                                 "example.com:443 ",
                                 " example.com:443",
                                 "user@example.com:443",
                                 "example.com:443/x",
                                 "a..b:1",
                                 ".a:1",
                                 "-a:1",
                                 "::1:80",
                                 "[::1:80",
                                 "[example.com]:80",
                                 "127.1:80",
                                 "2130706433:80",
                                 "0x7f000001:80",
                                 "127.0.0.0x1:80",
                                 "exa mple.com:1",
                                 "example.com\r\n:1",
                                 "[fe80::1%25eth0]:80"}) {
    EXPECT_EQ(authority(text), "refused") << text;
  }
}

ModuleSources sources(const ModuleSettings& settings) {
  auto made = module_sources(settings);
  EXPECT_TRUE(made) << made.error().text();
  return made ? *made : ModuleSources();
}

TEST(EgressSources, ProxiesAndTheDatabaseAreTheWholeList) {
  const auto made =
      sources({.goproxy = "https://a.example/x,https://b.example:8443|https://a.example",
               .gosumdb = "sum.example+1234+key"});
  EXPECT_EQ(made.goproxy, "https://a.example/x,https://b.example:8443|https://a.example");
  ASSERT_EQ(made.allowed.targets.size(), 3U);
  EXPECT_EQ(made.allowed.targets[0].at.text(), "a.example:443");
  EXPECT_EQ(made.allowed.targets[1].at.text(), "b.example:8443");
  EXPECT_EQ(made.allowed.targets[2].at.text(), "sum.example:443");
  for (const Target& target : made.allowed.targets) EXPECT_EQ(target.way, Way::tunnel);
  EXPECT_EQ(made.allowed.find({"a.example", 80}), nullptr);
  EXPECT_EQ(made.allowed.find({"x.a.example", 443}), nullptr);
}

TEST(EgressSources, ADatabaseMayHaveAUrlOfItsOwn) {
  const auto made =
      sources({.goproxy = "", .gosumdb = "sum.example+1+k https://mirror.example/db"});
  ASSERT_EQ(made.allowed.targets.size(), 1U);
  EXPECT_EQ(made.allowed.targets[0].at.text(), "mirror.example:443");
}

TEST(EgressSources, PlainHttpIsFetchedAndLoopbackGetsANameOfOurs) {
  const auto made = sources({.goproxy = "http://modules.example/a,http://127.0.0.1:3000/b",
                             .gosumdb = "off",
                             .by_operator = true});
  EXPECT_EQ(made.goproxy, "http://modules.example/a,http://local-1.cupel.invalid/b");
  const Target* local = made.allowed.find({"local-1.cupel.invalid", 80});
  ASSERT_NE(local, nullptr);
  EXPECT_EQ(local->at.text(), "127.0.0.1:3000");
  EXPECT_EQ(local->way, Way::fetch);
  EXPECT_FALSE(local->tls);
  EXPECT_EQ(made.allowed.find({"127.0.0.1", 3000}), nullptr);
}

TEST(EgressSources, CredentialsStayWithTheProxy) {
  const auto made = sources({.goproxy = "https://us%40er:p%3Aw@a.example/x,https://b.example",
                             .gosumdb = "",
                             .by_operator = true,
                             .netrc = "machine b.example login bob password secret\n"});
  EXPECT_EQ(made.goproxy, "http://a.example/x,http://b.example");
  const Target* a = made.allowed.find({"a.example", 80});
  const Target* b = made.allowed.find({"b.example", 80});
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(a->authorization, basic_authorization("us@er", "p:w"));
  EXPECT_EQ(a->at.text(), "a.example:443");
  EXPECT_TRUE(a->tls);
  EXPECT_EQ(a->way, Way::fetch);
  EXPECT_EQ(b->authorization, "Basic Ym9iOnNlY3JldA==");
}

TEST(EgressSources, AnErrorNamesNoCredentials) {
  const auto made = module_sources({.goproxy = "ftp://user:secret@a.example", .gosumdb = ""});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().text().find("secret"), std::string::npos);
}

TEST(EgressSources, WhereATargetsNameMayLead) {
  const Target by_default{.at = {"a.example", 443}};
  Target by_operator = by_default;
  by_operator.by_operator = true;
  for (const char* const address : {"8.8.8.8", "2001:4860::1", "203.0.113.80", "198.18.0.9"}) {
    EXPECT_TRUE(may_connect(by_default, address)) << address;
  }
  EXPECT_FALSE(may_connect(by_default, "10.0.0.1"));
  EXPECT_TRUE(may_connect(by_operator, "10.0.0.1"));
  for (const char* const address :
       {"127.0.0.1", "::1", "169.254.169.254", "::ffff:169.254.169.254", "0.0.0.0", "fe80::1",
        "fd00:ec2::254", "224.0.0.1", "nonsense"}) {
    EXPECT_FALSE(may_connect(by_operator, address)) << address;
  }
  const Target local{.at = {"localhost", 80}, .by_operator = true};
  EXPECT_TRUE(may_connect(local, "127.0.0.1"));
  EXPECT_FALSE(may_connect(local, "169.254.169.254"));
  const Target metadata{.at = {"169.254.169.254", 80}, .by_operator = true};
  EXPECT_FALSE(may_connect(metadata, "169.254.169.254"));
}

TEST(EgressNetrc, MachineThenDefault) {
  const std::string file =
      "# comment machine a login x password y\nmacdef init\nmachine a login no password no\n\n"
      "machine a\n  login one account z password two\ndefault login d password e\n"
      "machine a login late password late\n";
  EXPECT_EQ(authorization_of_netrc(file, "a"), basic_authorization("one", "two"));
  EXPECT_EQ(authorization_of_netrc(file, "b"), basic_authorization("d", "e"));
  EXPECT_EQ(authorization_of_netrc("machine a login", "a"), "");
  EXPECT_EQ(authorization_of_netrc("", "a"), "");
}

TEST(EgressUpstream, TheEnvironmentsProxyAndItsExceptions) {
  const auto none = upstream_proxy({});
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  const auto made = upstream_proxy({{"https_proxy", "http://u:p@gate.example:3128/"},
                                    {"NO_PROXY", "corp.example, .Inner.example,10.0.0.1"}});
  ASSERT_TRUE(made && *made);
  const UpstreamProxy& proxy = **made;
  EXPECT_EQ(proxy.at.text(), "gate.example:3128");
  EXPECT_EQ(proxy.authorization, basic_authorization("u", "p"));
  EXPECT_TRUE(proxy.is_for("a.example"));
  EXPECT_TRUE(proxy.is_for("notcorp.example"));
  for (const char* const host : {"corp.example", "x.corp.example", "y.inner.example", "10.0.0.1",
                                 "localhost", "127.0.0.1"}) {
    EXPECT_FALSE(proxy.is_for(host)) << host;
  }
  EXPECT_FALSE(upstream_proxy({{"HTTPS_PROXY", "socks5://gate.example:1080"}}));
  const auto bare = upstream_proxy({{"HTTP_PROXY", "gate.example"}});
  ASSERT_TRUE(bare && *bare);
  EXPECT_EQ((*bare)->at.text(), "gate.example:80");
}

}  // namespace
}  // namespace cupel::worker::egress
