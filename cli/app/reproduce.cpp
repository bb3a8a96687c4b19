// How a person repeats a unit's runs by hand.
#include "cli/core/reproduce.hpp"

#include "cli/app/commands.hpp"
#include "cli/app/connection.hpp"
#include "cli/app/queries.hpp"
#include "cli/core/exit_codes.hpp"

namespace cupel::cli {
namespace {

/// A larger change is no part of a script.
constexpr std::size_t kMailBytesMax = 1 << 20;

/// The runs of the side that is asked for, and the change, also where its patch is withheld.
Result<SideEvidence> evidence_of(const json& unit, const Request& request,
                                 httpclient::Client& client) {
  SideEvidence evidence{request.side, nullptr, ""};
  const json& comparison = member(unit, "comparison");
  const std::string task = text_of(member(comparison, request.side.c_str()), "task");
  if (!task.empty()) {
    const auto answer = client.get("/api/v1/tasks/" + task);
    if (!answer) return answer.error();
    evidence.result = member(*answer, "result");
  }
  const json& change = member(comparison, "change");
  const double bytes = number_of(change, "patch_bytes");
  if (request.side != "after" || bytes <= 0 || bytes > kMailBytesMax) return evidence;
  const auto path = campaign_path(request.campaign);
  if (!path) return path.error();
  const auto told = client.download(
      *path + "/patches/" + text_of(unit, "id"), 0,
      [&evidence](std::string_view piece) {
        evidence.mail.append(piece);
        return evidence.mail.size() <= 2 * kMailBytesMax;
      },
      [](const httpclient::Headers&) { return true; });
  if (!told) return told.error();
  return evidence;
}

}  // namespace

int run_reproduce(const Request& request, Console& console) {
  return with_client(request, console, [&](httpclient::Client& client, Interrupts&) {
    const auto data = fetch_report_data(client, request.campaign);
    if (!data) return fail(console, data.error());
    const auto found = only_match(data->results, request.subject);
    if (!found) return fail(console, found.error());
    const json& unit = **found;
    if (const std::string why = side_not_run(unit, request.side); !why.empty()) {
      return fail(console, Error{Errc::not_found, why, capped_detail(message_of(unit)),
                                 "--side names the other one"});
    }
    const auto evidence = evidence_of(unit, request, client);
    if (!evidence) return fail(console, evidence.error());
    const json plan = reproduction(unit, data->document, *evidence);
    console.out(console.json() ? dumped(plan) : reproduction_script(plan));
    return kExitDone;
  });
}

}  // namespace cupel::cli
