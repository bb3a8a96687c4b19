#include "cli/core/flakes_view.hpp"

#include "cli/core/table.hpp"

#include <cmath>
#include <set>

namespace cupel::cli {
namespace {

/// "3 of 8 (38 %)"
std::string rate_of(const json& flake) {
  const double hits = number_of(flake, "hits");
  const double runs = number_of(flake, "runs");
  const auto percent = runs > 0 ? std::lround(100 * hits / runs) : 0;
  return text_of(flake, "hits") + " of " + text_of(flake, "runs") + " (" + std::to_string(percent) +
         " %)";
}

std::string where(const json& flake) {
  const std::string repository = text_of(flake, "repository");
  const std::string module = text_of(flake, "module");
  return module.empty() || module == repository ? repository : repository + " " + module;
}

}  // namespace

std::string flakes_table(const std::vector<json>& flakes, std::size_t columns) {
  if (flakes.empty()) return "nothing has come and gone between two runs of the same code\n";
  Table table{{"REPOSITORY", "FAILED IN RUNS", "UNITS", "LAST SEEN", "CAMPAIGN", "FINDING"},
              {},
              {false, true, true}};
  std::set<std::string> repositories;
  for (const json& flake : flakes) {
    repositories.insert(text_of(flake, "repository"));
    table.rows.push_back({first_line(where(flake), 80), rate_of(flake), text_of(flake, "times"),
                          text_of(flake, "last"), text_of(flake, "campaign"),
                          first_line(text_of(flake, "key"), 400)});
  }
  return render(table, columns) + "\n" + std::to_string(flakes.size()) +
         (flakes.size() == 1 ? " finding comes and goes" : " findings come and go") + " in " +
         std::to_string(repositories.size()) +
         (repositories.size() == 1 ? " repository\n" : " repositories\n");
}

}  // namespace cupel::cli
