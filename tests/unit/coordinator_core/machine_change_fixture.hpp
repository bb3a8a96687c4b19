/// A machine with workers that hold a toolchain image, and the answers of a campaign with a change.
#pragma once

#include "tests/unit/coordinator_core/machine_fixture.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace cupel::coordinator {

inline const std::string kImage = "sha256:" + std::string(64, 'a');

class MachineChangeTest : public MachineTest {
 protected:
  MachineChangeTest() { join_with_image("k1", 1); }

  void join_with_image(const std::string& key, std::uint64_t id,
                       const std::string& engine = "docker 20") {
    Hello hello;
    hello.protocol_min = kProtocolVersionMin;
    hello.protocol_max = kProtocolVersionMax;
    hello.worker = WorkerId{id};
    hello.incarnation = Incarnation{id};
    hello.engine = engine;
    hello.capacity.slots = 1;
    hello.capacity.images = {kImage};
    hello.capacity.toolchains = {{kImage, "1.26.8", true}};
    hello.beat = ++beats_[key];
    from(key, hello);
  }

  void submit_upgrade(campaign::Baseline baseline = campaign::Baseline::automatic) {
    SubmitCampaign event;
    event.request = ++requests_;
    event.campaign.name = "up";
    event.campaign.repositories = {git("a")};
    Upgrade upgrade;
    upgrade.modules = {{"example.com/lib", "v1.2.0"}};
    event.campaign.change = upgrade;
    event.campaign.confirm = {.runs = 1, .need = 1};
    event.campaign.baseline = baseline;
    event.document = "{}";
    event.owner = "ann";
    step(std::move(event));
  }

  /// The newest lease, whoever got it; worker() says who.
  Lease lease() const {
    for (auto it = sent_.rbegin(); it != sent_.rend(); ++it) {
      if (const auto* found = std::get_if<Lease>(&it->message)) return *found;
    }
    ADD_FAILURE() << "nothing was leased";
    return Lease{};
  }
  std::string worker() const {
    for (auto it = sent_.rbegin(); it != sent_.rend(); ++it) {
      if (std::holds_alternative<Lease>(it->message)) return it->key;
    }
    return "";
  }
  void answer(TaskResult result) { from(worker(), ResultMessage{std::move(result)}); }

  TaskResult executed(Outcome outcome, const std::string& engine = "docker 20") {
    TaskResult result = passing(lease());
    result.outcome = outcome;
    result.evidence.image = kImage;
    result.evidence.engine = engine;
    if (outcome == Outcome::failing) {
      Finding finding;
      finding.kind = FindingKind::test_failure;
      finding.package = "m/.";
      finding.test = "TestA";
      finding.key = "test|m/.|TestA";
      finding.signature = "test||broken";
      result.findings.push_back(finding);
    }
    return result;
  }

  /// From the repository to the modules of the before side.
  void acquire() {
    answer(acquired(lease()));
    TaskResult modules = passing(lease());
    modules.modules = ModuleFacts{.tree = "tree-before"};
    answer(std::move(modules));
  }
  void change() {
    TaskResult mutated = passing(lease());
    mutated.change = ChangeFacts{};
    mutated.change->tree = "tree-after";
    mutated.change->patch = sha256("patch");
    mutated.change->patch_bytes = 9;
    mutated.change->resolved = {{"example.com/lib", "v1.2.0"}};
    answer(std::move(mutated));
    answer(passing(lease()));  // the after side's modules
  }
  /// The last look at the patch.
  TaskResult looked_at() {
    EXPECT_TRUE(looks_at_patch());
    TaskResult result = passing(lease());
    result.change = ChangeFacts{};
    result.change->tree = "tree-after";
    result.change->patch = sha256("patch");
    return result;
  }
  bool looks_at_patch() const {
    const Lease now = lease();
    const auto* mutate = std::get_if<Mutate>(&now.spec.work);
    return mutate != nullptr && std::holds_alternative<NoChange>(mutate->change);
  }
  bool runs(Side side) const {
    const Lease now = lease();
    const auto* execute = std::get_if<Execute>(&now.spec.work);
    return execute != nullptr && execute->side == side;
  }
  nlohmann::json compared() const {
    return nlohmann::json::parse(written<UnitCompared>().back().body);
  }
  /// A campaign that runs both sides, each with this outcome.
  void first_campaign(Outcome outcome = Outcome::passing) {
    submit_upgrade();
    acquire();
    ASSERT_TRUE(runs(Side::before));
    answer(executed(outcome));
    change();
    ASSERT_TRUE(runs(Side::after));
    answer(executed(outcome));
    if (outcome == Outcome::passing) answer(looked_at());
    ASSERT_EQ(written<UnitFinished>().size(), 1U);
  }
};

}  // namespace cupel::coordinator
