/// Settings that both daemons have, declared once.
#pragma once

#include "common/app/log.hpp"
#include "common/config/config.hpp"

#include <cstdint>
#include <string>

namespace cupel::app {

/// log_format and log_level.
void add_log_settings(config::Schema& schema);
[[nodiscard]] LogOptions log_options(const config::Settings& settings, std::string program);

/// disk_reserve: space that stays free; what happens below it differs.
void add_disk_reserve(config::Schema& schema, std::string sentence, std::string fallback);
[[nodiscard]] std::uint64_t disk_reserve(const config::Settings& settings);

/// ready_file.
void add_ready_file(config::Schema& schema, std::string sentence, std::string example);

}  // namespace cupel::app
