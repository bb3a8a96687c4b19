// What a worker's attempts give: the truth of the task, but for the noise.
#include "tests/sim/simulation.hpp"

#include <algorithm>

namespace cupel::sim {

namespace {

void add_finding(TaskResult& result) {
  if (result.outcome != cupel::Outcome::failing) return;
  Finding finding;
  finding.kind = FindingKind::test_failure;
  finding.package = "p";
  finding.test = "TestA";
  finding.key = "test|p|TestA";
  finding.signature = "test||broken";
  result.findings.push_back(std::move(finding));
}

}  // namespace

TaskResult Simulation::work(WorkerNode& node, const Lease& lease) {
  const TaskSpec& spec = lease.spec;
  TaskResult result;
  result.task = spec.id;
  result.token = lease.token;
  result.message = made_under(lease.token);
  result.outcome = cupel::Outcome::passing;
  if (noise(kNoiseWork, 30)) {
    result.ending = Ending::interrupted;
    result.reason = Reason::engine;
    return result;
  }
  if (std::holds_alternative<NoOp>(spec.work)) return result;
  if (const auto* source = std::get_if<AcquireSource>(&spec.work)) {
    const auto* git = std::get_if<GitSource>(&source->source);
    if (git == nullptr) {
      breaks("a source came back as another kind");
      return result;
    }
    const Truth truth = Truth::of(git->url);
    if (truth.source == Truth::Source::refused) {
      result.outcome = cupel::Outcome::refused;
      result.reason = Reason::ref_not_found;
      return result;
    }
    if (truth.source == Truth::Source::inconclusive) {
      result.outcome = cupel::Outcome::inconclusive;
      result.reason = Reason::module_not_found;
      return result;
    }
    if (noise(kNoiseWork, 30)) {
      result.outcome = cupel::Outcome::inconclusive;
      result.reason = Reason::upstream;
      return result;
    }
    const std::string commit = "commit of " + git->url;
    if (!source->pinned_commit.empty() && source->pinned_commit != commit) {
      breaks("the pin of a second acquisition is not the first one's commit");
    }
    result.source = SourceFacts{commit, "tree of " + commit, 1, 1, truth.units, {}};
    node.workspaces.insert(spec.repository);
    return result;
  }
  if (!node.workspaces.contains(spec.repository)) {
    result.ending = Ending::lost_workspace;
    return result;
  }
  const auto* execution = std::get_if<Execute>(&spec.work);
  const auto* acquisition = std::get_if<AcquireModules>(&spec.work);
  const bool after = (execution != nullptr && execution->side == Side::after) ||
                     (acquisition != nullptr && acquisition->side == Side::after);
  if (after || std::holds_alternative<Mutate>(spec.work)) {
    work_on_change(node, lease, result);
    return result;
  }
  if (const auto* modules = std::get_if<AcquireModules>(&spec.work)) {
    if (modules->unit.vendored) breaks("modules were acquired for a vendored unit");
    node.caches.insert(spec.unit);
    result.modules = ModuleFacts{};
    result.modules->tree = "tree of " + modules->commit + modules->unit.dir;
    return result;
  }
  const auto* execute = std::get_if<Execute>(&spec.work);
  if (execute == nullptr) {
    breaks("unknown work");
    return result;
  }
  if (!execute->unit.vendored && !node.caches.contains(spec.unit)) {
    result.ending = Ending::lost_workspace;
    return result;
  }
  if (noise(kNoiseWork, 40)) {
    result.outcome = cupel::Outcome::inconclusive;
    result.reason = Reason::timeout;
    return result;
  }
  if (!execute->commit.starts_with("commit of ")) {
    breaks("an execute task names no commit of its repository: " + execute->commit);
    return result;
  }
  result.evidence.image = kImage;
  result.outcome = truth_of_unit(execute->commit.substr(10), execute->unit);
  for (const auto& submission : submissions_) {
    const auto campaign = store_.campaigns().find(spec.campaign);
    if (campaign == store_.campaigns().end() || campaign->second.document != submission.document ||
        std::holds_alternative<NoChange>(submission.campaign.change)) {
      continue;
    }
    result.outcome =
        truth_of_run(execute->commit.substr(10), execute->unit, Side::before, execute->repeat);
  }
  add_finding(result);
  return result;
}

// The after side: what it needs must have been made on this worker.
void Simulation::work_on_change(WorkerNode& node, const Lease& lease, TaskResult& result) {
  const TaskSpec& spec = lease.spec;
  if (const auto* mutate = std::get_if<Mutate>(&spec.work)) {
    if (!mutate->unit.vendored && !node.caches.contains(spec.unit)) {
      result.ending = Ending::lost_workspace;
      return;
    }
    if (std::holds_alternative<NoChange>(mutate->change)) {
      const auto made = node.changed.find(spec.unit);
      const bool here = made != node.changed.end() && made->second.first == 0 &&
                        (mutate->unit.vendored || node.after_caches.contains(spec.unit));
      if (!here) {
        result.ending = Ending::lost_workspace;
        return;
      }
      result.change = ChangeFacts{};
      result.change->tree = "after " + mutate->commit + mutate->unit.dir;
      result.change->patch = sha256("patch");
      return;
    }
    const auto& modules = mutate->resolved;
    const bool breaks =
        mutate->variant == 0 ||
        std::ranges::find(modules, "example.com/lib1", &ModuleTarget::module) != modules.end();
    node.changed[spec.unit] = {mutate->variant, breaks};
    node.after_caches.erase(spec.unit);
    result.change = ChangeFacts{};
    result.change->tree = "after " + mutate->commit + mutate->unit.dir;
    result.change->resolved = {{"example.com/lib0", "v1.1.0"},
                               {"example.com/lib1", "v1.1.0"},
                               {"example.com/lib2", "v1.1.0"}};
    if (mutate->variant > 0) result.change->resolved = mutate->resolved;
    result.change->patch = sha256("patch");
    result.change->patch_bytes = 1;
    return;
  }
  const auto after = node.changed.find(spec.unit);
  const auto* modules = std::get_if<AcquireModules>(&spec.work);
  const std::uint16_t variant =
      modules != nullptr ? modules->variant : std::get<Execute>(spec.work).variant;
  if (after == node.changed.end() || after->second.first != variant) {
    result.ending = Ending::lost_workspace;
    return;
  }
  if (modules != nullptr) {
    node.after_caches.insert(spec.unit);
    result.modules = ModuleFacts{};
    return;
  }
  const auto& execute = std::get<Execute>(spec.work);
  if (!execute.unit.vendored && !node.after_caches.contains(spec.unit)) {
    result.ending = Ending::lost_workspace;
    return;
  }
  if (noise(kNoiseWork, 40)) {
    result.outcome = cupel::Outcome::inconclusive;
    result.reason = rng_.chance(500) ? Reason::timeout : Reason::resource_memory;
    return;
  }
  result.evidence.image = kImage;
  result.outcome =
      truth_of_run(execute.commit.substr(10), execute.unit, Side::after, execute.repeat);
  if (!after->second.second) result.outcome = cupel::Outcome::passing;
  add_finding(result);
}

}  // namespace cupel::sim
