// A campaign that scans: tools are built first, and leases carry what a scan needs.
#include "common/images/table.hpp"
#include "tests/unit/coordinator_core/machine_fixture.hpp"

#include <algorithm>

namespace cupel::coordinator {
namespace {

const std::string kScanImage = "sha256:" + std::string(64, 'a');

class MachineScanTest : public MachineTest {
 protected:
  void join_with_image(const std::string& key, std::uint64_t id, std::uint32_t slots = 2) {
    Hello hello;
    hello.protocol_min = kProtocolVersionMin;
    hello.protocol_max = kProtocolVersionMax;
    hello.worker = WorkerId{id};
    hello.incarnation = Incarnation{id};
    hello.capacity.slots = slots;
    hello.capacity.images = {kScanImage};
    hello.capacity.toolchains = {{kScanImage, "1.26.8", true}};
    hello.capacity.enforces_egress = key == enforcing_;
    hello.beat = ++beats_[key];
    from(key, hello);
  }

  std::string enforcing_;  ///< The worker that says of itself that it enforces egress.

  CampaignId submit_scan(Reason problem = Reason::none) {
    SubmitCampaign event;
    event.request = ++requests_;
    event.campaign.name = "c";
    event.campaign.repositories = {git("a")};
    event.campaign.scan.enabled = true;
    event.campaign.settings.require_enforced_egress = !enforcing_.empty();
    if (problem == Reason::none) {
      event.campaign.scan.snapshot = campaign::ScanSnapshot{sha256("db"), "id", "time"};
    } else {
      event.campaign.scan.problem = problem;
      event.campaign.scan.message = "why";
    }
    event.document = "{}";
    event.owner = "ann";
    step(std::move(event));
    return replies_.back().answer ? replies_.back().answer->campaign : CampaignId{};
  }

  static TaskResult built(const Lease& lease, const std::string& content) {
    TaskResult result = passing(lease);
    ToolFacts facts;
    facts.tool = std::get<BuildTool>(lease.spec.work).tool;
    facts.image = kScanImage;
    facts.binary = sha256(content);
    result.tool = facts;
    return result;
  }

  std::vector<std::pair<std::string, Lease>> leases_of(TaskKind kind) const {
    std::vector<std::pair<std::string, Lease>> found;
    for (const Send& send : sent_) {
      const auto* lease = std::get_if<Lease>(&send.message);
      if (lease != nullptr && lease->spec.kind == kind) found.emplace_back(send.key, *lease);
    }
    return found;
  }

  void answer(const std::string& key, TaskResult result) {
    from(key, ResultMessage{std::move(result)});
  }
  /// The repository's acquire tasks, whoever got them.
  void acquire_all() {
    for (std::size_t i = 0; i < 2; ++i) {
      const auto leases = leases_of(TaskKind::acquire);
      ASSERT_EQ(leases.size(), i + 1);
      const auto& [key, lease] = leases.back();
      answer(key, i == 0 ? acquired(lease) : passing(lease));
    }
  }
};

TEST_F(MachineScanTest, TheScannerIsBuiltBeforeTheFirstUnitIsExecuted) {
  join_with_image("k1", 1);
  submit_scan();
  step(Tick{});
  auto tools = leases_of(TaskKind::tool);
  ASSERT_EQ(tools.size(), 1U);
  const auto& work = std::get<BuildTool>(tools[0].second.spec.work);
  EXPECT_EQ(work.image, kScanImage);
  EXPECT_EQ(work.tool, images::builtin_table().find("1.26")->scanner);
  acquire_all();
  EXPECT_TRUE(leases_of(TaskKind::execute).empty());
  answer("k1", built(tools[0].second, "scanner"));
  const auto executes = leases_of(TaskKind::execute);
  ASSERT_EQ(executes.size(), 1U);
  const auto& execute = std::get<Execute>(executes[0].second.spec.work);
  EXPECT_EQ(execute.scan.scanner, sha256("scanner"));
  EXPECT_EQ(execute.scan.version, work.tool.version);
  EXPECT_EQ(execute.scan.database, sha256("db"));
  EXPECT_EQ(execute.scan.database_id, "id");
  EXPECT_FALSE(execute.only_scan);
}

TEST_F(MachineScanTest, TheLeaseAllowsItsScannerAndItsDatabaseAndNothingElse) {
  join_with_image("k1", 1);
  submit_scan();
  step(Tick{});
  acquire_all();
  answer("k1", built(leases_of(TaskKind::tool)[0].second, "scanner"));
  const auto executes = leases_of(TaskKind::execute);
  ASSERT_EQ(executes.size(), 1U);
  const std::uint64_t session = last<Welcome>("k1").session;
  const LiveLease lease = live(executes[0].second);
  EXPECT_TRUE(machine_.may_get(session, "k1", lease, sha256("scanner")));
  EXPECT_TRUE(machine_.may_get(session, "k1", lease, sha256("db")));
  EXPECT_FALSE(machine_.may_get(session, "k1", lease, sha256("other")));
  EXPECT_FALSE(machine_.may_get(session, "k1", lease, Digest{}));
}

TEST_F(MachineScanTest, TwoWorkersWithTheImageBothBuildAndMustAgree) {
  join_with_image("k1", 1);
  join_with_image("k2", 2);
  submit_scan();
  step(Tick{});
  auto tools = leases_of(TaskKind::tool);
  ASSERT_EQ(tools.size(), 2U);
  EXPECT_NE(tools[0].first, tools[1].first);
  acquire_all();
  answer(tools[0].first, built(tools[0].second, "one"));
  EXPECT_TRUE(leases_of(TaskKind::execute).empty());
  answer(tools[1].first, built(tools[1].second, "other"));
  const auto executes = leases_of(TaskKind::execute);
  ASSERT_EQ(executes.size(), 1U);
  const auto& scan = std::get<Execute>(executes[0].second.spec.work).scan;
  EXPECT_TRUE(scan.scanner.empty());
  EXPECT_EQ(scan.problem, Reason::scan_failed);
}

TEST_F(MachineScanTest, AWorkerThatTheCampaignCannotUseBuildsNothingForIt) {
  enforcing_ = "k2";
  join_with_image("k1", 1);
  join_with_image("k2", 2);
  submit_scan();
  step(Tick{});

  const auto tools = leases_of(TaskKind::tool);
  ASSERT_EQ(tools.size(), 1U);
  EXPECT_EQ(tools[0].first, "k2");
  acquire_all();
  answer("k2", built(tools[0].second, "scanner"));
  EXPECT_EQ(leases_of(TaskKind::execute).size(), 1U);
}

TEST_F(MachineScanTest, ASecondCampaignUsesTheToolThatIsThere) {
  join_with_image("k1", 1);
  submit_scan();
  step(Tick{});
  answer("k1", built(leases_of(TaskKind::tool)[0].second, "scanner"));
  submit_scan();
  step(Tick{});
  EXPECT_EQ(leases_of(TaskKind::tool).size(), 1U);
}

TEST_F(MachineScanTest, WithoutADatabaseNothingIsBuiltAndTheLeaseSaysWhy) {
  join_with_image("k1", 1);
  submit_scan(Reason::vulndb_corrupt);
  step(Tick{});
  EXPECT_TRUE(leases_of(TaskKind::tool).empty());
  acquire_all();
  const auto executes = leases_of(TaskKind::execute);
  ASSERT_EQ(executes.size(), 1U);
  const auto& scan = std::get<Execute>(executes[0].second.spec.work).scan;
  EXPECT_EQ(scan.problem, Reason::vulndb_corrupt);
  EXPECT_EQ(scan.message, "why");
  EXPECT_TRUE(scan.wanted());
}

TEST_F(MachineScanTest, ACancelledCampaignTakesItsBuildsWithItAndTheNextStartsAnew) {
  join_with_image("k1", 1);
  const CampaignId first = submit_scan();
  step(Tick{});
  ASSERT_EQ(leases_of(TaskKind::tool).size(), 1U);
  step(CancelCampaign{++requests_, first});
  EXPECT_GE(count<CancelTask>("k1"), 1U);
  submit_scan();
  heartbeat("k1", {}, 2);
  step(Tick{});
  // Heartbeats of a real worker carry its images; this one says so in its hello only.
  join_with_image("k1", 1);
  step(Tick{});
  EXPECT_EQ(leases_of(TaskKind::tool).size(), 2U);
}

TEST_F(MachineScanTest, ACampaignWithoutAScanBuildsNothing) {
  join_with_image("k1", 1);
  submit();
  step(Tick{});
  EXPECT_TRUE(leases_of(TaskKind::tool).empty());
  acquire_all();
  const auto executes = leases_of(TaskKind::execute);
  ASSERT_EQ(executes.size(), 1U);
  EXPECT_FALSE(std::get<Execute>(executes[0].second.spec.work).scan.wanted());
}

TEST_F(MachineScanTest, ABuildThatFailsMakesScansInconclusiveAndNothingElse) {
  join_with_image("k1", 1);
  submit_scan();
  step(Tick{});
  acquire_all();
  TaskResult failed = passing(leases_of(TaskKind::tool)[0].second);
  failed.outcome = Outcome::inconclusive;
  failed.reason = Reason::module_not_found;
  failed.message = "no such version";
  answer("k1", failed);
  const auto executes = leases_of(TaskKind::execute);
  ASSERT_EQ(executes.size(), 1U);
  const auto& scan = std::get<Execute>(executes[0].second.spec.work).scan;
  EXPECT_EQ(scan.problem, Reason::scan_failed);
  EXPECT_NE(scan.message.find("no such version"), std::string::npos);
}

}  // namespace
}  // namespace cupel::coordinator
