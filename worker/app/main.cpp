#include "common/app/log.hpp"
#include "common/config/config.hpp"
#include "common/core/error.hpp"
#include "common/crash/crash_point.hpp"
#include "worker/app/options.hpp"
#include "worker/app/service.hpp"

#include <cstdio>

int main(int argc, char** argv) {
  if (cupel::crash::listed(argc, argv)) return 0;
  const auto schema = cupel::worker::settings_schema();
  const auto loaded = cupel::config::load(schema, argc, argv);
  if (loaded.exit_code) {
    cupel::config::print(loaded);
    return *loaded.exit_code;
  }
  const auto options = cupel::worker::options_from(loaded.settings);
  if (!options) {
    std::fprintf(stderr, "cupel-worker: %s\n", options.error().text().c_str());
    return cupel::error_info(options.error().code).exit_code;
  }
  return cupel::worker::run_worker(*options);
}
