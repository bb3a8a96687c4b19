/// The coordinator's settings.
#pragma once

#include "common/app/log.hpp"
#include "common/config/config.hpp"
#include "coordinator/core/machine.hpp"
#include "coordinator/sql/location.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace cupel::coordinator {

/// Ages; zero keeps for ever.
struct RetentionSettings {
  Duration events{};
  Duration artifacts{};
  Duration period = std::chrono::hours(1);
};

struct Options {
  std::string data_dir;
  sql::StoreLocation store{std::filesystem::path()};
  std::string shared_dir;  ///< Artifacts and plans.
  std::string name;
  Duration leader_lease{};
  std::string listen;
  std::string control;
  std::string bulk;
  std::string key_file;
  bool make_key = false;  ///< The key's place is ours: made at the first start.
  std::string trusted_keys;
  std::string token_file;
  std::string vulndb;      ///< Folder, archive or URL; empty: campaigns name their own.
  std::string ready_file;  ///< Empty: none.
  app::LogOptions log;
  std::uint64_t reserve_bytes = 0;
  MachineSettings machine;
  RetentionSettings retention;
};

[[nodiscard]] config::Schema settings_schema();
/// Errors: bad_config.
[[nodiscard]] Result<Options> options_from(const config::Settings& settings);

}  // namespace cupel::coordinator
