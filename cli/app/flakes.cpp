// The flake registry of a coordinator.
#include "cli/app/commands.hpp"
#include "cli/app/connection.hpp"
#include "cli/app/queries.hpp"
#include "cli/core/exit_codes.hpp"
#include "cli/core/flakes_view.hpp"
#include "common/httpclient/url.hpp"

#include <nlohmann/json.hpp>

#include <utility>
#include <vector>

namespace cupel::cli {
namespace {

constexpr std::size_t kFlakesMax = 10'000;

}  // namespace

int run_flakes(const Request& request, Console& console) {
  return with_client(request, console, [&](httpclient::Client& client, Interrupts&) {
    std::string target = "/api/v1/flakes?limit=200";
    if (!request.repo_glob.empty())
      target += "&repository=" + httpclient::percent_encoded(request.repo_glob);
    const auto flakes = fetch_pages(client, target, "flakes", kFlakesMax);
    if (!flakes) return fail(console, flakes.error());
    if (request.globals.format == "ndjson") {
      for (const json& flake : *flakes)
        console.out(flake.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
    } else if (console.json()) {
      console.out(dumped({{"flakes", *flakes}}));
    } else {
      console.out(flakes_table(*flakes, console.out_columns()));
    }
    return kExitDone;
  });
}

}  // namespace cupel::cli
