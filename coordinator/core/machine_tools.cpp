// Scans: the tools they need, and what a lease of a campaign that scans carries.
#include "common/core/json_text.hpp"
#include "common/images/select.hpp"
#include "coordinator/core/state.hpp"

#include <algorithm>

namespace cupel::coordinator {
namespace {

/// Null: no scanner is known for this toolchain.
const ToolPin* pin_of(const images::Available& image) {
  const images::ImageEntry* entry = images::builtin_table().find(image.minor);
  return entry == nullptr || entry->scanner.version.empty() ? nullptr : &entry->scanner;
}

std::vector<std::string> images_of(const CampaignEntry& campaign) {
  std::vector<std::string> all = {campaign.settings.image};
  if (std::string after = campaign.question.image_after(); !after.empty()) {
    all.push_back(std::move(after));
  }
  return all;
}

}  // namespace

std::vector<images::Available> available_on(const Worker& worker) {
  std::vector<images::Available> all;
  for (const Toolchain& one : worker.capacity.toolchains) {
    const auto version = images::GoVersion::parse(one.go_version);
    if (!version) continue;
    all.push_back({.identity = one.identity,
                   .engine_id = {},
                   .go_version = one.go_version,
                   .minor = version->minor_text(),
                   .has_cc = one.c_compiler,
                   .base = {}});
  }
  return all;
}

std::vector<images::Available> Machine::State::scan_images(const CampaignEntry& campaign,
                                                           const Worker& worker) const {
  std::vector<images::Available> all;
  const auto available = available_on(worker);
  const bool without_c = campaign.settings.image_without_c_compiler;
  for (const std::string& setting : images_of(campaign)) {
    if (setting.empty() || setting == "auto") {
      for (const images::Available& image : available) {
        if (image.has_cc != without_c) all.push_back(image);
      }
      continue;
    }
    const auto selected =
        images::select(images::builtin_table(), available, {}, setting, without_c);
    if (selected && selected->found()) all.push_back(selected->image);
  }
  std::erase_if(all, [](const images::Available& image) { return pin_of(image) == nullptr; });
  return all;
}

bool Machine::State::waits_for_tool(const Task& task) const {
  if (task.kind != TaskKind::execute || task.unit == kNoHandle) return false;
  const CampaignEntry& campaign = campaigns.at(task.campaign);
  if (!campaign.scan.enabled || campaign.scan.problem != Reason::none) return false;
  const Handle holder = repositories[task.repository].holder;
  if (holder == kNoHandle) return false;
  // After a restart: what it holds is known when it has said hello.
  if (fleet[holder].session == 0) return true;
  const auto needed = scan_images(campaign, fleet[holder]);
  return std::ranges::any_of(needed, [this](const images::Available& image) {
    return !tools.settled(image.identity, *pin_of(image), now.mono);
  });
}

// What a campaign will need is asked for as soon as it is there, not when its first unit waits.
void Machine::State::tend_tools() {
  for (auto& [handle, campaign] : campaigns) {
    if (!campaign.scan.enabled || campaign.scan.problem != Reason::none || campaign.cancelling) {
      continue;
    }
    for (Handle worker = 0; worker < fleet.end(); ++worker) {
      if (fleet[worker].session == 0) continue;
      for (const images::Available& image : scan_images(campaign, fleet[worker])) {
        const ToolPin& pin = *pin_of(image);
        if (tools.settled(image.identity, pin, now.mono)) continue;
        ToolEntry& entry = tools.entry(image.identity, pin);
        if (!entry.under_way()) start_tool(handle, entry);
      }
    }
  }
  move_tools();
  release_scans();
}

/// As many builders as there are, up to the number that must agree.
void Machine::State::start_tool(Handle campaign, ToolEntry& entry) {
  for (Handle worker = 0; worker < fleet.end(); ++worker) {
    if (entry.builds.size() == ToolDesk::kBuilders) return;
    if (fleet[worker].away || fleet[worker].session == 0) continue;
    const auto& toolchains = fleet[worker].capacity.toolchains;
    const bool has_image = std::ranges::any_of(
        toolchains, [&](const Toolchain& one) { return one.identity == entry.image; });
    // Its task is bound to it: one that it is never given would be waited for for ever.
    if (!has_image || lacks_egress(campaigns.at(campaign), fleet[worker])) continue;
    entry.builds.push_back({.task = create_tool_task(campaign, worker, entry),
                            .campaign = campaign,
                            .worker = worker,
                            .facts = {},
                            .failure = {},
                            .reason = Reason::none});
  }
}

/// A tool task belongs to no repository of the store; a nameless one stands in for it here, so that
/// a task of the fleet's own takes the same ways as every other.
Handle Machine::State::create_tool_task(Handle campaign_handle, Handle worker,
                                        const ToolEntry& entry) {
  const CampaignEntry& campaign = campaigns.at(campaign_handle);
  Repository place;
  place.campaign = campaign_handle;
  place.acquired = true;
  const Handle repository = repositories.add(std::move(place));

  TaskSpec spec;
  spec.id = TaskId{next_id()};
  spec.campaign = campaign.id;
  spec.kind = TaskKind::tool;
  spec.work = BuildTool{.tool = entry.pin, .image = entry.image};

  Task task;
  task.id = spec.id;
  task.ready = now.wall;
  task.campaign = campaign_handle;
  task.repository = repository;
  task.kind = TaskKind::tool;
  task.state = TaskState::queued;
  task.preferred = worker;

  TaskRow row;
  row.id = task.id;
  row.campaign = campaign.id;
  row.kind = TaskKind::tool;
  row.state = TaskState::queued;
  row.preferred = fleet[worker].id;
  row.priority = campaign.priority;
  row.ready = now.wall;
  write(TaskCreated{row, json_text_without_settings(spec)});
  const Handle handle = tasks.add(task);
  repositories[repository].source_task = handle;
  start_waiting(handle);
  return handle;
}

void Machine::State::tool_done(Handle handle, const TaskResult& result) {
  ToolEntry* entry = nullptr;
  if (ToolBuild* build = build_of(tools, handle, &entry)) {
    const bool good = result.outcome == Outcome::passing && result.tool &&
                      result.tool->image == entry->image && result.tool->tool == entry->pin;
    if (good) {
      build->facts = result.tool;
    } else {
      build->failure = result.message.empty() ? "the tool was not built" : result.message;
      build->reason = result.reason;
    }
  }
  end_tool(handle);
}

void Machine::State::tool_lost(Handle handle, Reason reason, const std::string& why) {
  ToolEntry* entry = nullptr;
  if (ToolBuild* build = build_of(tools, handle, &entry)) {
    build->failure = why;
    build->reason = reason;
  }
  end_tool(handle);
}

void Machine::State::end_tool(Handle handle) {
  const Handle repository = tasks[handle].repository;
  ToolEntry* entry = nullptr;
  ToolBuild* build = build_of(tools, handle, &entry);
  drop_task(handle);
  repositories.remove(repository);
  if (build == nullptr) return;
  build->task = kNoHandle;
  if (!ToolDesk::conclude(*entry, now.mono)) return;
  event({}, entry->tool ? "tool.built" : "tool.failed",
        {{"image", entry->image},
         {"package", entry->pin.package},
         {"version", entry->pin.version},
         {"binary", entry->tool ? entry->tool->binary.hex() : ""},
         {"message", entry->message}});
  release_scans();
}

/// Builds of a campaign that is over go with it; another campaign that needs them starts anew.
void Machine::State::drop_tools(Handle campaign) {
  for (auto& [image, entry] : tools.all()) {
    for (ToolBuild& build : entry.builds) {
      if (build.campaign != campaign || build.task == kNoHandle) continue;
      const Handle task = build.task;
      const Handle repository = tasks[task].repository;
      build.task = kNoHandle;
      cancel_task(task);
      repositories.remove(repository);
    }
    std::erase_if(entry.builds, [campaign](const ToolBuild& build) {
      return build.campaign == campaign && !build.facts && build.failure.empty();
    });
    if (ToolDesk::conclude(entry, now.mono)) release_scans();
  }
}

/// A builder that went away before it began holds nobody up.
void Machine::State::move_tools() {
  std::vector<Handle> stuck;
  for (auto& [image, entry] : tools.all()) {
    for (const ToolBuild& build : entry.builds) {
      if (build.task == kNoHandle || tasks[build.task].state != TaskState::queued) continue;
      if (fleet.holder_gone(fleet[build.worker], now.mono)) stuck.push_back(build.task);
    }
  }
  for (const Handle task : stuck) {
    scheduler.remove(task);
    write(TaskStateChanged{tasks[task].id, TaskState::cancelled, {}, now.wall});
    tool_lost(task, Reason::lease_lost, "the worker that was to build it is gone");
  }
}

/// Tasks that waited for a tool only.
void Machine::State::release_scans() {
  for (auto& [handle, campaign] : campaigns) {
    if (!campaign.scan.enabled || campaign.cancelling) continue;
    for (const Handle repository : campaign.repositories) {
      for (Handle unit = repositories[repository].first_unit; unit != kNoHandle;
           unit = units[unit].next) {
        const Handle task = units[unit].task;
        if (task == kNoHandle || tasks[task].state != TaskState::blocked) continue;
        if (!must_wait(tasks[task])) place(task, nullptr);
      }
    }
  }
}

void Machine::State::add_scan(const CampaignEntry& campaign, const Worker& worker,
                              Execute& execute) const {
  const campaign::ScanPlan& plan = campaign.scan;
  if (!plan.enabled) return;
  const ValidationSettings& checks = campaign.settings;
  execute.only_scan = !checks.build && !checks.vet && !checks.test.enabled && checks.custom.empty();
  ScanInput& scan = execute.scan;
  scan.limit_s = plan.limit_s;
  const auto none = [&scan](Reason reason, std::string message) {
    scan.problem = reason;
    scan.message = std::move(message);
  };
  if (plan.problem != Reason::none) return none(plan.problem, plan.message);
  if (!plan.snapshot) return none(Reason::vulndb_unavailable, "the campaign has no database");
  const std::string& setting = execute.image.empty() ? checks.image : execute.image;
  const auto selected =
      images::select(images::builtin_table(), available_on(worker), execute.unit.go_version,
                     setting, checks.image_without_c_compiler);
  if (!selected || !selected->found()) {
    return none(Reason::scan_failed, "there is no toolchain image for the unit");
  }
  const ToolPin* pin = pin_of(selected->image);
  if (pin == nullptr) {
    return none(Reason::scan_failed, "no scanner is pinned for Go " + selected->image.go_version);
  }
  const ToolEntry* entry = tools.find(selected->image.identity);
  if (entry == nullptr || !entry->tool || !(entry->pin == *pin)) {
    const bool failed = entry != nullptr && entry->problem != Reason::none;
    return none(failed ? entry->problem : Reason::scan_failed,
                failed ? "the scanner could not be built: " + entry->message
                       : std::string("the scanner is not built yet"));
  }
  scan.scanner = entry->tool->binary;
  scan.version = pin->version;
  scan.database = plan.snapshot->artifact;
  scan.database_id = plan.snapshot->id;
  scan.database_time = plan.snapshot->time;
}

}  // namespace cupel::coordinator
