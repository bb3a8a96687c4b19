#include "coordinator/core/compare/facts_json.hpp"

#include "common/core/json.hpp"

#include <nlohmann/json.hpp>

namespace cupel::coordinator::compare {
namespace {

using nlohmann::json;

std::string text_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

template <typename Number>
Number number_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<Number>() : Number{};
}

bool flag_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

const json& list_at(const json& object, const char* key) {
  static const json kEmpty = json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kEmpty;
}

template <typename Enum>
Enum word_at(const json& object, const char* key, Enum fallback) {
  return parse_name<Enum>(text_at(object, key)).value_or(fallback);
}

/// Members at their defaults are left out: most of them are.
void put(json& out, const char* key, const std::string& value) {
  if (!value.empty()) out[key] = value;
}
void put(json& out, const char* key, bool value) {
  if (value) out[key] = true;
}
template <typename Number>
void put_number(json& out, const char* key, Number value) {
  if (value != 0) out[key] = value;
}

json mark_json(const Mark& mark) {
  json out = {{"kind", name(mark.kind)}, {"check", name(mark.check)}, {"key", mark.key}};
  put(out, "signature", mark.signature);
  put(out, "package", mark.package);
  put(out, "test", mark.test);
  put(out, "analyzer", mark.analyzer);
  put(out, "file", mark.file);
  put_number(out, "line", mark.line);
  put(out, "message", mark.message);
  put(out, "environment", mark.environment);
  put(out, "inferred", mark.inferred);
  put(out, "derived", mark.derived);
  return out;
}

Mark mark_from(const json& in) {
  Mark mark;
  mark.kind = word_at(in, "kind", FindingKind::note);
  mark.check = word_at(in, "check", CheckKind::test);
  mark.key = text_at(in, "key");
  mark.signature = text_at(in, "signature");
  mark.package = text_at(in, "package");
  mark.test = text_at(in, "test");
  mark.analyzer = text_at(in, "analyzer");
  mark.file = text_at(in, "file");
  mark.line = number_at<std::int32_t>(in, "line");
  mark.message = text_at(in, "message");
  mark.environment = text_at(in, "environment");
  mark.inferred = flag_at(in, "inferred");
  mark.derived = flag_at(in, "derived");
  return mark;
}

Conditions conditions_from(const json& in) {
  Conditions out;
  out.image = text_at(in, "image");
  out.go_version = text_at(in, "go_version");
  out.engine = text_at(in, "engine");
  out.egress = text_at(in, "egress");
  out.proxy_mode = text_at(in, "proxy_mode");
  out.build_cache = text_at(in, "build_cache");
  out.wrapper = text_at(in, "wrapper");
  out.parser_version = number_at<std::uint32_t>(in, "parser_version");
  for (const json& one : list_at(in, "commands")) {
    if (one.is_string()) out.commands.push_back(one.get<std::string>());
  }
  return out;
}

json gates_json(const std::vector<GateFinding>& gates) {
  json out = json::array();
  for (const GateFinding& one : gates) {
    out.push_back({{"gate", name(one.gate)}, {"detail", one.detail}});
  }
  return out;
}

std::vector<GateFinding> gates_from(const json& in) {
  std::vector<GateFinding> gates;
  for (const json& one : list_at(in, "gates")) {
    if (!one.is_object()) continue;
    gates.push_back({word_at(one, "gate", Gate::not_tidy), text_at(one, "detail")});
  }
  return gates;
}

ChangeNote change_from(const json& in) {
  ChangeNote note;
  note.task = TaskId::parse(text_at(in, "task")).value_or(TaskId{});
  note.tree = text_at(in, "tree");
  note.not_affected = word_at(in, "not_affected", NotAffected::none);
  for (const json& one : list_at(in, "resolved")) {
    if (one.is_object()) note.resolved.push_back({text_at(one, "module"), text_at(one, "version")});
  }
  for (const json& one : list_at(in, "moved")) {
    if (!one.is_object()) continue;
    note.moved.push_back({text_at(one, "module"), text_at(one, "from"), text_at(one, "to"),
                          flag_at(one, "direct"), flag_at(one, "target")});
  }
  note.go_before = text_at(in, "go_before");
  note.go_after = text_at(in, "go_after");
  note.gates = gates_from(in);
  note.patch = Digest::parse(text_at(in, "patch")).value_or(Digest{});
  note.patch_bytes = number_at<std::uint64_t>(in, "patch_bytes");
  return note;
}

}  // namespace

json to_json(const Conditions& conditions) {
  json out = {{"image", conditions.image},           {"go_version", conditions.go_version},
              {"engine", conditions.engine},         {"egress", conditions.egress},
              {"proxy_mode", conditions.proxy_mode}, {"build_cache", conditions.build_cache},
              {"wrapper", conditions.wrapper},       {"parser_version", conditions.parser_version}};
  out["commands"] = conditions.commands;
  return out;
}

json to_json(const Run& run) {
  json out = {{"outcome", name(run.outcome)}, {"conditions", to_json(run.conditions)}};
  put(out, "task", run.task ? run.task.text() : std::string());
  put(out, "worker", run.worker ? run.worker.text() : std::string());
  if (run.reason != Reason::none) out["reason"] = name(run.reason);
  put(out, "message", run.message);
  put(out, "cut", run.cut);
  if (!run.seen.empty()) {
    json seen = json::array();
    for (const Seen& one : run.seen) seen.push_back(json::array({one.mark, one.count}));
    out["seen"] = std::move(seen);
  }
  put_number(out, "packages", run.packages);
  put_number(out, "tests", run.tests);
  put_number(out, "tests_not_run", run.tests_not_run);
  return out;
}

Run run_from_json(const json& in, std::size_t marks) {
  Run run;
  if (!in.is_object()) return run;
  run.task = TaskId::parse(text_at(in, "task")).value_or(TaskId{});
  run.worker = WorkerId::parse(text_at(in, "worker")).value_or(WorkerId{});
  run.outcome = word_at(in, "outcome", Outcome::inconclusive);
  run.reason = word_at(in, "reason", Reason::none);
  run.message = text_at(in, "message");
  run.cut = flag_at(in, "cut");
  for (const json& one : list_at(in, "seen")) {
    if (!one.is_array() || one.size() != 2 || !one[0].is_number_unsigned() ||
        !one[1].is_number_unsigned()) {
      continue;
    }
    const Seen seen{one[0].get<std::uint32_t>(), one[1].get<std::uint32_t>()};
    if (seen.mark < marks) run.seen.push_back(seen);
  }
  if (const auto found = in.find("conditions"); found != in.end() && found->is_object()) {
    run.conditions = conditions_from(*found);
  }
  run.packages = number_at<std::uint32_t>(in, "packages");
  run.tests = number_at<std::uint32_t>(in, "tests");
  run.tests_not_run = number_at<std::uint32_t>(in, "tests_not_run");
  return run;
}

json to_json(const ChangeNote& note) {
  json out = json::object();
  put(out, "task", note.task ? note.task.text() : std::string());
  put(out, "tree", note.tree);
  if (note.not_affected != NotAffected::none) out["not_affected"] = name(note.not_affected);
  json resolved = json::array();
  for (const ModuleTarget& one : note.resolved) {
    resolved.push_back({{"module", one.module}, {"version", one.version}});
  }
  out["resolved"] = std::move(resolved);
  json moved = json::array();
  for (const ModuleMove& one : note.moved) {
    json move = {{"module", one.module}, {"from", one.from}, {"to", one.to}};
    put(move, "direct", one.direct);
    put(move, "target", one.target);
    moved.push_back(std::move(move));
  }
  out["moved"] = std::move(moved);
  put(out, "go_before", note.go_before);
  put(out, "go_after", note.go_after);
  out["gates"] = gates_json(note.gates);
  put(out, "patch", note.patch == Digest{} ? std::string() : note.patch.hex());
  put_number(out, "patch_bytes", note.patch_bytes);
  return out;
}

json to_json(const Readiness& readiness) {
  json out = {{"conclusive", readiness.conclusive}, {"gates", gates_json(readiness.gates)}};
  put(out, "task", readiness.task ? readiness.task.text() : std::string());
  put(out, "message", readiness.message);
  return out;
}

json to_json(const Book& book) {
  json marks = json::array();
  for (const Mark& mark : book.marks) marks.push_back(mark_json(mark));
  json before = json::array();
  for (const Run& run : book.before) before.push_back(to_json(run));
  json after = json::array();
  for (const Run& run : book.after) after.push_back(to_json(run));
  json out = {
      {"marks", std::move(marks)}, {"before", std::move(before)}, {"after", std::move(after)}};
  if (book.change) out["change"] = to_json(*book.change);
  if (book.readiness) out["readiness"] = to_json(*book.readiness);
  if (book.scan_before) out["scan_before"] = cupel::to_json(*book.scan_before);
  if (book.scan_after) out["scan_after"] = cupel::to_json(*book.scan_after);
  return out;
}

Book book_from_json(const json& in) {
  Book book;
  if (!in.is_object()) return book;
  for (const json& mark : list_at(in, "marks")) {
    book.marks.push_back(mark.is_object() ? mark_from(mark) : Mark{});
  }
  for (const json& run : list_at(in, "before")) {
    book.before.push_back(run_from_json(run, book.marks.size()));
  }
  for (const json& run : list_at(in, "after")) {
    book.after.push_back(run_from_json(run, book.marks.size()));
  }
  if (const auto found = in.find("change"); found != in.end() && found->is_object()) {
    book.change = change_from(*found);
  }
  if (const auto found = in.find("readiness"); found != in.end() && found->is_object()) {
    book.readiness =
        Readiness{TaskId::parse(text_at(*found, "task")).value_or(TaskId{}),
                  flag_at(*found, "conclusive"), text_at(*found, "message"), gates_from(*found)};
  }
  const auto scan = [&in](const char* key) -> std::optional<ScanFacts> {
    const auto found = in.find(key);
    if (found == in.end() || !found->is_object()) return std::nullopt;
    auto facts = scan_facts_from_json(*found);
    return facts ? std::optional(*std::move(facts)) : std::nullopt;
  };
  book.scan_before = scan("scan_before");
  book.scan_after = scan("scan_after");
  return book;
}

}  // namespace cupel::coordinator::compare
