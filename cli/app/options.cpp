#include "cli/app/options.hpp"

#include "cli/core/report_data.hpp"
#include "common/text/units.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>

namespace cupel::cli {
namespace {

const char* const kFooter =
    "Exit codes: cupel help exit-codes. Results go to standard output, everything else to standard "
    "error.";

std::string duration_check(const std::string& text) {
  return text::parse_duration(text) ? ""
                                    : "\"" + text + "\" is not a duration such as 90s or 1h30m";
}

class Builder {
 public:
  Builder(CLI::App& app, Request& request) : app_(app), r_(request) {}

  void build() {
    app_.name("cupel");
    app_.require_subcommand(1);
    app_.footer(kFooter);
    globals();
    authoring();
    running();
    reading();
    operating();
    meta();
  }

 private:
  CLI::App* verb(CLI::App& parent, const char* name, const char* text, Verb verb) {
    CLI::App* command = parent.add_subcommand(name, text);
    command->fallthrough();
    if (verb != Verb::none) {
      // The builder is gone when the line is parsed; the request is not.
      command->callback([request = &r_, verb] { request->verb = verb; });
    } else {
      command->require_subcommand(1);
    }
    return command;
  }

  void globals() {
    Globals& g = r_.globals;
    app_.add_option("--server", g.server,
                    "Coordinator, http://HOST:PORT or https://... (CUPEL_SERVER)");
    app_.add_option("--token-file", g.token_file, "File with the bearer token (CUPEL_TOKEN_FILE)");
    app_.add_option("--ca-file", g.ca_file,
                    "Authorities for https, PEM; default the system's (CUPEL_CA_FILE)");
    app_.add_option("--format", g.format, "text, json or ndjson")
        ->check(CLI::IsMember({"text", "json", "ndjson"}));
    app_.add_flag_callback("--json", [&g] { g.format = "json"; }, "Same as --format json");
    app_.add_flag("-q,--quiet", g.quiet, "No progress and no messages, only results and errors");
    app_.add_flag("--no-color", g.no_color, "No colours (also NO_COLOR)");
    app_.add_option("--progress", g.progress, "auto, plain (a line for each unit) or none")
        ->check(CLI::IsMember({"auto", "plain", "none"}));
    app_.add_option("--timeout", g.timeout, "Stop waiting after this time; exit code 8")
        ->check(CLI::Validator(duration_validator, "DURATION"));
  }

  static std::string duration_validator(std::string& text) { return duration_check(text); }

  void local_options(CLI::App* command, bool whole) {
    command->add_flag("--local", r_.local.enabled,
                      "With a coordinator of this machine's own, started for this command");
    if (!whole) return;
    LocalOptions& local = r_.local;
    command->add_option("--workers", local.workers, "Local workers")->check(CLI::Range(1, 64));
    command->add_option("--slots", local.slots, "Tasks at once of each local worker")
        ->check(CLI::Range(1, 256));
    engine_option(command);
    command->add_option("--engine-socket", local.engine_socket,
                        "Engine's socket for local workers");
    command->add_option("--data-dir", local.data_dir, "Data directory of local workers");
    command->add_option("--worker-config", local.worker_config, "More settings of local workers")
        ->check(CLI::ExistingFile);
    command
        ->add_option("--coordinator-config", local.coordinator_config,
                     "More settings of the local coordinator")
        ->check(CLI::ExistingFile);
  }

  void engine_option(CLI::App* command) {
    command
        ->add_option("--engine", r_.local.engine,
                     "What runs runs: docker, or bubblewrap without any daemon")
        ->check(CLI::IsMember({"docker", "bubblewrap"}));
    command->add_option("--image-dir", r_.local.image_dir, "Folder of bubblewrap's images");
  }

  void file_option(CLI::App* command) {
    command->add_option("-f,--file", r_.file, "Campaign file; - = standard input");
  }
  void campaign_argument(CLI::App* command) {
    command->add_option("campaign", r_.campaign, "Its id, c-...")->required();
  }
  void report_options(CLI::App* command) {
    command->add_option("--report-dir", r_.report_dir,
                        "Where report.md and report.json go; default cupel-reports/CAMPAIGN");
    command->add_flag("--exit-zero", r_.exit_zero,
                      "Exit 0 whatever the gate says, once the report exists");
  }

  void authoring() {
    CLI::App* init = verb(app_, "init", "Write a campaign file to begin with", Verb::init);
    init->add_option("directory", r_.directory, "Where; default here");
    CLI::App* check = verb(app_, "check", "Check a campaign file, without network", Verb::check);
    file_option(check);
    CLI::App* plan = verb(app_, "plan", "Store a campaign as a plan, run nothing", Verb::plan);
    file_option(plan);
    plan->add_flag("--repos", r_.repos, "List the repositories");
    plan->add_option("-o,--output", r_.output, "Write the plan as JSON; - = standard output");
    local_options(plan, false);
  }

  void running() {
    CLI::App* run = verb(app_, "run", "Run a campaign and wait for its verdicts", Verb::run);
    file_option(run);
    run->add_option("--plan", r_.plan, "A stored plan instead of a file");
    run->add_option("--name", r_.name, "Another name for the campaign");
    run->add_option("--aa", r_.aa,
                    "Run the unchanged side of this many repositories once more, to know how much "
                    "tests flicker")
        ->check(CLI::Range(0, 100'000));
    run->add_flag_callback(
        "--wait", [request = &r_] { request->detach = false; }, "Wait for the end (the default)");
    run->add_flag("--detach", r_.detach, "Print the id and return");
    run->add_flag("-n,--dry-run", r_.dry_run, "Check the file, submit nothing");
    report_options(run);
    local_options(run, true);
    CLI::App* watch = verb(app_, "watch", "Attach to a running campaign", Verb::watch);
    campaign_argument(watch);
    report_options(watch);
    CLI::App* retry =
        verb(app_, "retry", "Ask again for units that ended in certain ways", Verb::retry);
    campaign_argument(retry);
    retry->add_option("--only", r_.verdicts, "Verdicts, separated by commas")
        ->delimiter(',')
        ->check(CLI::IsMember(verdict_words()))
        ->required();
    retry->add_flag("--detach", r_.detach, "Print the id and return");
    report_options(retry);
    local_options(retry, true);
    CLI::App* cancel = verb(app_, "cancel", "Cancel a campaign", Verb::cancel);
    campaign_argument(cancel);
    CLI::App* campaign = verb(app_, "campaign", "Campaigns of the fleet", Verb::none);
    CLI::App* list = verb(*campaign, "ls", "List them, the newest first", Verb::campaign_ls);
    list->add_option("--state", r_.state, "running, paused, finished or cancelled")
        ->check(CLI::IsMember({"running", "paused", "finished", "cancelled"}));
    campaign_argument(verb(*campaign, "pause", "Start no more of its tasks; running ones end",
                           Verb::campaign_pause));
    campaign_argument(verb(*campaign, "resume", "Start its tasks again", Verb::campaign_resume));
    campaign_argument(verb(*campaign, "cancel", "The same as 'cupel cancel'", Verb::cancel));
  }

  void reading() {
    CLI::App* results = verb(app_, "results", "The verdicts of a campaign", Verb::results);
    campaign_argument(results);
    results->add_option("--verdict", r_.verdicts, "Only these, separated by commas")
        ->delimiter(',')
        ->check(CLI::IsMember(verdict_words()));
    results->add_option("--repo", r_.repo_glob, "Only repositories that match the glob");
    results->add_option("-o,--output", r_.output, "repos: names only")
        ->check(CLI::IsMember({"repos"}));
    local_options(results, false);
    CLI::App* flakes =
        verb(app_, "flakes", "What comes and goes, counted over all campaigns", Verb::flakes);
    flakes->add_option("--repository", r_.repo_glob, "Only of this URL, folder or module");
    local_options(flakes, false);
    CLI::App* logs = verb(app_, "logs", "Output of a unit's check", Verb::logs);
    campaign_argument(logs);
    logs->add_option("unit", r_.subject,
                     "Unit, repository or module (or a part of its name), or a task t-...")
        ->required();
    logs->add_option("--check", r_.check, "list, build, vet, test or a check of your own");
    logs->add_option("--stream", r_.stream, "stdout or stderr; else what there is")
        ->check(CLI::IsMember({"stdout", "stderr"}));
    logs->add_flag("-f,--follow", r_.follow, "Go on until the task ends");
    logs->add_flag("--raw", r_.raw, "The bytes as they were written: events of 'go test -json'");
    local_options(logs, false);
    CLI::App* report = verb(app_, "report", "Write a report", Verb::report);
    campaign_argument(report);
    report->add_option("--as", r_.report_format, "json, ndjson, markdown or junit")
        ->check(CLI::IsMember({"json", "ndjson", "markdown", "junit"}));
    report->add_option("-o,--output", r_.output, "File; - = standard output");
    report->add_option("--max-bytes", r_.bytes_max,
                       "markdown: leave sections out above this; 0 = no limit");
    local_options(report, false);
    CLI::App* patches = verb(app_, "patches", "Write the patches of a campaign", Verb::patches);
    campaign_argument(patches);
    patches->add_option("-o,--output", r_.output, "Folder; default patches");
    local_options(patches, false);
    CLI::App* reproduce =
        verb(app_, "reproduce", "Commands that repeat a unit's runs by hand", Verb::reproduce);
    campaign_argument(reproduce);
    reproduce->add_option("unit", r_.subject, "Unit, repository or module")->required();
    reproduce->add_option("--side", r_.side, "before or after")
        ->check(CLI::IsMember({"before", "after"}));
    local_options(reproduce, false);
  }

  void operating() {
    CLI::App* doctor =
        verb(app_, "doctor", "Check this machine and the coordinator, with hints", Verb::doctor);
    doctor->add_option("part", r_.subject, "client, coordinator or worker; default all")
        ->check(CLI::IsMember({"client", "coordinator", "worker"}));
    engine_option(doctor);
    doctor->add_option("--engine-socket", r_.local.engine_socket, "The engine's socket");
    doctor->add_option(
        "--runtime", r_.local.runtimes,
        "A runtime that the engine must know (the worker's setting runtimes); may be "
        "repeated");
    keys();
    CLI::App* why = verb(app_, "why", "What a campaign, a unit or a task waits for", Verb::why);
    why->add_option("id", r_.subject, "A campaign, c-..., a unit, u-..., or a task, t-...")
        ->required();
    letters();
    CLI::App* worker = verb(app_, "worker", "The fleet's workers", Verb::none);
    verb(*worker, "ls", "List them", Verb::worker_ls);
    const auto order = [&](const char* name, const char* text, Verb what) {
      CLI::App* command = verb(*worker, name, text, what);
      command->add_option("worker", r_.subject, "Its id, w-..., or its name");
      command->add_option("--label", r_.labels,
                          "Instead of a worker: all with key=value; may be repeated, all must fit");
      return command;
    };
    CLI::App* drain = order("drain", "Give a worker no new tasks", Verb::worker_drain);
    drain->add_option("--deadline", r_.deadline, "Then what still runs is given back, uncharged")
        ->check(CLI::Validator(duration_validator, "DURATION"));
    order("undrain", "Give it tasks again", Verb::worker_undrain);
    CLI::App* quarantine =
        order("quarantine", "Give a worker no tasks until it is released", Verb::worker_quarantine);
    quarantine->add_option("--why", r_.why, "A note for people");
    CLI::App* release =
        order("release", "Out of quarantine, once a probe passes", Verb::worker_release);
    release->add_flag("--without-probe", r_.without_probe, "At once, untested");
    CLI::App* image = app_.add_subcommand("image", "Toolchain images of this machine's engine");
    image->fallthrough();
    add_image_commands(*image, r_.image);
    image->callback([request = &r_] { request->verb = Verb::image; });
    CLI::App* sandbox = app_.add_subcommand(
        "sandbox", "Run a command in this project, with the rest of the machine out of its reach");
    sandbox->fallthrough();
    add_sandbox_commands(*sandbox, r_.sandbox);
    sandbox->callback([request = &r_] { request->verb = Verb::sandbox; });
  }

  void letters() {
    CLI::App* letter = verb(app_, "deadletter", "Tasks that were given up", Verb::none);
    CLI::App* list = verb(*letter, "ls", "List them with their evidence", Verb::deadletter_ls);
    list->add_option("campaign", r_.campaign, "Only those of c-...");
    list->add_option("--state", r_.state, "open (the default), replayed, dropped or all")
        ->check(CLI::IsMember({"open", "replayed", "dropped", "all"}));
    const char* which = "A task, t-..., or a campaign, c-...: all of its open ones";
    verb(*letter, "replay", "Ask again, with a fresh budget; the verdict follows",
         Verb::deadletter_replay)
        ->add_option("id", r_.subject, which)
        ->required();
    verb(*letter, "drop", "Leave the verdict as it is and list it no more", Verb::deadletter_drop)
        ->add_option("id", r_.subject, which)
        ->required();
  }

  void keys() {
    CLI::App* key = verb(app_, "key", "Keys of coordinator and workers", Verb::none);
    CLI::App* generate = verb(*key, "generate", "Make a key pair", Verb::key_generate);
    generate
        ->add_option("file", r_.key_file,
                     "Secret file to make (0600); the public half goes to FILE.pub")
        ->required();
    CLI::App* show = verb(*key, "show", "Print the public half", Verb::key_show);
    show->add_option("file", r_.key_file, "Secret or public file")->required();
    CLI::App* trust = verb(*key, "trust", "Admit a worker's key", Verb::key_trust);
    trust->add_option("name", r_.name, "The worker's name")->required();
    trust->add_option("key", r_.key, "Its public key (40 characters) or its public file")
        ->required();
    trust->add_option("--list", r_.trust_file, "The coordinator's list of trusted keys")
        ->required();
    trust->add_option("--label", r_.labels, "key=value, may be repeated");
    CLI::App* revoke = verb(*key, "revoke", "Take a worker's key off the list", Verb::key_revoke);
    revoke->add_option("name", r_.name, "The worker's name, or its key")->required();
    revoke->add_option("--list", r_.trust_file, "The coordinator's list of trusted keys")
        ->required();
  }

  void meta() {
    CLI::App* config = verb(app_, "config", "Settings of the client", Verb::none);
    verb(*config, "schema", "JSON Schema of the campaign file", Verb::config_schema);
    CLI::App* show = verb(*config, "show", "Settings of the client", Verb::config_show);
    show->add_flag("--origin", r_.repos, "With where each comes from");
    verb(*config, "check", "Check the client's settings", Verb::config_check);
    CLI::App* completion =
        verb(app_, "completion", "Completion script of a shell", Verb::completion);
    completion->add_option("shell", r_.subject, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    verb(app_, "version", "Version of this program", Verb::version);
    CLI::App* help = verb(app_, "help", "Help on a topic", Verb::help);
    help->add_option("topic", r_.subject, "exit-codes, verdicts");
  }

  CLI::App& app_;
  Request& r_;
};

}  // namespace

void add_commands(CLI::App& app, Request& request) {
  Builder(app, request).build();
}

}  // namespace cupel::cli
