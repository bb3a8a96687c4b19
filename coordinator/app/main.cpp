#include "common/config/config.hpp"
#include "common/crash/crash_point.hpp"
#include "coordinator/app/daemon.hpp"
#include "coordinator/app/options.hpp"

#include <cstdio>

int main(int argc, char** argv) {
  if (cupel::crash::listed(argc, argv)) return 0;
  const auto schema = cupel::coordinator::settings_schema();
  const auto loaded = cupel::config::load(schema, argc, argv);
  if (loaded.exit_code) {
    cupel::config::print(loaded);
    return *loaded.exit_code;
  }
  const auto options = cupel::coordinator::options_from(loaded.settings);
  if (!options) {
    std::fprintf(stderr, "cupel-coordinator: %s\n", options.error().text().c_str());
    return cupel::error_info(options.error().code).exit_code;
  }
  return cupel::coordinator::run_coordinator(*options);
}
