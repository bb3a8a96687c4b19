#include "common/campaign/grammar.hpp"

#include "common/campaign/grammar_keys.hpp"
#include "common/core/limits.hpp"
#include "common/core/outcome.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cupel::campaign {
namespace {

using namespace keys;

Key repositories() {
  Key key{.name = "repositories",
          .shape = Shape::sections,
          .sentence = "What is validated; each item has exactly one of git, module, path, file.",
          .items_max = kRepositoriesPerCampaignMax,
          .required = true};
  Key ref = text("ref", "Branch, tag or commit; empty = the default branch. Pinned when acquired.",
                 ref_rule);
  ref.shape = Shape::version;
  key.children = {
      text("git", "URL of a git repository.", git_url_rule),
      text("module", "A published module, MODULE@VERSION.", module_rule),
      text("path",
           "A folder on this machine, relative to this file; the client packs and uploads it.",
           path_rule),
      text("file",
           "A file with one source a line: URL, ./path or MODULE@VERSION, then an optional ref; "
           "'#' comments; '-' = standard input.",
           path_rule),
      std::move(ref),
      words("subdirs", "Folders with the go.mod files to take; empty = every go.mod found.",
            subdir_rule, 200),
      upgrade_targets("upgrade", "What is upgraded here, in place of change.upgrade.modules."),
      later("catalog", "Repositories that the coordinator knows."),
      later("campaign", "Units of an earlier campaign."),
      json_only(text("bundle", "Digest of an uploaded pack.", digest_rule)),
      json_only(text("commit", "Commit of the pack.", commit_rule)),
      json_only(text("name", "How people call the pack.", path_rule)),
      json_only(section("refused", "A folder that could not be packed.",
                        {required(text("name", "The path as written.", path_rule)),
                         required(text("reason", "Why.", refusal_rule)),
                         text("message", "For people.", long_text_rule),
                         text("finding", "Kind of the unit's finding.", finding_rule)})),
  };
  return key;
}

Key validate() {
  const auto packages = [] {
    Key key = words("packages", "Package patterns.", package_rule, 64);
    key.fallback = "[./...]";
    return key;
  };
  const auto tags = [] { return words("tags", "Build tags.", tag_rule, 32); };
  Key checks{.name = "checks",
             .shape = Shape::sections,
             .sentence = "Command lines of your own, each a run without network.",
             .items_max = 16};
  checks.children = {
      required(text("name", "Shown in results; [a-z0-9-], at most 32.", check_name_rule)),
      required(words("command", "The command and its arguments; no shell.", long_text_rule, 64)),
      bounded("timeout", Shape::duration, "Its limit.", "10m", 1, kDay),
      choice("parser",
             "What its output says: exit_code: nothing; lines: \"FILE:LINE:COL: MESSAGE\"; sarif: "
             "SARIF 2.1.0 on standard output. The exit code stays the result.",
             "exit_code", {"exit_code", "lines", "sarif"})};
  return section(
      "validate", "Which checks run.",
      {packages(), tags(),
       section("build", "go build.",
               {flag("enabled", "Whether it runs.", "true"), packages(), tags(),
                later("flags", "More flags.")}),
       section("vet", "go vet.", {flag("enabled", "Whether it runs.", "true")}),
       section(
           "test", "go test.",
           {flag("enabled", "Whether it runs.", "true"), packages(), tags(),
            bounded("timeout", Shape::duration,
                    "go test -timeout; 0 = none, the check limit still holds.", "10m", 0, kDay),
            bounded("count", Shape::integer, "go test -count.", "1", 1, 100),
            flag("race", "go test -race.", "false"), flag("short", "go test -short.", "false"),
            text("shuffle", "go test -shuffle: off, on or a seed.", shuffle_rule),
            text("run", "go test -run.", short_text_rule),
            text("skip", "go test -skip.", short_text_rule),
            words(
                "flags",
                "The same as flags: -timeout= -count= -race -short -shuffle= -run= -skip= -tags=.",
                short_text_rule, 16),
            later("rerun_failed", "Repeats of failed tests.", "0"),
            later("rerun_limit", "At most that many.", "0")}),
       scan_grammar(), std::move(checks), later("tools", "More scanners.")});
}

Key sandbox() {
  Key image = text(
      "image", "auto (from the go directive), a Go minor such as \"1.26\", or an image identity.",
      image_rule, "auto");
  image.shape = Shape::version;
  return section(
      "sandbox", "Where checks run.",
      {std::move(image), flag("c_compiler", "Take an image with a C compiler (cgo).", "true"),
       later("proxy", "Set on the worker."), later("sumdb", "Set on the worker.", "on"),
       section("limits", "Of each run; workers clamp them to their own bounds.",
               {bounded("cpus", Shape::fraction, "CPUs.", "2", 100, 64'000),
                bounded("memory", Shape::size, "Memory and swap together.", "2GiB", 64 * kMiB,
                        1024 * kGiB),
                bounded("pids", Shape::integer, "Processes and threads.", "512", 16, 65'536),
                bounded("tmp", Shape::size, "Size of /tmp; below memory.", "1GiB", 16 * kMiB,
                        1024 * kGiB),
                bounded("output", Shape::size, "Kept of each output stream, head and tail.", "4MiB",
                        4096, 64 * kMiB)}),
       choice("build_cache",
              "seeded: starts with the image's standard library; dependencies: and with the "
              "module's compiled dependencies; empty: with nothing.",
              "seeded", {"seeded", "dependencies", "empty"}),
       choice("egress",
              "Runs with a network: any: on every worker; enforced: only on workers that hold them "
              "to the module proxy by rules of the host.",
              "any", {"any", "enforced"}),
       section(
           "timeouts", "Limits of time.",
           {bounded("acquire", Shape::duration, "Fetch a repository, or its modules.", "10m", 1,
                    6 * kHour),
            bounded("check", Shape::duration,
                    "One check; 0 = test.timeout + 75 s for test, 15m for others.", "0", 0, kDay),
            later("mutate", "No change, no mutate."), later("build", "Use check."),
            later("vet", "Use check."), later("test", "Use check."), later("tool", "No tools.")}),
       section("private",
               "Patterns as the go command takes them, comma separated; credentials are files of "
               "the worker.",
               {text("goprivate", "GOPRIVATE.", go_pattern_rule),
                text("gonosumdb", "GONOSUMDB.", go_pattern_rule)}),
       later("postrun", "Budgets of engine calls are settings of the worker."),
       later("env", "Environment variables.")});
}

Key strategy() {
  return section(
      "strategy", "How the fleet goes about it.",
      {bounded("max_parallel", Shape::integer, "Tasks at once; 0 = all that the fleet gives.", "0",
               0, 100'000),
       section(
           "retries", "How often a task runs again.",
           {bounded("infra_error", Shape::integer,
                    "After a lost worker, a drain, an engine fault, or a proxy or host that fails.",
                    "3", 0, 10),
            bounded("timeout", Shape::integer, "After a timeout of its own.", "1", 0, 10),
            later("failed", "A failing unit is never retried.", "0")}),
       bounded("deadline", Shape::duration, "After it the open units are cancelled.", "24h",
               kMinute, 30 * kDay),
       later("waves", "Canaries."), later("stop_when", "Stop early."),
       later("on_empty", "No unit uses the module.", "skip")});
}

Key gate() {
  Key fail_on{.name = "fail_on",
              .shape = Shape::words,
              .sentence =
                  "Verdicts that fail the gate: exit code 3; where there is a change "
                  "[regressed, changed_failure], without a baseline [failing].",
              .fallback = "[failing, refused]",
              .choices = {},
              .items_max = count_of<Verdict>()};
  for (std::size_t i = 0; i < count_of<Verdict>(); ++i) {
    fail_on.choices.emplace_back(cupel::name(static_cast<Verdict>(i)));
  }
  return section("gate", "Decides the exit code.",
                 {std::move(fail_on),
                  bounded("max_inconclusive_ratio", Shape::fraction,
                          "More inconclusive units than that: exit code 5.", "0.05", 0, 1000),
                  later("waivers", "Known findings.")});
}

Key build() {
  Key labels{.name = "labels",
             .shape = Shape::text_map,
             .sentence = "Free keys and values; never metric labels.",
             .rule = short_text_rule,
             .items_max = 16};
  Key root = section(
      "", "A campaign of Cupel.",
      {required(choice("apiVersion", "The version of this grammar.", "", {"cupel/v1"})),
       required(choice("kind", "What this file is.", "", {"Campaign"})),
       required(text("name", "[a-z0-9-], at most 63.", campaign_name_rule)),
       text("description", "Shown in reports.", long_text_rule),
       text("owner", "Whose it is; default: the token's identity.", short_text_rule),
       std::move(labels),
       bounded("priority", Shape::integer, "Larger first; owners share fairly.", "0", -100, 100),
       repositories(), later("exclude", "Globs on names."), later("select", "Only some units."),
       validate(), sandbox(), strategy(), gate(),
       section("output", "What is kept.",
               {choice("keep_logs", "Logs of which units.", "all", {"all", "failed", "none"}),
                later("patches", "No change, no patch."),
                later("reports", "The client writes reports: cupel report."),
                later("retention", "How long results stay.")}),
       later("notify", "Webhooks.")});
  const auto before = std::ranges::find(root.children, "validate", &Key::name);
  std::vector<Key> asked = change_grammar();
  root.children.insert(before, std::make_move_iterator(asked.begin()),
                       std::make_move_iterator(asked.end()));
  return root;
}

}  // namespace

const Key* Key::find(std::string_view child) const {
  const auto found = std::ranges::find(children, child, &Key::name);
  return found == children.end() ? nullptr : &*found;
}

Key later(std::string name, std::string sentence, std::string fallback) {
  return {.name = std::move(name),
          .sentence = std::move(sentence),
          .fallback = std::move(fallback),
          .honoured = false};
}

const Key& grammar() {
  static const Key kGrammar = build();
  return kGrammar;
}

}  // namespace cupel::campaign
