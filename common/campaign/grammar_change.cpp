// What a campaign changes, and how a difference between the sides is proven.
#include "common/campaign/grammar.hpp"
#include "common/campaign/grammar_keys.hpp"
#include "common/core/change.hpp"

#include <utility>

namespace cupel::campaign {
namespace {

using namespace keys;

Key targets(std::string name, std::string sentence, Rule version_rule, std::size_t items_max) {
  Key module = text("module", "Module path.", module_path_rule);
  Key version =
      text("version", "A version, or for an upgrade latest, minor or patch.", version_rule);
  module.required = true;
  version.required = true;
  version.shape = Shape::version;
  return {.name = std::move(name),
          .shape = Shape::sections,
          .sentence = std::move(sentence),
          .items_max = items_max,
          .children = {std::move(module), std::move(version)}};
}

Key upgrade() {
  Key deny{.name = "deny",
           .shape = Shape::words,
           .sentence = "Modules that are never upgraded.",
           .rule = module_path_rule,
           .items_max = 256};
  Key key = section(
      "upgrade", "Dependency upgrades; a list means its modules.",
      {upgrade_targets("modules", "What is upgraded, all at once."),
       choice(
           "select",
           "named: the modules above; smallest: the smallest step of one dependency; vulnerable: "
           "what fixes the findings of a scan.",
           "named", {"named", "smallest", "vulnerable"}),
       {.name = "cooldown",
        .shape = Shape::duration,
        .sentence = "Age that a version found by a query must have; 0 = none.",
        .fallback = "72h",
        .min = 0,
        .max = 365 * kDay},
       {.name = "allow_major",
        .shape = Shape::flag,
        .sentence = "Whether a query may choose another major version.",
        .fallback = "false"},
       std::move(deny),
       targets("pins", "The only version that a query may choose of a module.", exact_version_rule,
               256)});
  key.short_list = "modules";
  return key;
}

Key go() {
  Key version = text("version", "A Go minor such as \"1.26\", or an image identity.", image_rule);
  version.shape = Shape::version;
  version.required = true;
  return section(
      "go", "Another Go version for the same code.",
      {std::move(version), choice("directive", "keep the go line, or raise it to the version.",
                                  "keep", {"keep", "raise"})});
}

Key replace() {
  Key ref = text("ref", "Branch, tag or commit; empty = the default branch.", ref_rule);
  ref.shape = Shape::version;
  Key with =
      section("with", "The candidate: exactly one of git, path, module.",
              {text("git", "URL of a git repository.", git_url_rule),
               text("path", "A folder on this machine; the client packs it.", path_rule),
               text("module", "A published module, MODULE@VERSION.", module_rule), std::move(ref),
               json_only(text("bundle", "Digest of an uploaded pack.", digest_rule)),
               json_only(text("commit", "Commit of the pack.", commit_rule)),
               json_only(text("name", "How people call the pack.", path_rule))});
  with.required = true;
  Key module = text("module", "The library that is replaced in its dependents.", module_path_rule);
  module.required = true;
  return {.name = "replace",
          .shape = Shape::sections,
          .sentence = "Candidates of libraries, tested in all that use them.",
          .items_max = 16,
          .children = {std::move(module), std::move(with)}};
}

Key patch() {
  Key diff = text("diff", "The diff itself.", diff_rule);
  diff.json_only = true;
  return section("patch", "A unified diff over the root of each repository.",
                 {text("file", "The diff, relative to this file; at most 256 KiB.", path_rule),
                  std::move(diff)});
}

}  // namespace

Key upgrade_targets(std::string name, std::string sentence) {
  return targets(std::move(name), std::move(sentence), version_query_rule, 64);
}

std::vector<Key> change_grammar() {
  return {
      section("change", "What differs between the sides: exactly one of these.",
              {section("none", "Nothing: one side, plain validation.", {}), upgrade(), go(),
               replace(), patch(), later("custom", "A command line that changes the tree."),
               later("go_directive", "keep, raise or fail.", "keep"),
               later("tidy", "Run go mod tidy.", "true")}),
      section("confirm", "How a difference is proven: both sides are run again.",
              {count("runs", "Repeats of both sides after a first difference.", "3", 0, 10),
               count("need",
                     "Repeats of the after side that must show it; no run of the before "
                     "side may.",
                     "3", 0, 10)}),
      section(
          "baseline", "The before side.",
          {choice("mode",
                  "auto: this version runs it, as always does; off: only the after side is run.",
                  "auto", {"auto", "always", "off"}),
           later("repeat", "Use confirm.runs.", "1")}),
      count("aa",
            "Repositories whose unchanged side is run once more, to know how much the tests "
            "flicker.",
            "0", 0, 100'000)};
}

}  // namespace cupel::campaign
