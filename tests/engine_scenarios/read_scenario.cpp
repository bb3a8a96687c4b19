// The file as a whole, and what Cupel is made to do.
#include "tests/engine_scenarios/read_parts.hpp"

#include <algorithm>
#include <utility>

namespace cupel::scenarios {

namespace {

using text::Node;

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20U;
constexpr std::uint64_t kRunsMax = 1000;

struct NamedTime {
  std::string_view name;
  Duration* value;
};

std::vector<NamedTime> budget_names(docker::EngineBudgets& all) {
  std::vector<NamedTime> names;
  for (const docker::NamedBudget& budget : docker::kNamedBudgets)
    names.push_back({budget.name, &(all.*budget.time)});
  return names;
}

std::vector<NamedTime> time_names(Scenario& scenario) {
  worker::RunTimes& all = scenario.times;
  return {{"orders", &all.orders},
          {"order_slack", &all.order_slack},
          {"output_tail", &all.output_tail},
          {"wait_slack", &all.wait_slack},
          {"silence", &all.silence},
          {"look", &all.look},
          {"again", &all.again},
          {"retry_pause", &scenario.retry_pause},
          {"dump_grace", &scenario.dump_grace},
          {"wrapper_slack", &scenario.wrapper_slack}};
}

void read_times(Reader& reader, const Node& node, const std::string& what,
                const std::vector<NamedTime>& names) {
  std::vector<std::string> known;
  for (const NamedTime& one : names) known.emplace_back(one.name);
  if (!reader.keys(node, what, known)) return;
  for (const NamedTime& one : names) {
    reader.time(node, one.name, *one.value);
    if (const Node* const given = node.find(one.name);
        given != nullptr && *one.value <= Duration{}) {
      reader.fault(*given, what + "." + std::string(one.name) + ": must be more than nothing");
    }
  }
}

/// Short, and longer than what a busy machine needs for a call that is answered.
void scale(Scenario& scenario, unsigned slower) {
  for (const NamedTime& one : budget_names(scenario.budgets)) *one.value = std::chrono::seconds(3);
  scenario.times.orders = std::chrono::seconds(2);
  scenario.times.order_slack = std::chrono::milliseconds(400);
  scenario.times.output_tail = std::chrono::milliseconds(400);
  scenario.times.wait_slack = std::chrono::seconds(3);
  scenario.times.silence = std::chrono::seconds(10);
  scenario.times.look = std::chrono::seconds(10);
  scenario.times.again = std::chrono::milliseconds(30);
  for (const NamedTime& one : budget_names(scenario.budgets)) *one.value *= slower;
  for (const NamedTime& one : time_names(scenario)) *one.value *= slower;
  scenario.time_limit *= slower;
  scenario.worker.grace *= slower;
  scenario.worker.pass_budget *= slower;
}

RunStep read_run(Reader& reader, const Node& node) {
  RunStep run;
  run.limit *= reader.slower();
  if (node.is_null()) return run;
  if (!reader.keys(
          node, "run",
          {"limit", "profile", "output_bytes", "dump", "cancel_after", "times", "at_once"})) {
    return run;
  }
  reader.time(node, "limit", run.limit);
  reader.word(node, "profile", run.profile, {"acquire", "mutate", "execute", "tool"});
  reader.number(node, "output_bytes", run.output_bytes, std::uint64_t{64} << 20U);
  reader.flag(node, "dump", run.dump);
  if (node.find("cancel_after") != nullptr) {
    Duration after{};
    reader.time(node, "cancel_after", after);
    run.cancel_after = after;
  }
  reader.number(node, "times", run.times, kRunsMax);
  reader.number(node, "at_once", run.at_once, kRunsMax);
  if (run.times == 0 || run.at_once == 0)
    reader.fault(node, "run: 'times' and 'at_once' are at least 1");
  return run;
}

CallStep read_call(Reader& reader, const Node& node) {
  CallStep call;
  call.limit *= reader.slower();
  if (node.is_scalar()) {
    call.name = node.scalar;
  } else if (reader.keys(node, "call",
                         {"name", "container", "labels", "path", "signal", "limit", "bytes_max",
                          "force"})) {
    reader.text(node, "name", call.name);
    reader.text(node, "container", call.container);
    reader.text(node, "labels", call.labels);
    reader.text(node, "path", call.path);
    reader.text(node, "signal", call.signal);
    reader.time(node, "limit", call.limit);
    reader.number(node, "bytes_max", call.bytes_max, std::uint64_t{64} << 20U);
    reader.flag(node, "force", call.force);
  } else {
    return call;
  }
  if (std::ranges::find(call_names(), call.name) == call_names().end()) {
    std::string known;
    for (const std::string& name : call_names()) known += (known.empty() ? "" : ", ") + name;
    reader.fault(node, "call: unknown call '" + call.name + "'", "known: " + known);
  }
  return call;
}

void read_worker(Reader& reader, const Node& node, WorkerSetup& worker) {
  if (!reader.keys(node, "worker",
                   {"fleet", "worker", "incarnation", "grace", "pass_budget", "reap_at_once",
                    "calls_max"})) {
    return;
  }
  reader.number(node, "fleet", worker.fleet, INT64_MAX);
  reader.number(node, "worker", worker.worker, INT64_MAX);
  reader.number(node, "incarnation", worker.incarnation, INT64_MAX);
  reader.time(node, "grace", worker.grace);
  reader.time(node, "pass_budget", worker.pass_budget);
  reader.number(node, "reap_at_once", worker.reap_at_once, 64);
  reader.number(node, "calls_max", worker.calls_max, 1024);
}

void read_drive(Reader& reader, const Node& node, Scenario& scenario) {
  if (!node.is_list() || node.items.empty()) {
    reader.fault(node, "drive: must be a list of steps");
    return;
  }
  for (const Node& item : node.items) scenario.drive.push_back(read_step(reader, item));
}

template <typename Take>
void for_each(Reader& reader, const Node& root, std::string_view key, Take take) {
  const Node* const list = root.find(key);
  if (list == nullptr) return;
  if (!list->is_list()) reader.fault(*list, std::string(key) + ": must be a list");
  for (const Node& item : list->items) take(item);
}

void read_root(Reader& reader, const Node& root, Scenario& scenario) {
  if (!reader.keys(
          root, "scenario",
          {"scenario", "covers", "healthy", "time_limit", "budgets", "times", "worker", "engine",
           "containers", "program", "programs", "rules", "drive", "calls", "never", "end"})) {
    return;
  }
  reader.text(root, "scenario", scenario.title);
  if (scenario.title.empty())
    reader.fault(root, "'scenario' is missing: one sentence that says what happens");
  if (const Node* const covers = root.find("covers"))
    scenario.covers = reader.as_texts(*covers, "covers");
  reader.text(root, "healthy", scenario.healthy);
  reader.time(root, "time_limit", scenario.time_limit);
  if (scenario.time_limit <= Duration{} ||
      scenario.time_limit > std::chrono::minutes(10) * reader.slower()) {
    reader.fault(*root.find("time_limit"), "time_limit: must be more than nothing and at most 10m");
  }
  if (const Node* const budgets = root.find("budgets")) {
    read_times(reader, *budgets, "budgets", budget_names(scenario.budgets));
  }
  if (const Node* const times = root.find("times"))
    read_times(reader, *times, "times", time_names(scenario));
  if (const Node* const worker = root.find("worker")) read_worker(reader, *worker, scenario.worker);
  if (const Node* const engine = root.find("engine")) read_engine(reader, *engine, scenario.engine);
  for_each(reader, root, "containers", [&](const Node& item) {
    scenario.engine.containers.push_back(read_container(reader, item));
  });
  if (root.find("program") != nullptr && root.find("programs") != nullptr) {
    reader.fault(*root.find("programs"), "'program' and 'programs' exclude one another");
  }
  if (const Node* const program = root.find("program")) {
    scenario.engine.programs.push_back(read_program(reader, *program));
  }
  for_each(reader, root, "programs", [&](const Node& item) {
    scenario.engine.programs.push_back(read_program(reader, item));
  });
  for_each(reader, root, "rules",
           [&](const Node& item) { scenario.engine.rules.push_back(read_rule(reader, item)); });
  if (const Node* const drive = root.find("drive")) {
    read_drive(reader, *drive, scenario);
  } else {
    reader.fault(root, "'drive' is missing: what Cupel is made to do");
  }
  if (const Node* const calls = root.find("calls")) {
    read_expected_calls(reader, *calls, scenario);
  } else {
    reader.fault(root, "'calls' is missing: the list of expected calls, or the word any");
  }
  for_each(reader, root, "never",
           [&](const Node& item) { scenario.never.push_back(read_pattern(reader, item)); });
  if (const Node* const end = root.find("end"))
    scenario.end = read_wanted(reader, *end, "end", &facts_of("end"));
}

}  // namespace

Step read_step(Reader& reader, const Node& node) {
  Step step;
  step.line = node.line;
  static const std::vector<std::string> kKinds = {"run", "reap", "call", "pause", "set"};
  if (!reader.keys(node, "step", {"run", "reap", "call", "pause", "set", "background", "expect"}))
    return step;
  std::string kind;
  for (const std::string& one : kKinds) {
    if (node.find(one) == nullptr) continue;
    if (!kind.empty()) reader.fault(node, "a step is one of run, reap, call, pause, set");
    kind = one;
  }
  if (kind.empty()) {
    reader.fault(node, "a step is one of run, reap, call, pause, set");
    return step;
  }
  const Node& value = *node.find(kind);
  std::string facts = kind;
  if (kind == "run") {
    step.what = read_run(reader, value);
  } else if (kind == "reap") {
    ReapStep reap;
    if (!value.is_null() && reader.keys(value, "reap", {"times"}))
      reader.number(value, "times", reap.times, kRunsMax);
    step.what = reap;
  } else if (kind == "call") {
    const CallStep call = read_call(reader, value);
    facts = call.name;
    step.what = call;
  } else if (kind == "pause") {
    step.what = PauseStep{reader.as_time(value, "pause")};
  } else {
    step.what = SetStep{read_part(reader, value, false)};
  }
  reader.flag(node, "background", step.background);
  const bool has_facts = kind == "run" || kind == "reap" || kind == "call";
  if (const Node* const expect = node.find("expect")) {
    if (!has_facts) {
      reader.fault(*expect, "a step '" + kind + "' has nothing to expect");
    } else if (reader.clean()) {
      step.expect = read_wanted(reader, *expect, "expect", &facts_of(facts));
    }
  } else if (has_facts) {
    reader.fault(node, "step: 'expect' is missing");
  }
  if (step.background && !has_facts)
    reader.fault(node, "a step '" + kind + "' can't be in the background");
  return step;
}

ReadScenario read_scenario(std::string_view text, const std::string& file, unsigned slower) {
  text::DocumentLimits limits;
  limits.bytes = kFileBytesMax;
  text::Document document = text::read_yaml(text, file, limits);
  ReadScenario result{.scenario = std::nullopt, .faults = std::move(document.faults)};
  if (!document.root && result.faults.empty()) {
    result.faults.push_back(
        {.file = file, .code = Errc::missing_key, .message = "the file is empty", .hint = {}});
  }
  if (!document.root || !result.faults.empty()) return result;
  Reader reader(file, slower);
  Scenario scenario;
  scenario.file = file;
  scale(scenario, slower);
  read_root(reader, *document.root, scenario);
  if (scenario.engine.programs.empty()) {
    Program greeting;
    greeting.steps = {{.kind = ProgramStep::Kind::frame, .bytes = "ok\n"},
                      {.kind = ProgramStep::Kind::exit}};
    scenario.engine.programs.push_back(greeting);
  }
  result.faults = reader.take();
  if (result.faults.empty()) result.scenario = std::move(scenario);
  return result;
}

}  // namespace cupel::scenarios
