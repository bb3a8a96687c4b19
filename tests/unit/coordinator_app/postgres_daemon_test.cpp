// The real daemon on a real server. What a pair of them does: tests/integration/standby.
#include "tests/support/postgres.hpp"
#include "tests/unit/coordinator_app/daemon_fixture.hpp"

#include <signal.h>

namespace cupel::coordinator {
namespace {

class DaemonOnPostgres : public DaemonTest {
 protected:
  void start_on_server() { start({"--store=" + url_}); }
  const std::string url_ = tests::Postgres::shared().fresh_database();
};

TEST_F(DaemonOnPostgres, ACampaignOfThreeModulesEndsWithItsVerdicts) {
  trust(key_);
  start_on_server();
  start_worker(pass_everything, key_);

  const std::string campaign = submit();
  events_until_end(campaign);

  expect_the_verdicts_of_three_modules(campaign);
  EXPECT_EQ(metric("cupel_leader"), 1);
  EXPECT_EQ(metric("cupel_leader_epoch"), 1);
  daemon_->signal(SIGTERM);
  EXPECT_EQ(daemon_->wait_for_end(), 0) << daemon_->log();
}

TEST_F(DaemonOnPostgres, WhatAKilledOneHasRecordedTheNextOneLeads) {
  start_on_server();
  const std::string campaign = submit(kCampaign, "once");
  daemon_->signal(SIGKILL);
  daemon_->wait_for_end();
  daemon_.reset();
  start_on_server();

  EXPECT_EQ(submit(kCampaign, "once"), campaign);
  EXPECT_EQ(metric("cupel_leader_epoch"), 2);
}

TEST_F(DaemonOnPostgres, OneWhoseConnectionsWereEndedLeadsAgainByItself) {
  start_on_server();
  const std::string campaign = submit();

  tests::Postgres::sql(url_,
                       "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
                       "current_database() AND pid <> pg_backend_pid()");

  ASSERT_TRUE(daemon_->wait_for_log("leads the fleet in epoch 2")) << daemon_->log();
  EXPECT_EQ(get("/api/v1/campaigns/" + campaign)["state"], "running");
  EXPECT_FALSE(submit("apiVersion: cupel/v1\nkind: Campaign\nname: second\nrepositories:\n"
                      "  - module: example.com/one@v1.0.0\n")
                   .empty());
}

TEST_F(DaemonOnPostgres, AServerThatIsNotThereIsWaitedFor) {
  DaemonProcess lonely(dir_, {"--store=postgresql://cupel@127.0.0.1:1/none"});
  EXPECT_TRUE(lonely.wait_for_log("can't be reached")) << lonely.log();
  lonely.signal(SIGTERM);
  EXPECT_EQ(lonely.wait_for_end(), 0) << lonely.log();
}

}  // namespace
}  // namespace cupel::coordinator
