#include "worker/sumdb/module_proxies.hpp"

#include <gtest/gtest.h>

#include <map>

namespace cupel::worker::sumdb {
namespace {

curl::Fetch answering(std::map<std::string, long> statuses) {
  return [statuses](const std::string& url, std::uint64_t /*max*/) -> Result<curl::Fetched> {
    const auto found = statuses.find(url);
    if (found == statuses.end()) return Error{Errc::io_error, "no answer", {}, {}};
    return curl::Fetched{found->second, url};
  };
}

TEST(ModuleProxies, AreReadInOrderWithTheirFallbacks) {
  EXPECT_EQ(module_proxies("https://a.example/,http://b.example/x|direct,off,https://c.example"),
            (std::vector<ModuleProxy>{{"https://a.example", false},
                                      {"http://b.example/x", true},
                                      {"https://c.example", false}}));
  EXPECT_TRUE(module_proxies("").empty());
  EXPECT_TRUE(module_proxies("off").empty());
}

TEST(AskProxies, GoesOnFromAProxyThatHasItNot) {
  const auto proxies = module_proxies("https://a.example,https://b.example");
  for (const long missing : {404L, 410L}) {
    const auto answer = ask_proxies(
        proxies, answering({{"https://a.example/p", missing}, {"https://b.example/p", 200}}), "p",
        100);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->proxy, "https://b.example");
  }
  const auto none = ask_proxies(
      proxies, answering({{"https://a.example/p", 404}, {"https://b.example/p", 404}}), "p", 100);
  EXPECT_EQ(none.error().code, Errc::not_found);
}

TEST(AskProxies, StopsAtAFailureUnlessABarStandsBehindIt) {
  const auto statuses = answering({{"https://a.example/p", 500}, {"https://b.example/p", 200}});
  EXPECT_FALSE(
      ask_proxies(module_proxies("https://a.example,https://b.example"), statuses, "p", 9));
  EXPECT_TRUE(ask_proxies(module_proxies("https://a.example|https://b.example"), statuses, "p", 9));
  const auto silent = answering({{"https://b.example/p", 200}});
  EXPECT_FALSE(ask_proxies(module_proxies("https://a.example,https://b.example"), silent, "p", 9));
  EXPECT_TRUE(ask_proxies(module_proxies("https://a.example|https://b.example"), silent, "p", 9));
}

}  // namespace
}  // namespace cupel::worker::sumdb
