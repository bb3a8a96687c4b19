/// An agent with two slots, and what its last step said.
#pragma once

#include "common/core/limits.hpp"
#include "worker/core/agent/agent.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace cupel::worker {

using namespace std::chrono_literals;

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() { restart({}); }

  void restart(const std::vector<LiveLease>& outbox, std::uint32_t slots = 2) {
    AgentSettings settings;
    settings.worker = WorkerId{7};
    settings.incarnation = Incarnation{1};
    settings.drain_deadline = 60s;
    Capacity capacity;
    capacity.slots = slots;
    agent_ = std::make_unique<Agent>(settings, capacity, outbox, now_);
  }
  void step(AgentEvent event) { actions_ = agent_->step(std::move(event), now_); }
  void tell(ToWorker message) { step(FromCoordinator{std::move(message)}); }
  void pass(Duration time) {
    now_ += time;
    step(Tick{});
  }
  /// The first action of a kind in the last step.
  template <typename Kind>
  const Kind* action() const {
    for (const AgentAction& action : actions_) {
      if (const auto* known = std::get_if<Kind>(&action)) return known;
    }
    return nullptr;
  }
  /// The first message of a kind that the last step sent.
  template <typename Kind>
  const Kind* sent() const {
    for (const AgentAction& action : actions_) {
      const auto* send = std::get_if<SendMessage>(&action);
      const auto* known = send == nullptr ? nullptr : std::get_if<Kind>(&send->message);
      if (known != nullptr) return known;
    }
    return nullptr;
  }
  void join() {
    step(Connected{});
    const Hello* hello = sent<Hello>();
    ASSERT_NE(hello, nullptr);
    beat_ = hello->beat;
    Welcome welcome;
    welcome.protocol = kProtocolVersionMax;
    welcome.session = 5;
    welcome.beat = beat_;
    tell(welcome);
    note_beat();
  }
  void note_beat() {
    if (const Heartbeat* heartbeat = sent<Heartbeat>()) beat_ = heartbeat->beat;
  }
  LiveLease lease(std::uint64_t task, std::uint64_t token) {
    Lease message;
    message.spec.id = TaskId{task};
    message.token = Token{token};
    message.beat = beat_;
    tell(message);
    return {TaskId{task}, Token{token}};
  }
  void renew(const LiveLease& mine) {
    pass(2s);
    note_beat();
    HeartbeatAck ack;
    ack.beat = beat_;
    ack.renewed = {mine};
    tell(ack);
  }

  TimePoint now_{std::chrono::hours(1)};
  std::unique_ptr<Agent> agent_;
  AgentActions actions_;
  std::uint64_t beat_ = 0;
};

}  // namespace cupel::worker
