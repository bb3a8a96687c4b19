#include "cli/app/commands.hpp"
#include "cli/app/connection.hpp"
#include "cli/app/local_fleet.hpp"
#include "cli/core/exit_codes.hpp"
#include "common/campaign/schema.hpp"
#include "common/config/config.hpp"
#include "common/fs/files.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <unistd.h>

namespace cupel::cli {
namespace {

constexpr const char* kCampaignTemplate =
    R"(# A campaign of Cupel. Every key is described in docs/campaign-file.md.
apiVersion: cupel/v1
kind: Campaign
name: first

repositories:
  - file: repos.txt          # one source a line
  # - git: https://git.example.com/team/service.git
  #   ref: main
  # - module: golang.org/x/text@v0.21.0
  # - path: ../service       # a folder of this machine

change: {none: {}}           # plain validation

validate:
  build: {enabled: true}
  vet: {enabled: true}
  test:
    timeout: 10m

sandbox:
  image: auto                # from each module's go directive
  limits: {cpus: 2, memory: 2GiB}

gate:
  fail_on: [failing, refused]
  max_inconclusive_ratio: 0.05
)";

constexpr const char* kReposTemplate =
    R"(# One source a line: a git URL, a folder (./dir or /dir), or a published module (MODULE@VERSION).
# An optional second word is the branch, tag or commit.
golang.org/x/text@v0.21.0
)";

constexpr const char* kVerdicts =
    R"(Verdicts. Every unit gets exactly one, so the counts of a report add up.

  passing        list, build, vet and test all passed, and that is proven
  failing        at least one check failed, with a finding that explains it
  inconclusive   neither is proven: a timeout, a limit, truncated output, a fault of the fleet; the reason says which
  refused        the content can't be run safely, or not by this fleet; the reason says why
  cancelled      the campaign was cancelled, or its deadline passed
)";

}  // namespace

int run_init(const Request& request, Console& console) {
  const std::filesystem::path dir = request.directory;
  std::error_code failure;
  std::filesystem::create_directories(dir, failure);
  if (failure)
    return fail(console,
                {Errc::io_error, "can't make " + dir.string() + ": " + failure.message(), "", ""});
  for (const auto& [name, text] :
       {std::pair("campaign.yaml", kCampaignTemplate), std::pair("repos.txt", kReposTemplate)}) {
    const auto written = fs::create_file_durably(dir / name, text, 0644);
    if (!written) return fail(console, written.error());
    console.say("wrote " + (dir / name).string());
  }
  console.say(
      "next: put your repositories into repos.txt, then 'cupel check' and 'cupel run --local'");
  return kExitDone;
}

int run_config(const Request& request, Console& console) {
  if (request.verb == Verb::config_schema) {
    console.out(campaign::json_schema());
    return kExitDone;
  }
  const ClientSettings settings = client_settings(request.globals);
  if (!settings.faults.empty()) {
    console.diagnostics(settings.faults);
    return kExitUsage;
  }
  if (request.verb == Verb::config_check) {
    console.out("configuration is valid\n");
    return kExitDone;
  }
  const auto line = [&request](const char* name, const ClientSetting& setting) {
    return std::string(name) + (setting.value.empty() ? "-" : setting.value) +
           (request.repos ? "  (" + setting.origin + ")" : "") + "\n";
  };
  console.out(line("server      ", settings.server) + line("token_file  ", settings.token_file) +
              line("ca_file     ", settings.ca_file));
  return kExitDone;
}

int run_sandbox(const Request& request) {
  return run_sandbox_command(request.sandbox, config::process_environment(), std::cout, std::cerr);
}

int run_image(const Request& request) {
  ImageRequest image = request.image;
  image.state_dir = state_home();
  image.environment = config::process_environment();
  return run_image_command(std::move(image), std::cout, std::cerr);
}

int run_help(const Request& request, Console& console) {
  if (request.subject == "exit-codes") {
    console.out(exit_codes_help());
    return kExitDone;
  }
  if (request.subject == "verdicts") {
    console.out(kVerdicts);
    return kExitDone;
  }
  if (request.subject.empty()) {
    console.out(
        "Topics: cupel help exit-codes, cupel help verdicts. Commands: cupel --help, cupel COMMAND "
        "--help.\n");
    return kExitDone;
  }
  return fail(console, {Errc::usage, "there is no help on \"" + request.subject + "\"", "",
                        "topics: exit-codes, verdicts"});
}

}  // namespace cupel::cli
