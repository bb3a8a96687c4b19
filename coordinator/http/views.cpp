#include "coordinator/http/views.hpp"

#include "common/core/json.hpp"

#include <array>
#include <charconv>

namespace cupel::coordinator::http {
namespace {

using nlohmann::json;

constexpr std::uint32_t kPageMax = 200;

// Those of a plain validation are always shown, so that a reader needs no default.
constexpr std::array kPlainVerdicts = {Verdict::passing, Verdict::failing, Verdict::inconclusive,
                                       Verdict::refused, Verdict::cancelled};
constexpr std::array kTaskStates = {TaskState::blocked, TaskState::queued, TaskState::leased,
                                    TaskState::done,    TaskState::dead,   TaskState::cancelled};

json time_or_null(WallTime time) {
  return time.us == 0 ? json() : json(to_rfc3339(time));
}

template <typename Identifier>
json id_or_null(Identifier id) {
  return id ? json(id.text()) : json();
}

json member(const json& object, const char* name, json fallback) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : std::move(fallback);
}

}  // namespace

json kept_json(const std::string& text) {
  json parsed = json::parse(text, nullptr, false);
  return parsed.is_discarded() ? json() : parsed;
}

json summary_view(const CampaignSummary& summary) {
  const CampaignRow& row = summary.campaign;
  json verdicts = json::object();
  for (const Verdict verdict : kPlainVerdicts) verdicts[std::string(name(verdict))] = 0;
  for (const auto& [verdict, count] : summary.verdicts)
    verdicts[std::string(name(verdict))] = count;
  json tasks = json::object();
  for (const TaskState state : kTaskStates) tasks[std::string(name(state))] = 0;
  for (const auto& [state, count] : summary.tasks) tasks[std::string(name(state))] = count;
  return {{"id", row.id.text()},
          {"name", row.name},
          {"owner", row.owner},
          {"state", name(row.state)},
          {"priority", row.priority},
          {"digest", row.digest},
          {"created", to_rfc3339(row.created)},
          {"finished", time_or_null(row.finished)},
          {"units", summary.units},
          {"units_open", summary.units_open},
          {"repositories", summary.repositories},
          {"repositories_open", summary.repositories_open},
          {"verdicts", std::move(verdicts)},
          {"tasks", std::move(tasks)},
          {"interruptions", summary.interruptions}};
}

json unit_view(const UnitResult& result, const json& record) {
  const UnitRow& unit = result.unit;
  const json info = kept_json(unit.info);
  const json evidence = member(record, "evidence", json::object());
  json seconds;
  if (const auto typed = result_from_json(record);
      typed && typed->finished.us > typed->started.us) {
    seconds = static_cast<double>(typed->finished.us - typed->started.us) / 1e6;
  }
  return {{"id", unit.id.text()},
          {"repository", result.repository.name},
          {"ordinal", result.repository.ordinal},
          {"source", kept_json(result.repository.source)},
          {"commit", result.repository.commit},
          {"tree", result.repository.tree},
          {"committed", result.repository.committed.us == 0
                            ? json()
                            : json(to_rfc3339(result.repository.committed))},
          {"dir", member(info, "dir", "")},
          {"module", member(info, "module_path", "")},
          {"workspace", member(info, "workspace", "")},
          {"vendored", member(info, "vendored", false)},
          {"verdict", unit.verdict ? json(name(*unit.verdict)) : json()},
          {"reason", name(unit.reason)},
          {"fault", name(unit.fault)},
          {"message", unit.message},
          {"task", id_or_null(unit.deciding_task)},
          {"findings", member(record, "findings", member(info, "findings", json::array()))},
          {"findings_truncated", member(record, "findings_truncated", false)},
          {"checks", member(record, "checks", json::array())},
          {"evidence", evidence},
          {"logs", member(record, "logs", json::array())},
          {"notes", member(evidence, "notes", json::array())},
          {"scan", member(record, "scan", json())},
          {"modules", member(kept_json(result.acquire), "modules", json())},
          {"comparison", kept_json(result.comparison)},
          {"seconds", std::move(seconds)}};
}

namespace {

json attempts_view(const TaskView& view) {
  json attempts = json::array();
  for (const TaskView::Attempt& attempt : view.attempts) {
    attempts.push_back({{"token", attempt.token.value},
                        {"worker", attempt.worker.text()},
                        {"started", time_or_null(attempt.started)},
                        {"ended", time_or_null(attempt.ended)},
                        {"how", attempt.how}});
  }
  return attempts;
}

}  // namespace

json dead_letter_view(const DeadLetterView& view) {
  const DeadLetterRow& letter = view.letter;
  json units = json::array();
  for (const UnitRow& unit : view.units) {
    const json info = kept_json(unit.info);
    units.push_back({{"id", unit.id.text()},
                     {"dir", member(info, "dir", "")},
                     {"module", member(info, "module_path", "")},
                     {"verdict", unit.verdict ? json(name(*unit.verdict)) : json()}});
  }
  return {{"task", letter.task.text()},
          {"campaign", letter.campaign.text()},
          {"repository", view.repository.name},
          {"kind", name(letter.kind)},
          {"reason", name(letter.reason)},
          {"message", letter.message},
          {"died", time_or_null(letter.at)},
          {"state", name(letter.state)},
          {"handled", time_or_null(letter.handled)},
          {"charged", view.task.task.charged},
          {"interruptions", view.task.task.interruptions},
          {"attempts", attempts_view(view.task)},
          {"logs", member(kept_json(view.task.result), "logs", json::array())},
          {"units", std::move(units)}};
}

json task_view(const TaskView& view, const std::optional<std::string>& why, json record) {
  const TaskRow& task = view.task;
  return {{"id", task.id.text()},
          {"campaign", task.campaign.text()},
          {"repository", id_or_null(task.repository)},
          {"unit", id_or_null(task.unit)},
          {"kind", name(task.kind)},
          {"state", name(task.state)},
          {"charged", task.charged},
          {"interruptions", task.interruptions},
          {"why", why ? json(*why) : json()},
          {"attempts", attempts_view(view)},
          {"spec", kept_json(view.spec)},
          {"result", std::move(record)}};
}

namespace {

json reason_view(const WaitReason& reason) {
  return {{"cause", name(reason.cause)},
          {"text", reason.text},
          {"worker", reason.worker.empty() ? json() : json(reason.worker)},
          {"until", time_or_null(reason.until)}};
}

}  // namespace

json campaign_explanation_view(const CampaignExplanation& explanation, std::string_view state) {
  json groups = json::array();
  for (const WaitGroup& group : explanation.groups) {
    json view = reason_view(group.reason);
    view["tasks"] = group.tasks;
    view["example"] = group.example.text();
    groups.push_back(std::move(view));
  }
  return {{"campaign", explanation.campaign.text()}, {"state", state},
          {"running", explanation.running},          {"waiting", explanation.waiting},
          {"examined", explanation.examined},        {"groups", std::move(groups)}};
}

json explanation_view(const Explanation& explanation) {
  json reasons = json::array();
  for (const WaitReason& reason : explanation.reasons) reasons.push_back(reason_view(reason));
  return {{"task", explanation.task.text()},
          {"unit", id_or_null(explanation.unit)},
          {"campaign", explanation.campaign.text()},
          {"state", name(explanation.state)},
          {"why", sentence(explanation)},
          {"reasons", std::move(reasons)}};
}

json over_view(const std::string& task, UnitId unit, CampaignId campaign,
               const std::string& state) {
  return {{"task", task.empty() ? json() : json(task)},
          {"unit", id_or_null(unit)},
          {"campaign", campaign.text()},
          {"state", state},
          {"why", "it is " + state},
          {"reasons", json::array()}};
}

namespace {

json quarantine_view(const WorkerView& worker) {
  if (worker.quarantine == Quarantine::none) return {};
  return {{"by", worker.quarantine == Quarantine::by_operator ? "operator" : "fleet"},
          {"why", worker.quarantine_why},
          {"since", time_or_null(worker.quarantine_since)},
          {"probe_at", time_or_null(worker.probe_at)},
          {"probing", worker.probing}};
}

}  // namespace

json worker_view(const WorkerView& worker) {
  return {{"id", worker.id.text()},
          {"name", worker.name},
          {"state", name(worker.state)},
          {"slots", worker.slots},
          {"running", worker.running},
          {"engine", worker.engine},
          {"version", worker.version},
          {"host", worker.host},
          {"blocked", worker.blocked},
          {"labels", worker.labels},
          {"last_seen", time_or_null(worker.last_seen)},
          {"draining", worker.draining},
          {"drain_by", time_or_null(worker.drain_by)},
          {"quarantine", quarantine_view(worker)},
          {"recent", {{"failures", worker.failures}, {"attempts", worker.attempts}}}};
}

cupel::http::Response json_response(unsigned status, const json& body) {
  return cupel::http::text_response(
      status, "application/json", body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

Result<std::uint32_t> page_limit(const cupel::http::Request& request) {
  const std::string_view text = request.argument("limit");
  if (text.empty()) return kPageMax;
  std::uint32_t limit = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (ec != std::errc() || end != text.data() + text.size() || limit == 0 || limit > kPageMax) {
    return Error{.code = Errc::bad_value,
                 .what = "limit must be a number from 1 to " + std::to_string(kPageMax),
                 .detail = {},
                 .hint = {}};
  }
  return limit;
}

}  // namespace cupel::coordinator::http
