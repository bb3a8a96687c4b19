#include "tests/unit/worker_core_go/recording.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace cupel::worker::recorded {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

fs::path folder() {
  return fs::path(CUPEL_SOURCE_DIR) / "tests/fixtures/go-streams";
}

std::string text_of(const Json& lines, bool open_end) {
  std::string text;
  for (const Json& entry : lines) {
    const std::string line =
        entry.is_object() ? entry.at("line").get<std::string>() : entry.get<std::string>();
    const int times = entry.is_object() ? entry.at("times").get<int>() : 1;
    for (int i = 0; i < times; ++i) text += line + '\n';
  }
  if (open_end && !text.empty()) text.pop_back();
  return text;
}

Captured captured(const Json& run, const char* stream) {
  Captured out;
  const auto found = run.find(stream);
  if (found != run.end()) {
    out.bytes = text_of(*found, run.value(std::string(stream) + "_open_end", false));
  }
  out.total = out.bytes.size();
  out.complete = true;
  const std::size_t keep = run.value("keep_bytes", std::size_t{0});
  if (keep != 0 && out.bytes.size() > keep) {  // Head and tail, as the engine client keeps them.
    out.bytes = out.bytes.substr(0, keep / 2) + out.bytes.substr(out.bytes.size() - keep / 2);
    out.truncated = true;
  }
  return out;
}

CheckRun check_run(const Json& json) {
  CheckRun run;
  run.check = parse_name<CheckKind>(json.at("check").get<std::string>()).value();
  run.command = json.at("command").get<std::vector<std::string>>();
  RunReport& report = run.report;
  report.started = true;
  report.end_marker = true;
  report.exit_code = json.at("exit").get<int>();
  report.engine_exit_code = report.exit_code;
  report.signal = json.value("signal", 0);
  report.oom_kills = json.value("oom_kills", 0U);
  report.engine_oom_killed = json.value("engine_oom_killed", false);
  if (json.value("ended_by", "") == "check_limit") {
    report.ended_by = EndedBy::check_limit;
    report.engine_exit_code = 137;
  }
  report.out = captured(json, "out");
  report.err = captured(json, "err");
  return run;
}

Unit unit_from(const Json& json) {
  Unit unit;
  const Json& info = json.at("unit");
  unit.context.unit.dir = info.at("dir").get<std::string>();
  unit.context.unit.module_path = info.at("module_path").get<std::string>();
  unit.context.unit.vendored = info.at("vendored").get<bool>();
  unit.context.unit.workspace = info.at("workspace").get<std::string>();
  unit.context.cgo_available = json.at("cgo").get<bool>();
  const Json notes = json.value("notes", Json::object());
  const std::vector<std::string> none;
  unit.context.notes.submodules = notes.value("submodules", none);
  unit.context.notes.lfs_pointers = notes.value("lfs_pointers", none);
  unit.context.notes.escaping_links = notes.value("escaping_links", none);
  for (const Json& run : json.at("runs")) unit.runs.push_back(check_run(run));
  const Json sources = json.value("sources", Json::object());
  for (const auto& [package, texts] : sources.items()) {
    unit.sources.push_back({package, texts.get<std::vector<std::string>>()});
  }
  return unit;
}

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() == ".json") all.push_back(entry.path().stem().string());
  }
  std::ranges::sort(all);
  return all;
}

Case load(const std::string& name) {
  std::ifstream file(folder() / (name + ".json"));
  const Json json = Json::parse(file);
  Case loaded{.id = name, .expect = json.at("expect"), .units = {}};
  for (const Json& unit : json.at("units")) loaded.units.push_back(unit_from(unit));
  return loaded;
}

RunReport whole_report(int exit_code, std::string out, std::string err) {
  RunReport report;
  report.started = true;
  report.end_marker = true;
  report.exit_code = exit_code;
  report.engine_exit_code = exit_code;
  report.pids_counted = true;
  report.out = {.bytes = std::move(out), .total = 0, .truncated = false, .complete = true};
  report.err = {.bytes = std::move(err), .total = 0, .truncated = false, .complete = true};
  report.out.total = report.out.bytes.size();
  report.err.total = report.err.bytes.size();
  return report;
}

}  // namespace cupel::worker::recorded
