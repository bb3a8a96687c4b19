// What operators order: of workers and of campaigns.
#include "cli/app/commands.hpp"
#include "cli/app/connection.hpp"
#include "cli/app/queries.hpp"
#include "cli/core/exit_codes.hpp"
#include "cli/core/fleet_view.hpp"
#include "common/core/ids.hpp"
#include "common/httpclient/url.hpp"
#include "common/text/units.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace cupel::cli {
namespace {

const char* action_of(Verb verb) {
  switch (verb) {
    case Verb::worker_undrain: return "undrain";
    case Verb::worker_quarantine: return "quarantine";
    case Verb::worker_release: return "release";
    case Verb::campaign_pause: return "pause";
    case Verb::campaign_resume: return "resume";
    case Verb::cancel: return "cancel";
    default: return "drain";
  }
}

/// The order's body. Errors: usage.
Result<json> order_of(const Request& request) {
  json body = json::object();
  if (!request.labels.empty()) {
    auto labels = labels_from(request.labels);
    if (!labels) return labels.error();
    body["labels"] = *std::move(labels);
  }
  if (!request.deadline.empty()) {
    const auto deadline = text::parse_duration(request.deadline).value_or(std::chrono::hours(0));
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(deadline).count();
    body["deadline_s"] = std::max<std::int64_t>(seconds, 1);
  }
  if (!request.why.empty()) body["why"] = request.why;
  if (request.without_probe) body["probe"] = false;
  return Result<json>(boost::system::in_place_value, std::move(body));
}

int list_workers(httpclient::Client& client, Console& console) {
  const auto answer = client.get("/api/v1/workers");
  if (!answer) return fail(console, answer.error());
  console.out(console.json() ? dumped(*answer)
                             : worker_table(list_of(*answer, "workers"), console.out_columns()));
  return kExitDone;
}

int list_campaigns(const Request& request, httpclient::Client& client, Console& console) {
  auto all = fetch_pages(
      client,
      "/api/v1/campaigns?limit=200" +
          (request.state.empty() ? "" : "&state=" + httpclient::percent_encoded(request.state)),
      "campaigns");
  if (!all) return fail(console, all.error());
  console.out(console.json() ? dumped({{"campaigns", std::move(*all)}})
                             : campaign_table(*all, console.out_columns()));
  return kExitDone;
}

/// Open (or other) dead letters.
Result<std::vector<json>> letters_of(httpclient::Client& client, const std::string& campaign,
                                     const std::string& state) {
  return fetch_pages(
      client,
      "/api/v1/deadletters?limit=200" +
          (campaign.empty() ? "" : "&campaign=" + httpclient::percent_encoded(campaign)) +
          (state.empty() ? "" : "&state=" + state),
      "deadletters");
}

/// The tasks that replay and drop are about. Errors: usage, and those of the API.
Result<std::vector<std::string>> letters_named(const Request& request, httpclient::Client& client) {
  if (TaskId::parse(request.subject)) return std::vector<std::string>{request.subject};
  if (!CampaignId::parse(request.subject)) {
    return Error{Errc::usage, "\"" + request.subject + "\" is neither a task nor a campaign", "",
                 "'cupel deadletter ls' shows both"};
  }
  const auto letters = letters_of(client, request.subject, "open");
  if (!letters) return letters.error();
  std::vector<std::string> tasks;
  for (const json& letter : *letters) tasks.push_back(text_of(letter, "task"));
  return tasks;
}

}  // namespace

int run_worker(const Request& request, Console& console) {
  return with_client(request, console, [&](httpclient::Client& client, Interrupts&) {
    if (request.verb == Verb::worker_ls) return list_workers(client, console);
    if (request.subject.empty() == request.labels.empty()) {
      return fail(console, Error{Errc::usage, "name one worker, or workers by --label", "",
                                 "'cupel worker ls' shows them"});
    }
    const auto body = order_of(request);
    if (!body) return fail(console, body.error());
    const std::string action = action_of(request.verb);
    const std::string target =
        request.subject.empty()
            ? "/api/v1/workers:" + action
            : "/api/v1/workers/" + httpclient::percent_encoded(request.subject) + "/" + action;
    const auto answer = client.post(target, body->dump());
    if (!answer) return fail(console, answer.error());
    const bool undrain = request.verb == Verb::worker_undrain;
    if (console.json()) {
      console.out(dumped(*answer));
    } else if (!request.subject.empty()) {
      console.out(ordered_worker(*answer, undrain));
    } else {
      for (const json& worker : list_of(*answer, "workers"))
        console.out(ordered_worker(worker, undrain));
    }
    return kExitDone;
  });
}

int run_why(const Request& request, Console& console) {
  return with_client(request, console, [&](httpclient::Client& client, Interrupts&) {
    const bool campaign = CampaignId::parse(request.subject).has_value();
    const bool task = TaskId::parse(request.subject).has_value();
    if (!campaign && !task && !UnitId::parse(request.subject)) {
      return fail(
          console,
          Error{Errc::usage,
                "\"" + request.subject + "\" is neither a campaign nor a task nor a unit", "",
                "'cupel campaign ls' has the ids of campaigns, 'cupel results --json' those "
                "of units, 'cupel deadletter ls' those of tasks that were given up"});
    }
    const std::string kind = campaign ? "campaigns/" : task ? "tasks/" : "units/";
    const auto answer = client.get("/api/v1/" + kind + request.subject + "/why");
    if (!answer) return fail(console, answer.error());
    console.out(console.json() ? dumped(*answer)
                : campaign     ? campaign_explanation_text(*answer)
                               : explanation_text(*answer));
    return kExitDone;
  });
}

int run_deadletter(const Request& request, Console& console) {
  return with_client(request, console, [&](httpclient::Client& client, Interrupts&) {
    if (request.verb == Verb::deadletter_ls) {
      auto letters = letters_of(client, request.campaign, request.state);
      if (!letters) return fail(console, letters.error());
      console.out(console.json() ? dumped({{"deadletters", std::move(*letters)}})
                                 : letter_table(*letters, console.out_columns()));
      return kExitDone;
    }
    const auto tasks = letters_named(request, client);
    if (!tasks) return fail(console, tasks.error());
    if (tasks->empty()) console.say(request.subject + " has no open dead letters");
    const bool replay = request.verb == Verb::deadletter_replay;
    json handled = json::array();
    for (const std::string& task : *tasks) {
      const auto letter =
          client.post("/api/v1/deadletters/" + task + (replay ? "/replay" : "/drop"), "");
      if (!letter) {
        // Two letters of one unit are replayed together: the second has nothing left to do.
        const bool with_another =
            letter.error().code == Errc::conflict && TaskId::parse(request.subject) == std::nullopt;
        if (!with_another) return fail(console, letter.error());
        console.say(task + ": " + letter.error().what);
        continue;
      }
      if (!console.json()) console.out(task + ": " + text_of(*letter, "state") + "\n");
      handled.push_back(*letter);
    }
    if (console.json()) console.out(dumped({{"deadletters", std::move(handled)}}));
    return kExitDone;
  });
}

int run_campaign_order(const Request& request, Console& console) {
  return with_client(request, console, [&](httpclient::Client& client, Interrupts&) {
    if (request.verb == Verb::campaign_ls) return list_campaigns(request, client, console);
    const auto path = campaign_path(request.campaign);
    if (!path) return fail(console, path.error());
    const auto summary = client.post(*path + "/" + action_of(request.verb), "");
    if (!summary) return fail(console, summary.error());
    console.out(console.json() ? dumped(*summary)
                               : request.campaign + ": " + text_of(*summary, "state") + "\n");
    return kExitDone;
  });
}

}  // namespace cupel::cli
