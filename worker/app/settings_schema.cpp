// Which settings a worker has.
#include "common/app/settings.hpp"
#include "common/text/units.hpp"
#include "worker/app/options.hpp"

namespace cupel::worker {
namespace {

using config::Type;

void add_connection(config::Schema& schema) {
  schema.add({.name = "data_dir",
              .type = Type::path,
              .sentence = "Everything the worker keeps; made 0700",
              .fallback = "/var/lib/cupel/worker",
              .example = "/srv/cupel/worker"});
  schema.add({.name = "name",
              .sentence = "How people call this worker; default: the host name",
              .example = "w-1"});
  schema.add({.name = "coordinator_control",
              .sentence = "Address of the coordinator's control plane; of a pair both, separated "
                          "by a comma",
              .required = true,
              .example = "tcp://coordinator.example.com:7401"});
  schema.add(
      {.name = "coordinator_bulk",
       .sentence = "Address of the coordinator's bulk plane; of a pair both, in the same order",
       .required = true,
       .example = "tcp://coordinator.example.com:7402"});
  schema.add({.name = "coordinator_key",
              .sentence =
                  "The coordinator's public key ('cupel key show'); of a pair that doesn't share "
                  "one, both",
              .required = true,
              .example = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"});
  schema.add({.name = "key_file",
              .type = Type::secret_file,
              .sentence = "This worker's key pair",
              .required = true,
              .example = "/etc/cupel/worker.key"});
  schema.add({.name = "metrics_listen",
              .sentence = "Address of /metrics and /-/ready; empty: none",
              .fallback = "127.0.0.1:9464",
              .example = "0.0.0.0:9464"});
  app::add_ready_file(schema, "Written when the worker takes tasks", "/run/cupel/worker.json");
  app::add_log_settings(schema);
}

void add_engine(config::Schema& schema) {
  schema.add(
      {.name = "seed_dir",
       .type = Type::path,
       .sentence =
           "Seeds of build caches; workers of one host may share it; default: below data_dir",
       .example = "/srv/cupel/seeds"});
  schema.add(
      {.name = "post_run",
       .type = Type::duration,
       .sentence = "Time for the calls after a run, from its limit to its container's deadline",
       .fallback = "150s",
       .min = 1000,
       .max = 3600000});
  schema.add({.name = "engine",
              .sentence = "What runs runs: docker (an engine with its interface behind "
                          "engine_socket) or bubblewrap (no daemon; docs/security.md says what it "
                          "can't hold)",
              .fallback = "docker",
              .choices = {"docker", "bubblewrap"}});
  schema.add({.name = "image_dir",
              .type = Type::path,
              .sentence = "Toolchain images of engine bubblewrap ('cupel image build --engine "
                          "bubblewrap'); default: images below data_dir",
              .example = "/srv/cupel/images"});
  schema.add({.name = "engine_socket",
              .type = Type::path,
              .sentence = "Unix socket of the container engine",
              .fallback = "/var/run/docker.sock"});
  schema.add({.name = "runtimes",
              .type = Type::list,
              .sentence = "Engine runtimes other than its default, as PROFILE=RUNTIME; profiles: "
                          "acquire, mutate, execute, tool (docs/operations.md, gVisor)",
              .example = "execute=runsc"});
  schema.add({.name = "wrapper",
              .type = Type::path,
              .sentence =
                  "The static program that is PID 1 in every container; default: cupel-init beside "
                  "this program, or in ../libexec/cupel"});
  schema.add({.name = "slots",
              .type = Type::number,
              .sentence = "Tasks at once; 0: from cores and memory",
              .unit = "slots",
              .fallback = "0",
              .min = 0,
              .max = 256,
              .example = "4"});
  schema.add({.name = "reap_period",
              .type = Type::duration,
              .sentence = "How often leftovers are looked for",
              .fallback = "1m",
              .min = 1000,
              .max = 3600000});
  schema.add({.name = "reap_grace",
              .type = Type::duration,
              .sentence = "How long past its deadline a lost worker's container is left alone",
              .fallback = "1m",
              .min = 0,
              .max = 3600000});
  schema.add({.name = "drain_limit",
              .type = Type::duration,
              .sentence = "How long running tasks may go on after TERM before they are given back",
              .fallback = "30m",
              .min = 0,
              .max = 86400000});
}

void add_engine_budgets(config::Schema& schema) {
  const docker::EngineBudgets fallbacks;
  for (const docker::NamedBudget& budget : docker::kNamedBudgets) {
    schema.add({.name = engine_budget_setting(budget),
                .type = Type::duration,
                .sentence = "Limit of an engine call: " + std::string(budget.sentence),
                .fallback = text::format_duration(fallbacks.*budget.time),
                .min = 100,
                .max = 3600000});
  }
}

void add_sources(config::Schema& schema) {
  schema.add(
      {.name = "module_proxy",
       .sentence =
           "GOPROXY for acquire; default: the environment's, else the go command's; 'direct' "
           "and 'off' are dropped",
       .example = "https://proxy.example.com"});
  schema.add({.name = "checksum_database", .sentence = "GOSUMDB for acquire; default likewise"});
  schema.add(
      {.name = "fixture_proxy",
       .type = Type::path,
       .sentence =
           "Directory of a file proxy that replaces network and checksum database: for tests"});
  schema.add({.name = "ca_bundle",
              .type = Type::path,
              .sentence =
                  "CA certificates for the runs that use the network; default: SSL_CERT_FILE, "
                  "else the host's own"});
  schema.add({.name = "git_credentials_file",
              .type = Type::secret_file,
              .sentence = "Git credentials: lines 'https://user:secret@host/prefix'"});
  schema.add({.name = "netrc_file",
              .type = Type::secret_file,
              .sentence = "netrc with credentials for the module proxy; only acquire runs see it"});
  schema.add({.name = "egress",
              .sentence = "Runs with a network reach the module proxy and nothing else: auto (the "
                          "host enforces it where it can), enforced (or no such run), configured",
              .fallback = "auto",
              .choices = {"auto", "enforced", "configured"}});
  schema.add({.name = "egress_proxy",
              .sentence =
                  "Where runs find the worker's proxy: worker (at the address of an internal "
                  "network, behind rules of this host), container (in an exit container of "
                  "each run, as with an engine in a virtual machine), auto (worker where "
                  "this host can, else container)",
              .fallback = "auto",
              .choices = {"auto", "worker", "container"}});
  schema.add({.name = "allow_local_sources",
              .type = Type::flag,
              .sentence = "Accept file: URLs and loopback hosts as sources",
              .fallback = "false"});
  schema.add({.name = "allowed_sources",
              .type = Type::list,
              .sentence = "Hosts or URL prefixes that are accepted though they would be refused"});
}

void add_storage(config::Schema& schema) {
  app::add_disk_reserve(schema, "Below this much free disk no task is taken", "5GiB");
  schema.add({.name = "inode_reserve",
              .type = Type::number,
              .sentence = "Likewise for inodes",
              .fallback = "100000",
              .min = 0});
  schema.add({.name = "outbox_reserve",
              .type = Type::size,
              .sentence = "Disk kept for results",
              .fallback = "64MiB",
              .min = 0});
  schema.add({.name = "modcache_max",
              .type = Type::size,
              .sentence = "Budget of one unit's module cache",
              .fallback = "4GiB",
              .min = 1 << 20});
  schema.add({.name = "modcache_inodes_max",
              .type = Type::number,
              .sentence = "Likewise in files",
              .fallback = "500000",
              .min = 1000});
  schema.add({.name = "gocache_max",
              .type = Type::size,
              .sentence = "Budget of one build cache",
              .fallback = "8GiB",
              .min = 1 << 20});
  schema.add({.name = "gocache_inodes_max",
              .type = Type::number,
              .sentence = "Likewise in files",
              .fallback = "300000",
              .min = 1000});
  schema.add({.name = "workspaces_max",
              .type = Type::size,
              .sentence = "Snapshots and module caches kept; the oldest go first",
              .fallback = "50GiB",
              .min = 1 << 30});
  schema.add({.name = "workspaces_count_max",
              .type = Type::number,
              .sentence = "Repositories whose snapshots are kept; the oldest go first",
              .fallback = "5000",
              .min = 1});
  schema.add({.name = "download_cache_bytes_max",
              .type = Type::size,
              .sentence =
                  "Modules kept for all acquire runs, once the checksum database has proved "
                  "them; the least recently used go first; 0: none",
              .fallback = "5GiB",
              .min = 0});
  schema.add({.name = "dependency_seeds_bytes_max",
              .type = Type::size,
              .sentence =
                  "Compiled dependencies kept in seed_dir for campaigns that ask for them; the "
                  "least recently used go first; 0: none",
              .fallback = "10GiB",
              .min = 0});
}

void add_bounds(config::Schema& schema) {
  schema.add({.name = "max_cpus",
              .type = Type::number,
              .sentence = "Bound of a campaign's limits.cpus",
              .fallback = "16",
              .min = 1,
              .max = 256});
  schema.add({.name = "max_memory",
              .type = Type::size,
              .sentence = "Bound of limits.memory",
              .fallback = "16GiB",
              .min = 64 << 20});
  schema.add({.name = "max_pids",
              .type = Type::number,
              .sentence = "Bound of limits.pids",
              .fallback = "4096",
              .min = 16,
              .max = 100000});
  schema.add({.name = "max_tmp",
              .type = Type::size,
              .sentence = "Bound of limits.tmp",
              .fallback = "8GiB",
              .min = 1 << 20});
  schema.add({.name = "max_output",
              .type = Type::size,
              .sentence = "Bound of limits.output",
              .fallback = "64MiB",
              .min = 1 << 10});
  schema.add({.name = "max_task",
              .type = Type::duration,
              .sentence = "Longest time of one task",
              .fallback = "4h",
              .min = 1000});
}

}  // namespace

std::string engine_budget_setting(const docker::NamedBudget& budget) {
  return "engine_budgets." + std::string(budget.name);
}

config::Schema settings_schema() {
  config::Schema schema("cupel-worker", "CUPEL_WORKER",
                        "Runs the tasks of a Cupel coordinator in sandboxes of this machine.");
  schema.default_file("/etc/cupel/worker.yaml");
  schema.rule_of(options_from);
  add_connection(schema);
  add_engine(schema);
  add_engine_budgets(schema);
  add_sources(schema);
  add_storage(schema);
  add_bounds(schema);
  return schema;
}

}  // namespace cupel::worker
