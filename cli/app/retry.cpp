// A campaign once more, over the units that ended in certain ways.
#include "cli/core/retry.hpp"

#include "cli/app/commands.hpp"
#include "cli/app/connection.hpp"
#include "cli/app/queries.hpp"
#include "cli/app/watch.hpp"
#include "cli/core/exit_codes.hpp"
#include "common/fs/files.hpp"
#include "common/text/units.hpp"

namespace cupel::cli {

int run_retry(const Request& request, Console& console) {
  Interrupts interrupts;
  if (!request.globals.timeout.empty())
    interrupts.limit(*text::parse_duration(request.globals.timeout));
  auto client = connect(request.globals, interrupts.fd());
  if (!client) return fail(console, client.error());
  const auto earlier = fetch_report_data(*client, request.campaign);
  if (!earlier) return fail(console, earlier.error());
  const auto document = retry_document(*earlier, request.verdicts);
  if (!document) return fail(console, document.error());
  const auto created = client->post("/api/v1/campaigns",
                                    document->dump(-1, ' ', false, json::error_handler_t::replace),
                                    "application/json", {{"Idempotency-Key", fs::random_hex(16)}});
  if (!created) return fail(console, created.error());
  const std::string id = text_of(*created, "id");
  console.say("campaign " + id + " asks again for " +
              std::to_string(list_of(*document, "repositories").size()) + " repositories of " +
              request.campaign);
  if (request.detach) {
    console.out(console.json() ? json{{"id", id}}.dump() + "\n" : id + "\n");
    return kExitDone;
  }
  const auto end = watch_campaign(*client, id, console, interrupts);
  if (!end) return fail(console, end.error());
  if (*end == WatchEnd::finished) return conclude(*client, id, request, console, &*earlier);
  console.say("the campaign goes on: cupel watch " + id);
  return *end == WatchEnd::timed_out ? kExitStillRunning : kExitInterrupted;
}

}  // namespace cupel::cli
