#include "worker/app/options.hpp"

#include "common/app/settings.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace cupel::worker {
namespace {

/// In a build tree it lies beside this program, installed in ../libexec/cupel.
std::string wrapper_of_this_program() {
  std::error_code ec;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ec);
  const auto beside = self.parent_path() / "cupel-init";
  const auto installed = self.parent_path().parent_path() / "libexec" / "cupel" / "cupel-init";
  const bool is_installed =
      !std::filesystem::exists(beside, ec) && std::filesystem::exists(installed, ec);
  return (is_installed ? installed : beside).string();
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "worker";
}

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(',');
    std::string_view part = text.substr(0, end);
    const std::size_t first = part.find_first_not_of(' ');
    part = first == std::string_view::npos ? "" : part.substr(first);
    parts.emplace_back(part.substr(0, part.find_last_not_of(' ') + 1));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<std::map<Profile, std::string>> runtimes_of(const config::Settings& settings) {
  std::map<Profile, std::string> runtimes;
  for (const std::string& item : settings.list("runtimes")) {
    const std::size_t equals = item.find('=');
    const std::string_view wanted = std::string_view(item).substr(0, equals);
    const auto* const profile =
        std::ranges::find(kProfiles, wanted, [](Profile p) { return name(p); });
    if (equals == std::string::npos || equals + 1 == item.size() || profile == kProfiles.end())
      return config::unfit("runtimes", "'" + item + "' is no PROFILE=RUNTIME, like execute=runsc");
    if (!runtimes.emplace(*profile, item.substr(equals + 1)).second)
      return config::unfit("runtimes", "profile " + std::string(wanted) + " stands twice");
  }
  if (!runtimes.empty() && settings.text("engine") == kEngineBubblewrap)
    return config::unfit("runtimes", "bubblewrap has none; set engine to docker");
  return runtimes;
}

Result<void> check_egress_proxy(const Options& options) {
  if (options.egress_proxy == "auto") return {};
  if (options.engine == kEngineBubblewrap)
    return config::unfit("egress_proxy", "bubblewrap has no network to hold; set engine to docker");
  if (options.egress == "configured")
    return config::unfit("egress_proxy",
                         "runs have no proxy of the worker's with egress: configured");
  return {};
}

docker::EngineBudgets engine_budgets_of(const config::Settings& settings) {
  docker::EngineBudgets budgets;
  for (const docker::NamedBudget& budget : docker::kNamedBudgets)
    budgets.*budget.time = settings.duration(engine_budget_setting(budget));
  return budgets;
}

Result<std::vector<CoordinatorAddress>> coordinators_of(const config::Settings& settings) {
  const auto control = parts_of(settings.text("coordinator_control"));
  const auto bulk = parts_of(settings.text("coordinator_bulk"));
  const auto keys = parts_of(settings.text("coordinator_key"));
  if (bulk.size() != control.size()) {
    return config::unfit("coordinator_bulk",
                         "must name as many coordinators as coordinator_control");
  }
  if (keys.size() != 1 && keys.size() != control.size()) {
    return config::unfit("coordinator_key", "must be one key, or one for each coordinator");
  }
  std::vector<CoordinatorAddress> coordinators;
  for (std::size_t i = 0; i < control.size(); ++i) {
    if (std::ranges::count(control, control[i]) > 1)
      return config::unfit("coordinator_control", "names " + control[i] + " twice");
    coordinators.push_back({control[i], bulk[i], keys.size() == 1 ? keys[0] : keys[i]});
  }
  return coordinators;
}

}  // namespace

Result<Options> options_from(const config::Settings& settings) {
  Options options;
  options.data_dir = settings.text("data_dir");
  if (options.data_dir.empty() || options.data_dir[0] != '/') {
    return config::unfit("data_dir",
                         "must be an absolute path: containers mount directories below it");
  }
  options.seed_dir = settings.text("seed_dir");
  options.name = settings.is_set("name") ? settings.text("name") : host_name();
  auto coordinators = coordinators_of(settings);
  if (!coordinators) return coordinators.error();
  options.coordinators = *std::move(coordinators);
  options.key_file = settings.text("key_file");
  options.engine = settings.text("engine");
  options.engine_socket = settings.text("engine_socket");
  auto runtimes = runtimes_of(settings);
  if (!runtimes) return runtimes.error();
  options.runtimes = *std::move(runtimes);
  options.image_dir = settings.text("image_dir");
  if (options.image_dir.empty()) options.image_dir = options.data_dir + "/images";
  options.wrapper = settings.is_set("wrapper") && !settings.text("wrapper").empty()
                        ? settings.text("wrapper")
                        : wrapper_of_this_program();
  options.slots = static_cast<std::uint32_t>(settings.number("slots"));
  options.metrics_listen = settings.text("metrics_listen");
  options.ready_file = settings.text("ready_file");
  options.log = app::log_options(settings, "cupel-worker");
  options.module_proxy = settings.text("module_proxy");
  options.checksum_database = settings.text("checksum_database");
  options.fixture_proxy = settings.text("fixture_proxy");
  options.ca_bundle = settings.text("ca_bundle");
  if (options.ca_bundle.empty()) {
    if (const char* bundle = std::getenv("SSL_CERT_FILE"); bundle != nullptr)
      options.ca_bundle = bundle;
  }
  options.git_credentials_file = settings.text("git_credentials_file");
  options.netrc_file = settings.text("netrc_file");
  options.egress = settings.text("egress");
  options.egress_proxy = settings.text("egress_proxy");
  if (const auto fits = check_egress_proxy(options); !fits) return fits.error();
  options.allow_local_sources = settings.flag("allow_local_sources");
  options.allowed_sources = settings.list("allowed_sources");
  const auto unsigned_of = [&](const char* name) {
    return static_cast<std::uint64_t>(settings.number(name));
  };
  options.disk_reserve_bytes = app::disk_reserve(settings);
  options.inode_reserve = unsigned_of("inode_reserve");
  options.outbox_reserve_bytes = unsigned_of("outbox_reserve");
  options.modcache_bytes_max = unsigned_of("modcache_max");
  options.modcache_inodes_max = unsigned_of("modcache_inodes_max");
  options.gocache_bytes_max = unsigned_of("gocache_max");
  options.gocache_inodes_max = unsigned_of("gocache_inodes_max");
  options.workspaces_bytes_max = unsigned_of("workspaces_max");
  options.workspaces_count_max = unsigned_of("workspaces_count_max");
  options.download_cache_bytes_max = unsigned_of("download_cache_bytes_max");
  options.dependency_seeds_bytes_max = unsigned_of("dependency_seeds_bytes_max");
  options.drain_limit = settings.duration("drain_limit");
  options.reap_period = settings.duration("reap_period");
  options.reap_grace = settings.duration("reap_grace");
  options.post_run = settings.duration("post_run");
  options.engine_budgets = engine_budgets_of(settings);
  options.bounds.limits_max = {
      .cpu_millis = static_cast<std::uint32_t>(unsigned_of("max_cpus") * 1000),
      .memory_bytes = unsigned_of("max_memory"),
      .pids = static_cast<std::uint32_t>(unsigned_of("max_pids")),
      .tmp_bytes = unsigned_of("max_tmp"),
      .output_bytes = unsigned_of("max_output")};
  options.bounds.task_seconds_max = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(settings.duration("max_task")).count());
  return options;
}

}  // namespace cupel::worker
