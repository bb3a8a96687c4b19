/// A real coordinator in a directory of its own, its API and one scripted worker.
#pragma once

#include "common/fs/files.hpp"
#include "common/httpclient/client.hpp"
#include "common/net/trust_list.hpp"
#include "tests/unit/coordinator_app/daemon_process.hpp"
#include "tests/unit/coordinator_app/scripted_worker.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace cupel::coordinator {

using nlohmann::json;

inline constexpr const char* kCampaign = R"(apiVersion: cupel/v1
kind: Campaign
name: three
repositories:
  - module: example.com/one@v1.0.0
  - module: example.com/two@v1.0.0
  - module: example.com/three@v1.0.0
)";

class DaemonTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::temp_directory_path() / ("cupel-daemon-" + fs::random_hex(8));
    std::filesystem::create_directory(dir_);
  }
  void TearDown() override {
    worker_.reset();
    daemon_.reset();
    std::error_code ec;
    std::filesystem::remove_all(dir_, ec);
  }

  void start(std::vector<std::string> extra = {}) {
    daemon_ = std::make_unique<DaemonProcess>(dir_, std::move(extra));
    ASSERT_TRUE(daemon_->wait_until_ready()) << daemon_->log();
  }
  /// With the addresses of the run before.
  void restart() {
    const json before = daemon_->ready();
    daemon_.reset();
    start({"--control=" + before["control"].get<std::string>(),
           "--bulk=" + before["bulk"].get<std::string>()});
  }
  void trust(const net::KeyPair& key, const std::string& name = "scripted",
             std::map<std::string, std::string> labels = {}) {
    const auto added =
        net::add_trusted(dir_ / "trusted", key.public_key, {name, std::move(labels)});
    ASSERT_TRUE(added) << added.error().text();
  }
  void start_worker(ScriptedWorker::Script script, const net::KeyPair& key) {
    ScriptedWorker::Settings settings;
    settings.control = daemon_->ready()["control"].get<std::string>();
    settings.coordinator_key = daemon_->ready()["public_key"].get<std::string>();
    settings.key = key;
    settings.script = std::move(script);
    worker_ = std::make_unique<ScriptedWorker>(std::move(settings));
  }
  httpclient::Client client() {
    httpclient::Options options;
    options.base_url = "http://" + daemon_->ready()["http"].get<std::string>();
    options.token = daemon_->token();
    return httpclient::Client(options);
  }
  std::string submit(const std::string& text = kCampaign, const std::string& key = "") {
    httpclient::Headers headers;
    if (!key.empty()) headers.emplace_back("Idempotency-Key", key);
    const auto answer = client().post("/api/v1/campaigns", text, "application/yaml", headers);
    EXPECT_TRUE(answer) << answer.error().text();
    return answer ? (*answer)["id"].get<std::string>() : "";
  }
  /// All events of a campaign up to its end, in order.
  std::vector<json> events_until_end(const std::string& campaign, const std::string& after = "") {
    std::vector<json> events;
    const auto done = client().events("/api/v1/campaigns/" + campaign + "/events", after,
                                      [&](const httpclient::Event& event) {
                                        events.push_back(json::parse(event.data));
                                        return events.back()["type"] != "campaign.finished";
                                      });
    EXPECT_TRUE(done) << done.error().text();
    return events;
  }
  /// The value of one sample of /metrics, such as `cupel_sessions_total{result="none"}`.
  double metric(const std::string& sample) {
    const auto scraped = client().send("GET", "/metrics");
    EXPECT_TRUE(scraped) << scraped.error().text();
    if (!scraped) return -1;
    const std::string text = "\n" + scraped->body;
    const auto at = text.find("\n" + sample + " ");
    EXPECT_NE(at, std::string::npos) << "no sample " << sample;
    return at == std::string::npos ? -1 : std::stod(text.substr(at + sample.size() + 2));
  }
  json get(const std::string& target) {
    const auto answer = client().get(target);
    EXPECT_TRUE(answer) << answer.error().text();
    return answer ? *answer : json();
  }
  void expect_the_verdicts_of_three_modules(const std::string& campaign) {
    const json summary = get("/api/v1/campaigns/" + campaign);
    EXPECT_EQ(summary["state"], "finished");
    EXPECT_EQ(summary["units"], 6);
    EXPECT_EQ(summary["units_open"], 0);
    EXPECT_EQ(summary["repositories_open"], 0);
    EXPECT_EQ(summary["verdicts"]["passing"], 3) << summary;
    EXPECT_EQ(summary["verdicts"]["failing"], 3) << summary;
    const json results = get("/api/v1/campaigns/" + campaign + "/results")["results"];
    ASSERT_EQ(results.size(), 6U);
    std::set<std::string> modules;
    for (const json& unit : results) {
      modules.insert(unit["module"].get<std::string>());
      EXPECT_EQ(unit["verdict"], unit["dir"] == "a" ? "passing" : "failing");
      EXPECT_EQ(unit["findings"].size(), unit["dir"] == "a" ? 0U : 1U);
      EXPECT_EQ(unit["seconds"], 2.5);
      EXPECT_EQ(unit["commit"], std::string(40, 'a'));
      const json task = get("/api/v1/tasks/" + unit["task"].get<std::string>());
      EXPECT_EQ(task["state"], "done");
      EXPECT_FALSE(task["result"].is_null());
    }
    EXPECT_EQ(modules.size(), 6U);
  }

  std::filesystem::path dir_;
  std::unique_ptr<DaemonProcess> daemon_;
  std::unique_ptr<ScriptedWorker> worker_;
  const net::KeyPair key_ = net::generate_key_pair();
};

}  // namespace cupel::coordinator
