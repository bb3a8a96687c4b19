/// An honest worker under way and, beside it, a peer with a trusted key and bad intentions.
#pragma once

#include "tests/unit/coordinator_app/daemon_fixture.hpp"
#include "tests/unit/coordinator_app/hostile_peer.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cupel::coordinator {

inline std::optional<TaskResult> all_but_execute(const Lease& lease) {
  return std::holds_alternative<Execute>(lease.spec.work) ? std::nullopt : pass_everything(lease);
}

class HostileWorkerTest : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    trust(key_, "honest", {{"trust", "high"}});
    trust(bad_key_, "hostile", {{"zone", "dmz"}});
  }
  void start_peer(WorkerId id = WorkerId{666}) {
    peer_ = std::make_unique<HostilePeer>(daemon_->ready(), bad_key_, id);
  }
  void TearDown() override {
    peer_.reset();
    DaemonTest::TearDown();
  }
  /// An honest worker that sits on its execute tasks until finish() is called.
  std::string begin_with_an_honest_worker() {
    start_worker(all_but_execute, key_);
    worker_->wait_until_welcome();
    const std::string campaign = submit();
    std::size_t seen = 0;
    while (executes().size() < 4) worker_->wait_for_leases(++seen);
    return campaign;
  }
  std::vector<Lease> executes() const {
    std::vector<Lease> leases;
    for (const Lease& lease : worker_->leases()) {
      if (std::holds_alternative<Execute>(lease.spec.work)) leases.push_back(lease);
    }
    return leases;
  }
  void finish(const std::string& campaign) {
    std::set<std::uint64_t> answered;
    while (answered.size() < 6) {
      const std::size_t known = worker_->leases().size();
      for (const Lease& lease : executes()) {
        if (answered.insert(lease.token.value).second) worker_->answer(*pass_everything(lease));
      }
      if (answered.size() < 6) worker_->wait_for_leases(known + 1);
    }
    events_until_end(campaign);
    expect_the_verdicts_of_three_modules(campaign);
    for (const Lease& lease : executes()) {
      EXPECT_EQ(get("/api/v1/tasks/" + lease.spec.id.text())["attempts"].size(), 1U);
    }
  }

  const net::KeyPair bad_key_ = net::generate_key_pair();
  std::unique_ptr<HostilePeer> peer_;
};

}  // namespace cupel::coordinator
