#include "cli/app/commands.hpp"
#include "cli/app/console.hpp"
#include "cli/app/request.hpp"
#include "cli/core/exit_codes.hpp"
#include "common/core/version.hpp"

#include <nlohmann/json.hpp>

#include <csignal>

namespace {

using namespace cupel;
using namespace cupel::cli;

int print_version(Console& console) {
  console.out(console.json() ? nlohmann::json{{"cupel", std::string(kVersion)}}.dump() + "\n"
                             : "cupel " + std::string(kVersion) + "\n");
  return kExitDone;
}

int dispatch(const Request& request, Console& console) {
  switch (request.verb) {
    case Verb::init: return run_init(request, console);
    case Verb::check: return run_check(request, console);
    case Verb::plan: return run_plan(request, console);
    case Verb::run: return run_campaign(request, console);
    case Verb::watch: return run_watch(request, console);
    case Verb::results: return run_results(request, console);
    case Verb::logs: return run_logs(request, console);
    case Verb::report: return run_report(request, console);
    case Verb::patches: return run_patches(request, console);
    case Verb::reproduce: return run_reproduce(request, console);
    case Verb::retry: return run_retry(request, console);
    case Verb::flakes: return run_flakes(request, console);
    case Verb::doctor: return run_doctor(request, console);
    case Verb::key_generate:
    case Verb::key_show:
    case Verb::key_trust:
    case Verb::key_revoke: return run_keys(request, console);
    case Verb::worker_ls:
    case Verb::worker_drain:
    case Verb::worker_undrain:
    case Verb::worker_quarantine:
    case Verb::worker_release: return run_worker(request, console);
    case Verb::why: return run_why(request, console);
    case Verb::deadletter_ls:
    case Verb::deadletter_replay:
    case Verb::deadletter_drop: return run_deadletter(request, console);
    case Verb::campaign_ls:
    case Verb::campaign_pause:
    case Verb::campaign_resume:
    case Verb::cancel: return run_campaign_order(request, console);
    case Verb::image: return run_image(request);
    case Verb::sandbox: return run_sandbox(request);
    case Verb::config_schema:
    case Verb::config_show:
    case Verb::config_check: return run_config(request, console);
    case Verb::completion: return console.out(completion_script(request.subject)), kExitDone;
    case Verb::version: return print_version(console);
    case Verb::help: return run_help(request, console);
    case Verb::none: break;
  }
  return kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const ParsedLine line = parse_line(argc, argv);
  if (!line.request) return line.exit_code;
  Console console(line.request->globals);
  return dispatch(*line.request, console);
}
