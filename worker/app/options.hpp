/// The settings of cupel-worker and the values that the rest of the program is given.
#pragma once

#include "common/app/log.hpp"
#include "common/config/config.hpp"
#include "common/core/error.hpp"
#include "common/core/settings.hpp"
#include "common/core/time.hpp"
#include "common/docker/budgets.hpp"
#include "worker/core/engine/run.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker {

inline constexpr std::string_view kEngineDocker = "docker";
inline constexpr std::string_view kEngineBubblewrap = "bubblewrap";

/// Declares every setting of the worker.
[[nodiscard]] config::Schema settings_schema();

/// "engine_budgets.kill"
[[nodiscard]] std::string engine_budget_setting(const docker::NamedBudget& budget);

/// What a worker never exceeds, whatever a campaign asks for.
struct Bounds {
  RunLimits limits_max;  ///< Field by field.
  std::uint64_t task_seconds_max = 0;
};

/// Where a coordinator is. Of a pair at most one leads.
struct CoordinatorAddress {
  std::string control;
  std::string bulk;
  std::string key;  ///< Z85
};

/// The settings as values, checked where one depends on another.
struct Options {
  std::string data_dir;
  std::string seed_dir;  ///< Empty: below data_dir.
  std::string name;
  std::vector<CoordinatorAddress> coordinators;  ///< At least one.
  std::string key_file;
  std::string engine;  ///< docker or bubblewrap: what runs runs.
  std::string engine_socket;
  std::map<Profile, std::string> runtimes;  ///< Engine runtimes other than its default.
  std::string image_dir;                    ///< bubblewrap: its unpacked toolchain images.
  std::string wrapper;                      ///< Path of cupel-init on the host.
  std::uint32_t slots = 0;                  ///< 0: from the host's cores and memory.
  std::string metrics_listen;               ///< Empty: no endpoint.
  std::string ready_file;
  app::LogOptions log;
  std::string module_proxy;       ///< GOPROXY of acquire; empty: environment, then the go command.
  std::string checksum_database;  ///< GOSUMDB, likewise.
  std::string fixture_proxy;      ///< Directory of a file proxy; replaces the network.
  std::string ca_bundle;
  std::string git_credentials_file;
  std::string netrc_file;
  std::string egress;        ///< auto, enforced or configured.
  std::string egress_proxy;  ///< auto, worker or container: where runs find the proxy.
  bool allow_local_sources = false;
  std::vector<std::string> allowed_sources;
  std::uint64_t disk_reserve_bytes = 0;  ///< Below it nothing is taken.
  std::uint64_t inode_reserve = 0;
  std::uint64_t outbox_reserve_bytes = 0;
  std::uint64_t modcache_bytes_max = 0;  ///< Budgets of the writable mounts.
  std::uint64_t modcache_inodes_max = 0;
  std::uint64_t gocache_bytes_max = 0;
  std::uint64_t gocache_inodes_max = 0;
  std::uint64_t workspaces_bytes_max = 0;
  std::size_t workspaces_count_max = 0;
  std::uint64_t download_cache_bytes_max = 0;    ///< 0: no cache of downloaded modules.
  std::uint64_t dependency_seeds_bytes_max = 0;  ///< 0: no seeds of dependencies.
  Duration drain_limit{};
  Duration reap_period{};
  Duration reap_grace{};
  Duration post_run{};  ///< From a run's limit to its container's deadline label.
  docker::EngineBudgets engine_budgets;
  Bounds bounds;
};

/// Errors: bad_config with the setting's name.
[[nodiscard]] Result<Options> options_from(const config::Settings& settings);

/// A campaign's settings within the worker's bounds; what was cut is named in `notes`.
[[nodiscard]] ValidationSettings clamp(ValidationSettings wanted, const Bounds& bounds,
                                       std::vector<std::string>& notes);

}  // namespace cupel::worker
