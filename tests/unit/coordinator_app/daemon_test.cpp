// The real daemon as a child process, driven over HTTP and by workers that speak the real protocol.
#include "common/wire/codec.hpp"
#include "tests/unit/coordinator_app/daemon_fixture.hpp"

#include <algorithm>
#include <future>
#include <signal.h>

namespace cupel::coordinator {
namespace {

TEST_F(DaemonTest, ACampaignOfThreeModulesEndsWithItsVerdicts) {
  trust(key_);
  start();
  start_worker(pass_everything, key_);

  const std::string campaign = submit(kCampaign, "once");
  const auto events = events_until_end(campaign);

  expect_the_verdicts_of_three_modules(campaign);
  std::map<std::string, int> types;
  for (const json& event : events) ++types[event["type"].get<std::string>()];
  EXPECT_EQ(types["campaign.created"], 1);
  EXPECT_EQ(types["repository.acquired"], 3);
  EXPECT_EQ(types["unit.finished"], 6);
  EXPECT_EQ(types["campaign.finished"], 1);
  EXPECT_EQ(submit(kCampaign, "once"), campaign);
  const auto reused =
      client().post("/api/v1/campaigns", std::string(kCampaign) + "description: other\n",
                    "application/yaml", {{"Idempotency-Key", "once"}});
  ASSERT_FALSE(reused);
  EXPECT_EQ(reused.error().code, Errc::conflict);
  daemon_->signal(SIGTERM);
  EXPECT_EQ(daemon_->wait_for_end(), 0) << daemon_->log();
}

TEST_F(DaemonTest, AKilledCoordinatorLosesNothingAndDoublesNothing) {
  trust(key_);
  start();
  // The worker keeps every execute task until the coordinator has been killed.
  start_worker(
      [](const Lease& lease) {
        return std::holds_alternative<Execute>(lease.spec.work) ? std::nullopt
                                                                : pass_everything(lease);
      },
      key_);
  const std::string campaign = submit();
  const auto executes = [&] {
    std::vector<Lease> leases;
    for (const Lease& lease : worker_->leases()) {
      if (std::holds_alternative<Execute>(lease.spec.work)) leases.push_back(lease);
    }
    return leases;
  };
  std::size_t seen = 0;
  while (executes().size() < 4) worker_->wait_for_leases(++seen);

  daemon_->signal(SIGKILL);
  EXPECT_EQ(daemon_->wait_for_end(), -SIGKILL);
  const auto held = executes();
  worker_->answer(*pass_everything(held[0]));  // into the outbox: nobody listens
  restart();
  std::set<std::uint64_t> answered{held[0].token.value};
  while (answered.size() < 6) {
    // Counted before they are looked at: one that comes meanwhile must not be waited for.
    const std::size_t known = worker_->leases().size();
    for (const Lease& lease : executes()) {
      if (answered.insert(lease.token.value).second) worker_->answer(*pass_everything(lease));
    }
    if (answered.size() < 6) worker_->wait_for_leases(known + 1);
  }
  events_until_end(campaign);

  expect_the_verdicts_of_three_modules(campaign);
  for (const Lease& lease : held) {
    const json task = get("/api/v1/tasks/" + lease.spec.id.text());
    EXPECT_EQ(task["attempts"].size(), 1U) << task;
  }
  std::map<std::uint64_t, int> accepted;
  for (const ResultAck& ack : worker_->acks())
    accepted[ack.lease.task.value] += ack.accepted ? 1 : 0;
  for (const auto& [task, times] : accepted) EXPECT_GE(times, 1) << task;
}

TEST_F(DaemonTest, AnUnknownKeyIsDeniedUntilItIsTrustedWithoutARestart) {
  start();
  start_worker(pass_everything, key_);
  worker_->wait_for_state(net::LinkState::auth_failed);
  EXPECT_TRUE(get("/api/v1/workers")["workers"].empty());

  trust(key_, "late");

  worker_->wait_until_welcome();
  const json workers = get("/api/v1/workers")["workers"];
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers[0]["name"], "late");
  EXPECT_EQ(workers[0]["slots"], 4);
}

TEST_F(DaemonTest, AStreamGoesOnAfterTheLastEventThatWasSeen) {
  trust(key_);
  start();
  start_worker(pass_everything, key_);
  const std::string campaign = submit();
  const auto all = events_until_end(campaign);
  ASSERT_GT(all.size(), 5U);

  const auto rest = events_until_end(campaign, std::to_string(all[3]["seq"].get<std::uint64_t>()));

  ASSERT_EQ(rest.size(), all.size() - 4);
  EXPECT_EQ(rest.front(), all[4]);
  EXPECT_EQ(rest.back(), all.back());
}

TEST_F(DaemonTest, ACancelledCampaignStopsItsWorkersAndItsCountsAddUp) {
  trust(key_);
  start();
  start_worker(
      [](const Lease& lease) {
        return std::holds_alternative<Execute>(lease.spec.work) ? std::nullopt
                                                                : pass_everything(lease);
      },
      key_);
  const std::string campaign = submit();
  worker_->wait_for_leases(10);  // three sources, six module sets, so at least one execute

  const auto cancelled = client().post("/api/v1/campaigns/" + campaign + "/cancel", "");

  ASSERT_TRUE(cancelled) << cancelled.error().text();
  worker_->wait_for_cancels(1);
  events_until_end(campaign);
  const json summary = get("/api/v1/campaigns/" + campaign);
  EXPECT_EQ(summary["state"], "cancelled");
  std::uint64_t sum = summary["units_open"].get<std::uint64_t>();
  for (const auto& [verdict, count] : summary["verdicts"].items())
    sum += count.get<std::uint64_t>();
  EXPECT_EQ(sum, summary["units"].get<std::uint64_t>()) << summary;
  EXPECT_EQ(summary["tasks"]["leased"], 0) << summary;
}

TEST_F(DaemonTest, FindingsThatAreTooManyForAMessageAreAllInTheResults) {
  trust(key_);
  start();
  TaskResult large;
  for (int i = 0; i < 9'000; ++i) {
    Finding finding;
    finding.kind = FindingKind::test_failure;
    finding.test = "Test" + std::to_string(i);
    finding.message = std::string(200, 'm');
    large.findings.push_back(finding);
  }
  const auto all = wire::split_findings(large);
  ASSERT_TRUE(all);
  ASSERT_LT(large.findings.size(), 3'000U);
  ASSERT_TRUE(fs::write_file_durably(dir_ / "findings", *all, 0600));
  const auto uploaded =
      client().upload("/api/v1/artifacts", dir_ / "findings",
                      {{"X-Cupel-Digest", "sha256:" + large.findings_artifact.hex()}});
  ASSERT_TRUE(uploaded) << uploaded.error().text();
  start_worker(
      [&large](const Lease& lease) {
        auto result = pass_everything(lease);
        if (result->outcome == Outcome::failing) {
          result->findings = large.findings;
          result->findings_artifact = large.findings_artifact;
        }
        return result;
      },
      key_);

  const std::string campaign = submit();
  events_until_end(campaign);

  // A page also ends by size, so there may be more than one.
  std::vector<json> failing;
  std::string page;
  do {
    const json answer = get("/api/v1/campaigns/" + campaign + "/results" + page);
    for (const json& unit : answer["results"]) {
      if (unit["verdict"] == "failing") failing.push_back(unit);
    }
    page = answer.contains("next_page_token")
               ? "?page_token=" + answer["next_page_token"].get<std::string>()
               : "";
  } while (!page.empty());
  ASSERT_EQ(failing.size(), 3U);
  for (const json& unit : failing) {
    EXPECT_EQ(unit["findings"].size(), 9'000U);
    EXPECT_EQ(unit["findings"].back()["test"], "Test8999");
    EXPECT_EQ(unit["findings_truncated"], false);
  }
  const json task = get("/api/v1/tasks/" + failing[0]["task"].get<std::string>());
  EXPECT_EQ(task["result"]["findings"].size(), 9'000U);
}

TEST_F(DaemonTest, ALogThatGrowsIsAnsweredAsItGrows) {
  trust(key_);
  start();
  start_worker(
      [](const Lease& lease) {
        return std::holds_alternative<Execute>(lease.spec.work) ? std::nullopt
                                                                : pass_everything(lease);
      },
      key_);
  submit();
  worker_->wait_for_leases(10);  // three sources, six module sets, so at least one execute
  const auto leases = worker_->leases();
  const auto running = std::ranges::find_if(
      leases, [](const Lease& lease) { return std::holds_alternative<Execute>(lease.spec.work); });
  ASSERT_NE(running, leases.end());
  const auto follow = [this, id = running->spec.id](std::uint64_t from) {
    return std::async(std::launch::async, [this, id, from] {
      std::pair<std::string, std::string> got;  // state, bytes
      const auto done = client().download(
          "/api/v1/tasks/" + id.text() +
              "/log?check=test&stream=stdout&wait=1&from=" + std::to_string(from),
          0, [&got](std::string_view bytes) { return got.second += bytes, true; },
          [&got](const httpclient::Headers& headers) {
            for (const auto& [name, value] : headers) {
              if (name == "X-Cupel-Log-State") got.first = value;
            }
            return true;
          });
      EXPECT_TRUE(done) << done.error().text();
      return got;
    });
  };

  auto first = follow(0);
  worker_->send_raw(wire::encode(ToCoordinator(
      LogTail{running->spec.id, running->token, CheckKind::test, Stream::out, 0, "one\n"})));
  EXPECT_EQ(first.get(), std::pair(std::string("running"), std::string("one\n")));
  auto second = follow(4);
  worker_->answer(*pass_everything(*running));

  EXPECT_EQ(second.get(), std::pair(std::string("ended"), std::string()));
}

TEST_F(DaemonTest, ABrokenFileIsAnsweredWithThePlacesOfItsFaults) {
  start();

  const auto answer =
      client().send("POST", "/api/v1/campaigns", std::string(kCampaign) + "bogus: 1\n");

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::unknown_key);
  const auto check = client().post("/api/v1/campaigns:check", "a: [1\n", "application/yaml");
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().code, Errc::yaml_syntax);
  EXPECT_EQ(get("/api/v1/campaigns")["campaigns"].size(), 0U);
}

TEST_F(DaemonTest, APlanIsKeptAndCanBeSubmitted) {
  trust(key_);
  start();
  start_worker(pass_everything, key_);

  const auto plan = client().post("/api/v1/plans", kCampaign, "application/yaml");

  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ((*plan)["repositories"].size(), 3U);
  EXPECT_EQ(get("/api/v1/plans/" + (*plan)["id"].get<std::string>())["digest"], (*plan)["digest"]);
  const auto submitted = client().post("/api/v1/campaigns", json{{"plan", (*plan)["id"]}}.dump());
  ASSERT_TRUE(submitted) << submitted.error().text();
  EXPECT_EQ((*submitted)["digest"], (*plan)["digest"]);
  events_until_end((*submitted)["id"].get<std::string>());
}

TEST_F(DaemonTest, MalformedMessagesAreCountedAndStopNothing) {
  trust(key_);
  start();
  start_worker(pass_everything, key_);
  worker_->wait_until_welcome();

  worker_->send_raw("not a message");
  worker_->send_raw(std::string(64, '\xff'));

  events_until_end(submit());
  const auto metrics = client().send("GET", "/metrics");
  ASSERT_TRUE(metrics);
  EXPECT_NE(metrics->body.find("cupel_bus_decode_failures_total{plane=\"control\"} 2\n"),
            std::string::npos);
  EXPECT_NE(metrics->body.find("cupel_units_finished_total{verdict=\"passing\"} 3\n"),
            std::string::npos);
  EXPECT_NE(metrics->body.find("cupel_units_finished_total{verdict=\"refused\"} 0\n"),
            std::string::npos);
}

TEST_F(DaemonTest, ArtifactsAreTakenOnlyWithTheRightDigest) {
  start();
  const std::string bytes(300'000, 'x');

  const auto wrong = client().send("POST", "/api/v1/artifacts", bytes, "application/octet-stream",
                                   {{"X-Cupel-Digest", "sha256:" + sha256("other").hex()}});
  const auto right = client().send("POST", "/api/v1/artifacts", bytes, "application/octet-stream",
                                   {{"X-Cupel-Digest", "sha256:" + sha256(bytes).hex()}});

  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::artifact_mismatch);
  ASSERT_TRUE(right) << right.error().text();
  EXPECT_EQ(json::parse(right->body)["bytes"], bytes.size());
}

TEST_F(DaemonTest, AForeignProcessOnThePortIsNamed) {
  start();
  std::filesystem::create_directory(dir_ / "second");
  DaemonProcess second(dir_ / "second",
                       {"--listen=" + daemon_->ready()["http"].get<std::string>()});

  EXPECT_FALSE(second.wait_until_ready());

  EXPECT_EQ(second.wait_for_end(), error_info(Errc::already_exists).exit_code);
  EXPECT_NE(second.log().find("another process uses this address"), std::string::npos)
      << second.log();
}

TEST_F(DaemonTest, ASecondCoordinatorOnOneDataDirectoryIsRefused) {
  start();
  DaemonProcess second(dir_);

  EXPECT_FALSE(second.wait_until_ready());

  EXPECT_EQ(second.wait_for_end(), error_info(Errc::locked).exit_code);
  EXPECT_NE(second.log().find("CUP-2012"), std::string::npos) << second.log();
}

TEST_F(DaemonTest, TheTokenFileIsPrivateAndTheApiIsShutWithoutIt) {
  start();
  const auto permissions = std::filesystem::status(dir_ / "data" / "token").permissions();
  EXPECT_EQ(permissions, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  httpclient::Options options;
  options.base_url = "http://" + daemon_->ready()["http"].get<std::string>();

  const auto refused = httpclient::Client(options).get("/api/v1/campaigns");

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unauthenticated);
  EXPECT_TRUE(httpclient::Client(options).send("GET", "/-/ready"));
  EXPECT_EQ(daemon_->log().find(daemon_->token()), std::string::npos);
}

}  // namespace
}  // namespace cupel::coordinator
