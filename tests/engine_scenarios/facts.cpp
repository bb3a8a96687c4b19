#include "tests/engine_scenarios/facts.hpp"

#include "tests/engine_scenarios/scenario.hpp"
#include "worker/core/go/judge.hpp"

#include <array>
#include <cstdio>

namespace cupel::scenarios {

namespace {

std::string_view name_of(worker::EndedBy ended) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "itself", "check_limit", "wrapper_limit", "cancelled", "watcher_disk", "engine"};
  return kNames.at(static_cast<std::size_t>(ended));
}

void add_stream(Facts& facts, const std::string& name, const worker::Captured& captured) {
  facts[name] = captured.bytes;
  facts[name + "_bytes"] = std::to_string(captured.total);
  facts[name + "_complete"] = flag_text(captured.complete);
  facts[name + "_truncated"] = flag_text(captured.truncated);
}

/// The judgement that a worker would make of a custom check that left this report.
worker::Judgement judged(const worker::RunReport& report) {
  worker::JudgeContext context;
  context.unit.dir = ".";
  context.unit.module_path = "example.com/unit";
  context.settings.custom.push_back({.name = "check", .command = {"check"}});
  const std::array<worker::CheckRun, 1> runs = {worker::CheckRun{
      .check = CheckKind::custom, .name = "check", .command = {"check"}, .report = report}};
  return worker::judge(context, runs);
}

}  // namespace

std::string seconds_text(Duration time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", std::chrono::duration<double>(time).count());
  return text.data();
}

void add_error(Facts& facts, const std::optional<Error>& error) {
  facts["error"] = error ? std::string(error_info(error->code).label) : "none";
  facts["error_text"] =
      error ? error->what + (error->detail.empty() ? "" : ": " + error->detail) : "";
}

Facts facts_of_run(const worker::RunReport& report) {
  Facts facts;
  add_error(facts, report.error);
  const worker::Judgement judgement = judged(report);
  facts["outcome"] = std::string(name(judgement.outcome));
  facts["reason"] = std::string(name(judgement.reason));
  facts["message"] = judgement.message;
  facts["ended_by"] = std::string(name_of(report.ended_by));
  facts["exit_code"] = std::to_string(report.exit_code);
  facts["signal"] = std::to_string(report.signal);
  facts["engine_exit_code"] = std::to_string(report.engine_exit_code);
  facts["started"] = flag_text(report.started);
  facts["end_marker"] = flag_text(report.end_marker);
  add_stream(facts, "stdout", report.out);
  add_stream(facts, "stderr", report.err);
  facts["engine_oom_killed"] = flag_text(report.engine_oom_killed);
  facts["oom_kills"] = std::to_string(report.oom_kills);
  facts["pids_limit_hit"] = flag_text(report.pids_limit_hit);
  facts["tmp_full"] = flag_text(report.tmp_full);
  facts["leftover_processes"] = flag_text(report.leftover_processes);
  facts["killed_unasked"] = flag_text(report.killed_unasked);
  facts["wait_breaks"] = std::to_string(report.wait_breaks);
  facts["log_rereads"] = std::to_string(report.log_rereads);
  std::string& notes = facts["notes"];
  for (const std::string& note : report.notes) notes += note + "\n";
  return facts;
}

Facts facts_of_reap(const Result<worker::ReapCounts>& counts) {
  Facts facts;
  add_error(facts, counts ? std::nullopt : std::optional<Error>(counts.error()));
  const worker::ReapCounts none;
  const worker::ReapCounts& all = counts ? *counts : none;
  facts["listed"] = std::to_string(all.listed);
  facts["removed"] = std::to_string(all.removed);
  facts["removed_foreign"] = std::to_string(all.removed_foreign);
  facts["gone"] = std::to_string(all.gone);
  facts["spared"] = std::to_string(all.spared);
  facts["failed"] = std::to_string(all.failed);
  facts["still_there"] = std::to_string(all.still_there);
  facts["left_over"] = std::to_string(all.left_over);
  return facts;
}

const std::vector<std::string>& call_names() {
  static const std::vector<std::string> kNames = {
      "ping", "version", "info",     "create", "attach", "start",         "wait",      "kill",
      "logs", "inspect", "has_path", "remove", "list",   "image_inspect", "image_list"};
  return kNames;
}

const std::vector<std::string>& facts_of(const std::string& kind) {
  static const std::map<std::string, std::vector<std::string>> kOwn = {
      {"run", {"outcome",          "reason",
               "message",          "ended_by",
               "exit_code",        "signal",
               "engine_exit_code", "started",
               "end_marker",       "stdout",
               "stdout_bytes",     "stdout_complete",
               "stdout_truncated", "stderr",
               "stderr_bytes",     "stderr_complete",
               "stderr_truncated", "engine_oom_killed",
               "oom_kills",        "pids_limit_hit",
               "tmp_full",         "leftover_processes",
               "killed_unasked",   "wait_breaks",
               "log_rereads",      "notes"}},
      {"reap",
       {"listed", "removed", "removed_foreign", "gone", "spared", "failed", "still_there",
        "left_over"}},
      {"version", {"api", "name", "engine_version"}},
      {"info", {"id", "cgroup_version", "memory_limit", "pids_limit"}},
      {"create", {"id", "warnings"}},
      {"attach", {"stdout", "stderr", "malformed"}},
      {"wait", {"exit_code"}},
      {"logs", {"stdout", "stderr", "complete", "stopped"}},
      {"inspect", {"status", "running", "exit_code", "oom_killed"}},
      {"has_path", {"present"}},
      {"list", {"count", "ids"}},
      {"image_inspect", {"id"}},
      {"image_list", {"count"}}};
  static const std::map<std::string, std::vector<std::string>> kAll = [] {
    std::map<std::string, std::vector<std::string>> all = kOwn;
    for (const std::string& call : call_names()) (void)all[call];
    for (auto& [kind_name, names] : all) {
      names.insert(names.begin(), {"error", "error_text", "took"});
    }
    all["end"] = {"containers", "running", "parked", "unremoved", "live_runs", "calls"};
    return all;
  }();
  static const std::vector<std::string> kNone;
  const auto found = kAll.find(kind);
  return found == kAll.end() ? kNone : found->second;
}

}  // namespace cupel::scenarios
