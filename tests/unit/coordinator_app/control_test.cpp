// The operator's side of the API, against the real daemon: workers, campaigns, why, dead letters.
#include "tests/unit/coordinator_app/daemon_fixture.hpp"
#include "tests/unit/coordinator_app/hostile_peer.hpp"

#include <atomic>
#include <chrono>
#include <memory>

namespace cupel::coordinator {
namespace {

constexpr const char* kOne =
    "apiVersion: cupel/v1\nkind: Campaign\nname: one\nrepositories:\n"
    "  - module: example.com/one@v1.0.0\n"
    "strategy: {retries: {infra_error: 0}}\n";

class ControlTest : public DaemonTest {
 protected:
  json post(const std::string& target, const json& body = json::object()) {
    const auto answer = client().post(target, body.dump());
    EXPECT_TRUE(answer) << answer.error().text();
    return answer ? *answer : json();
  }
  Errc refused(const std::string& target, const json& body = json::object()) {
    const auto answer = client().post(target, body.dump());
    EXPECT_FALSE(answer) << *answer;
    return answer ? Errc::bug : answer.error().code;
  }
  /// The answers of a worker whose engine fails while `broken`.
  ScriptedWorker::Script failing_while(const std::shared_ptr<std::atomic<bool>>& broken) {
    return [broken](const Lease& lease) -> std::optional<TaskResult> {
      if (!*broken) return pass_everything(lease);
      TaskResult result;
      result.task = lease.spec.id;
      result.token = lease.token;
      result.ending = Ending::interrupted;
      result.reason = Reason::engine;
      result.message = "no engine";
      return result;
    };
  }
};

TEST_F(ControlTest, WorkersAreOrderedByLabelWithADeadline) {
  trust(key_, "scripted", {{"zone", "a"}});
  start();
  HostilePeer peer(daemon_->ready(), key_, WorkerId{5});
  static_cast<void>(peer.join(1));

  const json drained =
      post("/api/v1/workers:drain", {{"labels", {{"zone", "a"}}}, {"deadline_s", 60}});

  ASSERT_EQ(drained["workers"].size(), 1U);
  EXPECT_EQ(drained["workers"][0]["state"], "draining");
  EXPECT_TRUE(drained["workers"][0]["drain_by"].is_string());
  const auto order = peer.await<Drain>();
  EXPECT_TRUE(order.on);
  EXPECT_GT(order.deadline_ms, 50'000U);
  EXPECT_EQ(refused("/api/v1/workers:drain", {{"labels", {{"zone", "b"}}}}), Errc::not_found);
  EXPECT_EQ(refused("/api/v1/workers:drain"), Errc::bad_value);
  EXPECT_EQ(refused("/api/v1/workers/scripted/drain", {{"deadline_s", 0}}), Errc::bad_value);
  EXPECT_EQ(refused("/api/v1/workers/scripted/drain", {{"why", "x"}}), Errc::unknown_key);
}

TEST_F(ControlTest, AQuarantineAndADrainOutliveTheCoordinator) {
  trust(key_);
  start();
  HostilePeer peer(daemon_->ready(), key_, WorkerId{5});
  static_cast<void>(peer.join(1));
  post("/api/v1/workers/scripted/quarantine", {{"why", "odd kernel"}});
  post("/api/v1/workers/scripted/drain", {{"deadline_s", 3600}});

  restart();

  const json worker = get("/api/v1/workers")["workers"][0];
  EXPECT_EQ(worker["quarantine"]["by"], "operator");
  EXPECT_EQ(worker["quarantine"]["why"], "odd kernel");
  EXPECT_TRUE(worker["draining"].get<bool>());
  EXPECT_TRUE(worker["drain_by"].is_string());
}

TEST_F(ControlTest, APausedCampaignStartsNothingAlsoAfterARestart) {
  trust(key_);
  start();
  const std::string campaign = submit();
  EXPECT_EQ(post("/api/v1/campaigns/" + campaign + "/pause")["state"], "paused");
  restart();
  start_worker(pass_everything, key_);
  worker_->wait_until_welcome();
  EXPECT_EQ(get("/api/v1/campaigns/" + campaign)["state"], "paused");
  EXPECT_TRUE(worker_->leases().empty());

  EXPECT_EQ(post("/api/v1/campaigns/" + campaign + "/resume")["state"], "running");

  events_until_end(campaign);
  expect_the_verdicts_of_three_modules(campaign);
  EXPECT_EQ(refused("/api/v1/campaigns/" + campaign + "/pause"), Errc::conflict);
}

TEST_F(ControlTest, AWorkerWhoseEngineFailsIsQuarantinedProbedAndReleased) {
  trust(key_);
  start({"--quarantine-failures=2", "--quarantine-ms=200", "--backoff-ms=50"});
  const auto broken = std::make_shared<std::atomic<bool>>(true);
  start_worker(failing_while(broken), key_);
  const std::string campaign = submit();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (metric("cupel_worker_quarantines_total{by=\"fleet\"}") < 1 &&
         std::chrono::steady_clock::now() < until) {
  }

  *broken = false;
  events_until_end(campaign);

  EXPECT_EQ(metric("cupel_worker_quarantines_total{by=\"fleet\"}"), 1);
  EXPECT_EQ(metric("cupel_worker_probes_total{result=\"passed\"}"), 1);
  EXPECT_EQ(metric("cupel_worker_releases_total"), 1);
  EXPECT_NE(daemon_->log().find("worker.quarantined"), std::string::npos);
  EXPECT_NE(daemon_->log().find("worker.released"), std::string::npos);
}

TEST_F(ControlTest, WhyATaskWaitsIsAnsweredForTheTaskAndItsUnit) {
  trust(key_);
  start();
  HostilePeer peer(daemon_->ready(), key_, WorkerId{5});
  static_cast<void>(peer.join(1));
  submit(kOne);
  const auto source = peer.await<Lease>();
  post("/api/v1/workers/scripted/drain");
  peer.tell(ResultMessage{*pass_everything(source)});
  EXPECT_TRUE(peer.await<ResultAck>().accepted);
  const std::string campaign = source.spec.campaign.text();
  const json units = get("/api/v1/campaigns/" + campaign + "/results")["results"];
  ASSERT_FALSE(units.empty());

  const json why = get("/api/v1/units/" + units[0]["id"].get<std::string>() + "/why");

  EXPECT_EQ(why["state"], "queued");
  EXPECT_EQ(why["reasons"][0]["cause"], "draining");
  EXPECT_EQ(why["reasons"][0]["worker"], "scripted");
  EXPECT_EQ(why["reasons"][1]["cause"], "bound");
  const json by_task = get("/api/v1/tasks/" + why["task"].get<std::string>() + "/why");
  EXPECT_EQ(by_task["reasons"][0]["cause"], "draining");
  const json over = get("/api/v1/tasks/" + source.spec.id.text() + "/why");
  EXPECT_EQ(over["state"], "done");
  EXPECT_TRUE(over["reasons"].empty());
  EXPECT_EQ(client().get("/api/v1/tasks/" + TaskId{424'242}.text() + "/why").error().code,
            Errc::not_found);
}

TEST_F(ControlTest, ADeadLetterIsReplayedToAVerdict) {
  trust(key_);
  start({"--backoff-ms=50"});
  const auto broken = std::make_shared<std::atomic<bool>>(true);
  start_worker(failing_while(broken), key_);
  const std::string campaign = submit(kOne);
  const std::string first_end =
      std::to_string(events_until_end(campaign).back()["seq"].get<std::uint64_t>());
  EXPECT_EQ(get("/api/v1/campaigns/" + campaign)["verdicts"]["inconclusive"], 1);
  const json letters = get("/api/v1/deadletters?campaign=" + campaign)["deadletters"];
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0]["reason"], "engine");
  EXPECT_EQ(letters[0]["attempts"].size(), 1U);
  EXPECT_EQ(letters[0]["units"][0]["verdict"], "inconclusive");
  const std::string path = "/api/v1/deadletters/" + letters[0]["task"].get<std::string>();
  *broken = false;

  EXPECT_EQ(post(path + "/replay")["state"], "replayed");

  events_until_end(campaign, first_end);
  const json summary = get("/api/v1/campaigns/" + campaign);
  EXPECT_EQ(summary["state"], "finished");
  EXPECT_EQ(summary["units"], 2);
  EXPECT_EQ(summary["verdicts"]["inconclusive"], 0) << summary;
  EXPECT_EQ(summary["verdicts"]["passing"], 1);
  EXPECT_EQ(refused(path + "/replay"), Errc::conflict);
  EXPECT_TRUE(get("/api/v1/deadletters")["deadletters"].empty());
  EXPECT_TRUE(get("/api/v1/deadletters?campaign=" + campaign)["deadletters"].empty());
  EXPECT_EQ(client().get("/api/v1/deadletters?campaign=" + CampaignId{424'242}.text()).error().code,
            Errc::not_found);
}

TEST_F(ControlTest, ADroppedDeadLetterIsListedNoMore) {
  trust(key_);
  start();
  start_worker(failing_while(std::make_shared<std::atomic<bool>>(true)), key_);
  const std::string campaign = submit(kOne);
  events_until_end(campaign);
  const json letters = get("/api/v1/deadletters")["deadletters"];
  ASSERT_EQ(letters.size(), 1U);

  post("/api/v1/deadletters/" + letters[0]["task"].get<std::string>() + "/drop");

  EXPECT_TRUE(get("/api/v1/deadletters")["deadletters"].empty());
  EXPECT_EQ(get("/api/v1/deadletters?state=dropped")["deadletters"].size(), 1U);
  EXPECT_EQ(get("/api/v1/campaigns/" + campaign)["verdicts"]["inconclusive"], 1);
}

}  // namespace
}  // namespace cupel::coordinator
