#include "coordinator/app/options.hpp"

#include "common/app/settings.hpp"
#include "common/fs/files.hpp"

#include <array>
#include <unistd.h>
#include <utility>

namespace cupel::coordinator {
namespace {

using config::Type;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data())
                                                          : "coordinator";
}

void add_store_settings(config::Schema& schema) {
  schema.add({.name = "store",
              .sentence =
                  "Where everything is recorded: sqlite:PATH, or the URL of a PostgreSQL database, "
                  "without a password; then a second coordinator may stand by; default: store.db "
                  "in data_dir",
              .fallback = "",
              .example = "postgresql://cupel@db.example.com/cupel?sslmode=verify-full"});
  schema.add({.name = "store_password_file",
              .type = Type::secret_file,
              .sentence = "The password of the database's user, on one line",
              .example = "/etc/cupel/store.password"});
  schema.add({.name = "shared_dir",
              .type = Type::path,
              .sentence = "Artifacts and plans; a coordinator that stands by needs the same; "
                          "default: data_dir",
              .example = "/srv/cupel-shared"});
  schema.add({.name = "name",
              .sentence = "How the other coordinator of a pair calls this one; default: the host "
                          "name",
              .example = "coordinator-a"});
  schema.add({.name = "leader_lease_ms",
              .type = Type::number,
              .sentence = "How long a coordinator that stands still keeps the lead; each renews "
                          "five times in that time",
              .unit = "milliseconds",
              .fallback = "5000",
              .min = 1'000,
              .max = 60'000});
}

Result<sql::StoreLocation> store_of(const config::Settings& settings, const std::string& data_dir) {
  std::string password;
  if (settings.is_set("store_password_file")) {
    constexpr std::uint64_t kPasswordBytesMax = 4096;
    const std::string file = settings.text("store_password_file");
    auto text = cupel::fs::read_secret(file, kPasswordBytesMax);
    if (!text) return text.error();
    password = text->substr(0, text->find_first_of("\r\n"));
    if (password.empty()) {
      return config::unfit("store_password_file", "the file " + file + " holds no password");
    }
  }
  return sql::parse_store_location(settings.text("store"), data_dir + "/store.db",
                                   std::move(password));
}

Duration milliseconds_of(const config::Settings& settings, std::string_view name) {
  return std::chrono::milliseconds(settings.number(name));
}

}  // namespace

config::Schema settings_schema() {
  config::Schema schema("cupel-coordinator", "CUPEL_COORDINATOR",
                        "Plans campaigns, leases their tasks to workers and keeps the results.");
  schema.default_file("/etc/cupel/coordinator.yaml");
  schema.default_file("/etc/cupel/coordinator.d");
  schema.rule_of(options_from);
  schema.add({.name = "data_dir",
              .type = Type::path,
              .sentence = "Store, artifacts, plans and secrets; made 0700",
              .fallback = "/var/lib/cupel/coordinator",
              .example = "/srv/cupel/coordinator"});
  add_store_settings(schema);
  schema.add({.name = "listen",
              .sentence = "Address of the HTTP API and of /metrics; port 0 takes a free one",
              .fallback = "127.0.0.1:8080",
              .example = "0.0.0.0:8080"});
  schema.add({.name = "control",
              .sentence = "Address of the control plane, where workers get their tasks",
              .fallback = "tcp://127.0.0.1:7401",
              .example = "tcp://0.0.0.0:7401"});
  schema.add({.name = "bulk",
              .sentence = "Address of the bulk plane, where workers send and fetch artifacts",
              .fallback = "tcp://127.0.0.1:7402",
              .example = "tcp://0.0.0.0:7402"});
  schema.add(
      {.name = "key_file",
       .type = Type::secret_file,
       .sentence = "The coordinator's key pair; default: made in data_dir at the first start",
       .example = "/etc/cupel/coordinator.key"});
  schema.add(
      {.name = "trusted_keys",
       .type = Type::path,
       .sentence = "The workers that may connect; read again when it changes; default: in data_dir",
       .example = "/etc/cupel/trusted_keys",
       .reloadable = true});
  schema.add(
      {.name = "token_file",
       .type = Type::secret_file,
       .sentence =
           "Tokens of the API, one a line: TOKEN [NAME [SCOPE,SCOPE]]; made at the first start; "
           "default: in data_dir",
       .example = "/etc/cupel/token"});
  app::add_ready_file(schema,
                      "Written when everything listens: JSON with the addresses and the public key",
                      "/run/cupel/coordinator.json");
  app::add_log_settings(schema);
  schema.add({.name = "vulndb",
              .sentence =
                  "Vulnerability database of campaigns that scan and name none: a folder, a "
                  ".zip or .tar file, or the URL of one",
              .fallback = "",
              .example = "/srv/vulndb"});
  schema.add({.name = "heartbeat_ms",
              .type = Type::number,
              .sentence = "How often a worker must say that it lives",
              .unit = "milliseconds",
              .fallback = "2000",
              .min = 100,
              .max = 60'000});
  schema.add({.name = "lease_ms",
              .type = Type::number,
              .sentence = "How long a task belongs to a silent worker",
              .unit = "milliseconds",
              .fallback = "30000",
              .min = 500,
              .max = 3'600'000});
  schema.add({.name = "max_task",
              .type = Type::duration,
              .sentence = "Longest time of one attempt, whatever its campaign allows",
              .fallback = "24h",
              .min = 100});
  schema.add(
      {.name = "holder_grace_ms",
       .type = Type::number,
       .sentence =
           "How long the worker that has a workspace may be away before its repository is fetched "
           "by another",
       .unit = "milliseconds",
       .fallback = "120000",
       .min = 0,
       .max = 86'400'000});
  schema.add({.name = "backoff_ms",
              .type = Type::number,
              .sentence = "Pause before a task that ended badly runs again; doubles each time",
              .unit = "milliseconds",
              .fallback = "2000",
              .min = 0,
              .max = 300'000});
  schema.add({.name = "quarantine_ms",
              .type = Type::number,
              .sentence = "How long a worker that fails by its own doing again and again waits for "
                          "its probe; doubles with each probe that fails",
              .unit = "milliseconds",
              .fallback = "60000",
              .min = 100,
              .max = 86'400'000});
  schema.add({.name = "quarantine_failures",
              .type = Type::number,
              .sentence = "So many failures of a worker's own within quarantine_window put it into "
                          "quarantine",
              .fallback = "5",
              .min = 1,
              .max = 10'000});
  schema.add({.name = "quarantine_percent",
              .type = Type::number,
              .sentence = "And only if they are at least this share of its attempts in that time",
              .unit = "percent",
              .fallback = "50",
              .min = 1,
              .max = 100});
  schema.add({.name = "quarantine_window",
              .type = Type::duration,
              .sentence = "How far back a worker's failures count",
              .fallback = "10m",
              .min = 1000});
  app::add_disk_reserve(schema, "Space that artifacts must leave free for the store", "256MiB");
  schema.add({.name = "keep_events",
              .type = Type::duration,
              .sentence = "Age at which events of finished campaigns are removed; 0 = never",
              .fallback = "720h",
              .min = 0});
  schema.add({.name = "keep_artifacts",
              .type = Type::duration,
              .sentence = "Age at which logs and sources that no open campaign needs are removed; "
                          "0 = never",
              .fallback = "720h",
              .min = 0});
  schema.add({.name = "retention_period",
              .type = Type::duration,
              .sentence = "How often old events and artifacts are looked for",
              .fallback = "1h",
              .min = 100});
  return schema;
}

Result<Options> options_from(const config::Settings& settings) {
  Options options;
  options.data_dir = settings.text("data_dir");
  auto store = store_of(settings, options.data_dir);
  if (!store) return store.error();
  options.store = *std::move(store);
  options.shared_dir =
      settings.is_set("shared_dir") ? settings.text("shared_dir") : options.data_dir;
  options.name = settings.is_set("name") ? settings.text("name") : host_name();
  options.leader_lease = milliseconds_of(settings, "leader_lease_ms");
  options.listen = settings.text("listen");
  options.control = settings.text("control");
  options.bulk = settings.text("bulk");
  const auto in_data_dir = [&](std::string_view name, const char* file) {
    return settings.is_set(name) ? settings.text(name) : options.data_dir + "/" + file;
  };
  options.key_file = in_data_dir("key_file", "coordinator.key");
  options.make_key = !settings.is_set("key_file");
  options.trusted_keys = in_data_dir("trusted_keys", "trusted_keys");
  options.token_file = in_data_dir("token_file", "token");
  options.vulndb = settings.text("vulndb");
  options.ready_file = settings.text("ready_file");
  options.log = app::log_options(settings, "cupel-coordinator");
  options.reserve_bytes = app::disk_reserve(settings);
  options.retention = {.events = settings.duration("keep_events"),
                       .artifacts = settings.duration("keep_artifacts"),
                       .period = settings.duration("retention_period")};
  options.machine.heartbeat = milliseconds_of(settings, "heartbeat_ms");
  options.machine.lease = milliseconds_of(settings, "lease_ms");
  options.machine.task_max = settings.duration("max_task");
  options.machine.holder_grace = milliseconds_of(settings, "holder_grace_ms");
  options.machine.backoff_first = milliseconds_of(settings, "backoff_ms");
  options.machine.quarantine = milliseconds_of(settings, "quarantine_ms");
  options.machine.quarantine_failures =
      static_cast<std::uint32_t>(settings.number("quarantine_failures"));
  options.machine.quarantine_percent =
      static_cast<std::uint32_t>(settings.number("quarantine_percent"));
  options.machine.quarantine_window = settings.duration("quarantine_window");
  if (options.machine.lease < 2 * options.machine.heartbeat) {
    return config::unfit("lease_ms",
                         "must be at least twice heartbeat_ms: a worker renews by its heartbeats");
  }
  return options;
}

}  // namespace cupel::coordinator
