#include "cli/app/campaign_source.hpp"
#include "cli/app/commands.hpp"
#include "cli/app/connection.hpp"
#include "cli/app/local_fleet.hpp"
#include "cli/app/watch.hpp"
#include "cli/core/exit_codes.hpp"
#include "common/fs/files.hpp"
#include "common/text/units.hpp"

#include <nlohmann/json.hpp>

#include <memory>
#include <utility>

namespace cupel::cli {
namespace {

/// The body of the submission: the plan's id, or the campaign with its folders uploaded.
Result<std::string> submission(const Request& request, campaign::Campaign campaign,
                               httpclient::Client& client, Console& console) {
  if (!request.plan.empty()) return json{{"plan", request.plan}}.dump();
  if (const auto uploaded = upload_paths(campaign, request.file, client, console); !uploaded)
    return uploaded.error();
  return campaign::to_canonical_json(campaign);
}

Result<std::string> submit(const std::string& body, httpclient::Client& client, Console& console) {
  const auto created = client.post("/api/v1/campaigns", body, "application/json",
                                   {{"Idempotency-Key", fs::random_hex(16)}});
  if (!created) return created.error();
  const std::string id = text_of(*created, "id");
  if (id.empty())
    return Error{Errc::protocol_mismatch, "the coordinator's answer names no campaign",
                 created->dump(), ""};
  console.say("campaign " + id + " (" + text_of(*created, "name") +
              "), file sha256:" + text_of(*created, "digest").substr(0, 16));
  return id;
}

std::string signal_sentence(WatchEnd end) {
  return end == WatchEnd::timed_out ? "the time limit is over" : "detached";
}

int run_on_server(const Request& request, campaign::Campaign campaign, Console& console) {
  Interrupts interrupts;
  auto client = connect(request.globals, interrupts.fd());
  if (!client) return fail(console, client.error());
  if (!request.globals.timeout.empty())
    interrupts.limit(*text::parse_duration(request.globals.timeout));
  const auto body = submission(request, std::move(campaign), *client, console);
  if (!body) return fail(console, body.error());
  const auto id = submit(*body, *client, console);
  if (!id) return fail(console, id.error());
  if (request.detach) {
    console.out(console.json() ? json{{"id", *id}}.dump() + "\n" : *id + "\n");
    return kExitDone;
  }
  const auto end = watch_campaign(*client, *id, console, interrupts);
  if (!end) return fail(console, end.error());
  if (*end == WatchEnd::finished) return conclude(*client, *id, request, console);
  console.say(signal_sentence(*end) + "; the campaign goes on\n  attach: cupel watch " + *id +
              "\n  cancel: cupel cancel " + *id);
  return code_of_end(*end);
}

int run_in_fleet(const Request& request, campaign::Campaign campaign, LocalFleet& fleet,
                 Console& console, Interrupts& interrupts) {
  auto client = connect_to(fleet.base_url(), fleet.token_file().string(), interrupts.fd());
  if (!client) return fail(console, client.error());
  if (const auto cleared = cancel_leftovers(*client, console); !cleared)
    return fail(console, cleared.error());
  const auto body = submission(request, std::move(campaign), *client, console);
  if (!body) return fail(console, body.error());
  const auto id = submit(*body, *client, console);
  if (!id) return fail(console, id.error());
  const auto end =
      watch_campaign(*client, *id, console, interrupts, [&fleet] { return fleet.look_after(); });
  if (!end) return fail(console, end.error());
  if (*end == WatchEnd::finished) return conclude(*client, *id, request, console);
  cancel_local(*client, *id, console, interrupts);
  (void)conclude(*client, *id, request, console);
  return code_of_end(*end);
}

int run_locally(const Request& request, campaign::Campaign campaign, Console& console) {
  Interrupts interrupts;
  if (!request.globals.timeout.empty())
    interrupts.limit(*text::parse_duration(request.globals.timeout));
  auto fleet = LocalFleet::start(request.local, console, interrupts, true);
  if (!fleet) return fail(console, fleet.error());
  const int code = run_in_fleet(request, std::move(campaign), **fleet, console, interrupts);
  (*fleet)->stop();
  return code;
}

}  // namespace

int run_campaign(const Request& request, Console& console) {
  campaign::Campaign campaign;
  if (request.plan.empty()) {
    auto parsed = load_campaign(request.file);
    if (!parsed) return fail(console, parsed.error());
    if (!*parsed) {
      console.diagnostics(parsed->diagnostics);
      return kExitUsage;
    }
    campaign = std::move(*parsed->campaign);
    if (!request.name.empty()) campaign.name = request.name;
    if (request.aa) campaign.aa = *request.aa;
  }
  if (request.dry_run) {
    console.out(std::to_string(campaign.repositories.size()) +
                " repositories would be validated\n");
    return kExitDone;
  }
  return request.local.enabled ? run_locally(request, std::move(campaign), console)
                               : run_on_server(request, std::move(campaign), console);
}

int run_watch(const Request& request, Console& console) {
  Interrupts interrupts;
  if (!request.globals.timeout.empty())
    interrupts.limit(*text::parse_duration(request.globals.timeout));
  auto client = connect(request.globals, interrupts.fd());
  if (!client) return fail(console, client.error());
  const auto end = watch_campaign(*client, request.campaign, console, interrupts);
  if (!end) return fail(console, end.error());
  if (*end == WatchEnd::finished) return conclude(*client, request.campaign, request, console);
  console.say(signal_sentence(*end) + "; the campaign goes on");
  return code_of_end(*end);
}

int fail(Console& console, const Error& error) {
  console.error(error);
  return exit_code_of(error);
}

}  // namespace cupel::cli
