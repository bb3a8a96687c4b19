#include "cli/core/fleet_view.hpp"

#include "cli/core/table.hpp"

namespace cupel::cli {
namespace {

void add(std::string& all, const std::string& one) {
  all += (all.empty() ? "" : "; ") + one;
}

std::string tasks(double number, const char* one, const char* many) {
  const auto count = static_cast<std::int64_t>(number);
  return std::to_string(count) + (count == 1 ? " task " : " tasks ") + (count == 1 ? one : many);
}

std::string quarantine_note(const json& quarantine) {
  std::string text = "quarantine by the " + text_of(quarantine, "by") + " since " +
                     text_of(quarantine, "since") + ": " + text_of(quarantine, "why");
  if (quarantine.value("probing", false)) {
    add(text, "a probe is under way");
  } else if (const std::string at = text_of(quarantine, "probe_at"); !at.empty()) {
    add(text, "probed at " + at);
  }
  return text;
}

}  // namespace

std::string worker_note(const json& worker) {
  std::string note;
  if (const std::string blocked = text_of(worker, "blocked"); !blocked.empty())
    add(note, "blocked: " + blocked);
  if (worker.value("draining", false)) {
    const std::string by = text_of(worker, "drain_by");
    add(note, by.empty() ? "drained" : "drained by " + by);
  }
  if (const auto found = worker.find("quarantine"); found != worker.end() && found->is_object())
    add(note, quarantine_note(*found));
  return note;
}

// A worker says itself what it does, at its next heartbeat.
std::string ordered_worker(const json& worker, bool undrain) {
  const std::string note = worker_note(worker);
  const std::string state = text_of(worker, "state");
  std::string line = text_of(worker, "id") + " (" + text_of(worker, "name") + "): ";
  line +=
      undrain && state == "draining" ? "undrained; at its last heartbeat it still drained" : state;
  return line + (note.empty() ? "" : ", " + note) + "\n";
}

Result<json> labels_from(std::span<const std::string> words) {
  json labels = json::object();
  for (const std::string& word : words) {
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos || sign == 0) {
      return Error{Errc::usage, "--label: \"" + word + "\" is not key=value", "",
                   "'cupel worker ls --json' has the workers' labels"};
    }
    const std::string key = word.substr(0, sign);
    if (labels.contains(key)) {
      return Error{Errc::usage, "--label names \"" + key + "\" twice", "",
                   "a worker must have every label that is named, and has one value of each: give "
                   "one order for each value"};
    }
    labels[key] = word.substr(sign + 1);
  }
  return Result<json>(boost::system::in_place_value, std::move(labels));
}

std::string worker_table(const json& workers, std::size_t columns) {
  Table table{{"WORKER", "NAME", "STATE", "SLOTS", "RUNNING", "ENGINE", "VERSION", "HOST",
               "LAST SEEN", "NOTE"},
              {},
              {false, false, false, true, true}};
  for (const json& worker : workers) {
    table.rows.push_back({text_of(worker, "id"), text_of(worker, "name"), text_of(worker, "state"),
                          text_of(worker, "slots"), text_of(worker, "running"),
                          text_of(worker, "engine"), text_of(worker, "version"),
                          text_of(worker, "host"), text_of(worker, "last_seen"),
                          worker_note(worker)});
  }
  return render(table, columns);
}

std::string campaign_table(const json& campaigns, std::size_t columns) {
  Table table{{"CAMPAIGN", "STATE", "OWNER", "PRIORITY", "UNITS", "OPEN", "CREATED", "NAME"},
              {},
              {false, false, false, true, true, true}};
  for (const json& campaign : campaigns) {
    table.rows.push_back({text_of(campaign, "id"), text_of(campaign, "state"),
                          text_of(campaign, "owner"), text_of(campaign, "priority"),
                          text_of(campaign, "units"), text_of(campaign, "units_open"),
                          text_of(campaign, "created"), text_of(campaign, "name")});
  }
  return render(table, columns);
}

std::string letter_table(const json& letters, std::size_t columns) {
  Table table{
      {"TASK", "CAMPAIGN", "KIND", "STATE", "REASON", "ATTEMPTS", "DIED", "REPOSITORY", "WHY"},
      {},
      {false, false, false, false, false, true}};
  for (const json& letter : letters) {
    table.rows.push_back(
        {text_of(letter, "task"), text_of(letter, "campaign"), text_of(letter, "kind"),
         text_of(letter, "state"), text_of(letter, "reason"),
         std::to_string(list_of(letter, "attempts").size()), text_of(letter, "died"),
         text_of(letter, "repository"), first_line(text_of(letter, "message"), 400)});
  }
  return render(table, columns);
}

std::string explanation_text(const json& explanation) {
  const std::string task = text_of(explanation, "task");
  const std::string unit = text_of(explanation, "unit");
  std::string text = task.empty() ? unit : task;
  if (!task.empty() && !unit.empty()) text += " of " + unit;
  text += " is " + text_of(explanation, "state") + "\n";
  Table table{{"CAUSE", "UNTIL", "WHY"}, {}, {}};
  for (const json& reason : list_of(explanation, "reasons"))
    table.rows.push_back(
        {text_of(reason, "cause"), text_of(reason, "until"), text_of(reason, "text")});
  return table.rows.empty() ? text : text + render(table);
}

std::string campaign_explanation_text(const json& explanation) {
  std::string text = text_of(explanation, "campaign") + " is " + text_of(explanation, "state") +
                     ": " + tasks(number_of(explanation, "running"), "runs", "run") + ", " +
                     tasks(number_of(explanation, "waiting"), "waits", "wait") + "\n";
  if (number_of(explanation, "examined") < number_of(explanation, "waiting"))
    text += "of those that wait, " + text_of(explanation, "examined") + " were looked at\n";
  Table table{{"TASKS", "CAUSE", "UNTIL", "WHY", "SUCH AS"}, {}, {true}};
  for (const json& group : list_of(explanation, "groups")) {
    table.rows.push_back({text_of(group, "tasks"), text_of(group, "cause"), text_of(group, "until"),
                          text_of(group, "text"), text_of(group, "example")});
  }
  return table.rows.empty() ? text : text + render(table);
}

std::optional<std::string> standstill(const json& explanation) {
  const json& groups = list_of(explanation, "groups");
  if (number_of(explanation, "running") > 0 || groups.empty()) return std::nullopt;
  std::string line = "nothing runs: " + text_of(groups.front(), "text");
  if (groups.size() > 1) line += " (and " + std::to_string(groups.size() - 1) + " more reasons)";
  return line;
}

}  // namespace cupel::cli
