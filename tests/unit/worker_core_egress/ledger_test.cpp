#include "worker/core/egress/ledger.hpp"

#include <gtest/gtest.h>

namespace cupel::worker::egress {
namespace {

using std::chrono::seconds;

constexpr TimePoint kStart{seconds(1000)};

class LedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    allowance_.allowed.targets = {
        {.at = {"a.example", 443}, .known_as = {"a.example", 443}},
        {.at = {"b.example", 443}, .way = Way::fetch, .known_as = {"b.example", 80}}};
    allowance_.bytes_max = 1000;
    allowance_.until = kStart + seconds(60);
    allowance_.connections_max = 2;
    ledger_.open("one", "secret-1", allowance_);
    ledger_.open("two", "secret-2", allowance_);
  }

  std::optional<Refused> ask(const std::string& run, const std::string& secret,
                             HostPort to = {"a.example", 443}, bool tunnel = true,
                             const std::string& peer = "172.30.0.2", TimePoint now = kStart) {
    ProxyRequest request;
    request.tunnel = tunnel;
    request.to = std::move(to);
    request.run = run;
    request.secret = secret;
    const auto answer = ledger_.admit(request, peer, now);
    const auto* why = std::get_if<Refused>(&answer);
    return why == nullptr ? std::nullopt : std::optional(*why);
  }

  Allowance allowance_;
  Ledger ledger_;
};

TEST_F(LedgerTest, ARunUsesItsOwnAllowance) {
  EXPECT_FALSE(ask("one", "secret-1"));
  EXPECT_EQ(ask("one", "secret-2"), Refused::credentials);
  EXPECT_EQ(ask("one", ""), Refused::credentials);
  EXPECT_EQ(ask("three", "secret-1"), Refused::credentials);
  EXPECT_EQ(ledger_.strangers(), 1U);
}

TEST_F(LedgerTest, CredentialsOfAnExitCountFromNowhereElse) {
  allowance_.peer = "exit one";
  ledger_.open("one", "secret-1", allowance_);

  EXPECT_EQ(ask("one", "secret-1", {"a.example", 443}, true, "exit two"), Refused::credentials);
  EXPECT_EQ(ask("one", "secret-1", {"a.example", 443}, true, "172.30.0.2"), Refused::credentials);
  EXPECT_FALSE(ask("one", "secret-1", {"a.example", 443}, true, "exit one"));
}

TEST_F(LedgerTest, CredentialsBelongToTheAddressThatUsedThemFirst) {
  EXPECT_FALSE(ask("one", "secret-1"));
  EXPECT_EQ(ask("one", "secret-1", {"a.example", 443}, true, "172.30.0.3"), Refused::credentials);
  // A wrong secret binds nothing.
  EXPECT_EQ(ask("two", "wrong", {"a.example", 443}, true, "172.30.0.9"), Refused::credentials);
  EXPECT_FALSE(ask("two", "secret-2", {"a.example", 443}, true, "172.30.0.3"));
}

TEST_F(LedgerTest, OnlyTheListAndOnlyTheRightWay) {
  EXPECT_EQ(ask("one", "secret-1", {"a.example", 80}), Refused::target);
  EXPECT_EQ(ask("one", "secret-1", {"10.0.0.1", 443}), Refused::target);
  EXPECT_EQ(ask("one", "secret-1", {"a.example", 443}, false), Refused::target);
  EXPECT_FALSE(ask("one", "secret-1", {"b.example", 80}, false));
  EXPECT_EQ(ask("one", "secret-1", {"b.example", 80}, true), Refused::target);
  EXPECT_EQ(ask("one", "secret-1", {"b.example", 443}, true), Refused::target);
}

TEST_F(LedgerTest, TimeBytesAndConnectionsEnd) {
  EXPECT_EQ(ask("one", "secret-1", {"a.example", 443}, true, "p", kStart + seconds(60)),
            Refused::time);
  EXPECT_FALSE(ask("one", "secret-1", {"a.example", 443}, true, "p"));
  EXPECT_FALSE(ask("one", "secret-1", {"a.example", 443}, true, "p"));
  EXPECT_EQ(ask("one", "secret-1", {"a.example", 443}, true, "p"), Refused::connections);
  ledger_.ended("one");
  EXPECT_FALSE(ask("one", "secret-1", {"a.example", 443}, true, "p"));
  ledger_.ended("one");
  EXPECT_TRUE(ledger_.take("one", 1000, kStart));
  EXPECT_FALSE(ledger_.take("one", 1, kStart));
  EXPECT_EQ(ask("one", "secret-1", {"a.example", 443}, true, "p"), Refused::bytes);
  EXPECT_TRUE(ledger_.take("two", 1, kStart)) << "another run's bytes are its own";
  EXPECT_FALSE(ledger_.take("two", 1, kStart + seconds(61)));
  EXPECT_FALSE(ledger_.take("nobody", 1, kStart));
}

TEST_F(LedgerTest, WhatWasRefusedIsEvidenceAndBounded) {
  for (int i = 0; i < 3; ++i) (void)ask("one", "secret-1", {"evil.example", 443});
  for (std::uint16_t port = 1; port < 100; ++port)
    (void)ask("one", "secret-1", {"x.example", port});
  const auto traffic = ledger_.close("one");
  const auto lines = refusal_lines(traffic);
  ASSERT_EQ(lines.size(), kRefusalsMax + 1);
  EXPECT_EQ(lines.front(), "egress refused: CONNECT evil.example:443 (target), 3 times");
  EXPECT_EQ(lines.back(), "egress refused: 68 more");
  EXPECT_EQ(ask("one", "secret-1"), Refused::credentials) << "closed means closed";
  EXPECT_TRUE(ledger_.close("one").refused.empty());
}

}  // namespace
}  // namespace cupel::worker::egress
