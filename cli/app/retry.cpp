// A campaign once more, over the units that ended in certain ways.
#include "cli/core/retry.hpp"

#include "cli/app/commands.hpp"
#include "cli/app/connection.hpp"
#include "cli/app/local_fleet.hpp"
#include "cli/app/queries.hpp"
#include "cli/app/watch.hpp"
#include "cli/core/exit_codes.hpp"
#include "common/fs/files.hpp"
#include "common/text/units.hpp"

#include <functional>

namespace cupel::cli {

namespace {

using LookAfter = std::function<Result<void>()>;

/// With `fleet` the campaign can't outlive this command.
int retry_on(const Request& request, Console& console, httpclient::Client& client,
             Interrupts& interrupts, LocalFleet* fleet) {
  if (fleet != nullptr) {
    if (const auto cleared = cancel_leftovers(client, console); !cleared)
      return fail(console, cleared.error());
  }
  const auto earlier = fetch_report_data(client, request.campaign);
  if (!earlier) return fail(console, earlier.error());
  const auto document = retry_document(*earlier, request.verdicts);
  if (!document) return fail(console, document.error());
  const auto created = client.post("/api/v1/campaigns",
                                   document->dump(-1, ' ', false, json::error_handler_t::replace),
                                   "application/json", {{"Idempotency-Key", fs::random_hex(16)}});
  if (!created) return fail(console, created.error());
  const std::string id = text_of(*created, "id");
  console.say("campaign " + id + " asks again for " +
              std::to_string(list_of(*document, "repositories").size()) + " repositories of " +
              request.campaign);
  if (request.detach && fleet == nullptr) {
    console.out(console.json() ? json{{"id", id}}.dump() + "\n" : id + "\n");
    return kExitDone;
  }
  const LookAfter look_after =
      fleet == nullptr ? LookAfter() : LookAfter([fleet] { return fleet->look_after(); });
  const auto end = watch_campaign(client, id, console, interrupts, look_after);
  if (!end) return fail(console, end.error());
  if (*end == WatchEnd::finished) return conclude(client, id, request, console, &*earlier);
  if (fleet != nullptr) {
    cancel_local(client, id, console, interrupts);
    (void)conclude(client, id, request, console, &*earlier);
  } else {
    console.say("the campaign goes on: cupel watch " + id);
  }
  return code_of_end(*end);
}

}  // namespace

int run_retry(const Request& request, Console& console) {
  Interrupts interrupts;
  if (!request.globals.timeout.empty())
    interrupts.limit(*text::parse_duration(request.globals.timeout));
  if (!request.local.enabled) {
    auto client = connect(request.globals, interrupts.fd());
    if (!client) return fail(console, client.error());
    return retry_on(request, console, *client, interrupts, nullptr);
  }
  auto fleet = LocalFleet::start(request.local, console, interrupts, true);
  if (!fleet) return fail(console, fleet.error());
  auto client = connect_to((*fleet)->base_url(), (*fleet)->token_file().string(), interrupts.fd());
  const int code = client ? retry_on(request, console, *client, interrupts, fleet->get())
                          : fail(console, client.error());
  (*fleet)->stop();
  return code;
}

}  // namespace cupel::cli
