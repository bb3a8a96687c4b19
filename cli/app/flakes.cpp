// The flake registry of a coordinator.
#include "cli/app/commands.hpp"
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

Result<std::vector<json>> fetch_flakes(httpclient::Client& client, const std::string& repository) {
  std::vector<json> flakes;
  std::string token;
  do {
    std::string target = "/api/v1/flakes?limit=200";
    if (!repository.empty()) target += "&repository=" + httpclient::percent_encoded(repository);
    if (!token.empty()) target += "&page_token=" + httpclient::percent_encoded(token);
    const auto page = client.get(target);
    if (!page) return page.error();
    for (const json& flake : list_of(*page, "flakes")) flakes.push_back(flake);
    token = text_of(*page, "next_page_token");
  } while (!token.empty() && flakes.size() < kFlakesMax);
  return flakes;
}

}  // namespace

int run_flakes(const Request& request, Console& console) {
  return with_client(request, console, [&](httpclient::Client& client, Interrupts&) {
    const auto flakes = fetch_flakes(client, request.repo_glob);
    if (!flakes) return fail(console, flakes.error());
    if (request.globals.format == "ndjson") {
      for (const json& flake : *flakes)
        console.out(flake.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
    } else if (console.json()) {
      console.out(json{{"flakes", *flakes}}.dump(1, ' ', false, json::error_handler_t::replace) +
                  "\n");
    } else {
      console.out(flakes_table(*flakes, console.out_columns()));
    }
    return kExitDone;
  });
}

}  // namespace cupel::cli
