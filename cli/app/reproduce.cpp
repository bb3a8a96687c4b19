// How a person repeats a unit's runs by hand.
#include "cli/core/reproduce.hpp"

#include "cli/app/commands.hpp"
#include "cli/app/connection.hpp"
#include "cli/app/queries.hpp"
#include "cli/core/exit_codes.hpp"

namespace cupel::cli {

int run_reproduce(const Request& request, Console& console) {
  return with_client(request, console, [&](httpclient::Client& client, Interrupts&) {
    const auto data = fetch_report_data(client, request.campaign);
    if (!data) return fail(console, data.error());
    const auto units = matching(data->results, request.subject);
    if (units.size() != 1) {
      std::string names;
      for (const json* unit : units) names += (names.empty() ? "" : "\n  ") + unit_name(*unit);
      return fail(console,
                  Error{Errc::not_found,
                        std::to_string(units.size()) + " units match \"" + request.subject + "\"",
                        capped_detail(names),
                        units.empty() ? "'cupel results' lists them" : "name one of them"});
    }
    const json plan = reproduction(*units.front(), data->document, request.side);
    console.out(console.json() ? plan.dump(1, ' ', false, json::error_handler_t::replace) + "\n"
                               : reproduction_script(plan));
    return kExitDone;
  });
}

}  // namespace cupel::cli
