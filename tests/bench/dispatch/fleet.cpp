#include "tests/bench/dispatch/fleet.hpp"

#include "common/net/trust_list.hpp"
#include "tests/bench/support/figures.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace cupel::bench {

Fleet::Fleet(std::filesystem::path dir) : dir_(std::move(dir)) {
  std::filesystem::create_directory(dir_);
  if (auto added = net::add_trusted(dir_ / "trusted", key_.public_key, {"simulated", {}}); !added) {
    fail(added.error().text());
  }
  daemon_ = std::make_unique<coordinator::DaemonProcess>(
      dir_, std::vector<std::string>{"--heartbeat-ms=2000", "--lease-ms=30000"});
  if (!daemon_->wait_until_ready()) fail(daemon_->log());
}

Fleet::~Fleet() {
  daemon_.reset();
  std::filesystem::remove_all(dir_);
}

httpclient::Client Fleet::client() const {
  httpclient::Options options;
  options.base_url = "http://" + daemon_->ready()["http"].get<std::string>();
  options.token = daemon_->token();
  options.idle = std::chrono::minutes(5);
  return httpclient::Client(options);
}

std::unique_ptr<SimWorker> Fleet::worker(std::uint32_t slots, SimWorker::Hooks hooks) {
  Countdown welcome(1);
  hooks.welcome = [&welcome] { welcome.add(); };
  auto worker = std::make_unique<SimWorker>(daemon_->ready()["control"].get<std::string>(),
                                            daemon_->ready()["public_key"].get<std::string>(), key_,
                                            slots, std::move(hooks));
  welcome.wait();
  return worker;
}

double Fleet::metric(const std::string& name) const {
  const auto answer = client().send("GET", "/metrics");
  if (!answer) fail(answer.error().text());
  const std::size_t at = answer->body.find("\n" + name + " ");
  if (at == std::string::npos) fail("no metric " + name);
  return std::strtod(answer->body.c_str() + at + name.size() + 2, nullptr);
}

double Fleet::memory_mib(const std::string& line) const {
  std::ifstream file("/proc/" + std::to_string(daemon_->pid()) + "/status");
  for (std::string text; std::getline(file, text);) {
    if (text.starts_with(line + ":"))
      return std::strtod(text.c_str() + line.size() + 1, nullptr) / 1024;
  }
  fail("no " + line + " of the coordinator");
}

void submit(httpclient::Client& client, const std::string& campaign) {
  if (const auto answer = client.post("/api/v1/campaigns", campaign); !answer) {
    fail(answer.error().text());
  }
}

std::string campaign_of(const std::string& name, int first, int count) {
  std::string text =
      R"({"apiVersion":"cupel/v1","kind":"Campaign","name":")" + name + R"(","repositories":[)";
  for (int i = first; i < first + count; ++i) {
    text += (i == first ? "" : ",") + std::string(R"({"module":"example.com/m)") +
            std::to_string(i) + R"(@v1.0.0"})";
  }
  return text + "]}";
}

void Countdown::wait() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, std::chrono::minutes(10), [&] { return count_ >= wanted_; }))
    fail("no progress");
}

}  // namespace cupel::bench
