#include "cli/sandbox/commands.hpp"
#include "common/text/units.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace cupel::cli {
namespace {

std::string check_size(std::string& text) {
  return text::parse_size(text) ? "" : "\"" + text + "\" is not a size such as 4GiB";
}
std::string check_duration(std::string& text) {
  return text::parse_duration(text) ? "" : "\"" + text + "\" is not a duration such as 30d or 12h";
}

}  // namespace

void add_sandbox_commands(CLI::App& app, SandboxRequest& request) {
  app.footer(
      "Ends with the command's own exit code (128 + n when signal n ended it), 124 when --timeout "
      "was over, 125 when the sandbox refused, failed or met a quota.");
  sandbox::WorkspaceRequest& workspace = request.workspace;
  app.add_option("command", workspace.command, "The command and its arguments, behind --");
  app.add_option("--project", workspace.project,
                 "The writable folder; default the nearest one above with .git, else this one");
  app.add_flag("--network", workspace.network, "The host's network; without it there is none");
  app.add_option("--allow-home", workspace.allow_home,
                 "A name below the home to show, read-only; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--read", workspace.read,
                 "Another absolute path to show, read-only; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--env", request.variables,
                 "NAME passes a variable on, NAME=VALUE sets one; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--cache-quota", request.cache_quota,
                 "Of the project's tool caches; default 20GiB")
      ->check(CLI::Validator(check_size, "SIZE"));
  app.add_option("--project-quota", request.project_quota,
                 "What the project may grow by; default 10GiB")
      ->check(CLI::Validator(check_size, "SIZE"));
  app.add_option("--tmp-size", request.tmp_size, "Of /tmp, in memory; default 1GiB")
      ->check(CLI::Validator(check_size, "SIZE"));
  app.add_option("--report", request.report_file,
                 "Write what was enforced and how it ended as JSON to this file");
  app.add_flag("-n,--dry-run", request.dry_run, "Say what would be enforced, run nothing");

  CLI::App* clean = app.add_subcommand("clean", "Empty the tool caches of a project");
  clean->fallthrough();
  clean->add_flag("--all", request.all, "Of every project");
  clean
      ->add_option("--unused-for", request.unused_for,
                   "Of every project whose caches were not used for so long")
      ->check(CLI::Validator(check_duration, "DURATION"));
  clean->callback([&request] { request.verb = SandboxRequest::Verb::clean; });
}

}  // namespace cupel::cli
