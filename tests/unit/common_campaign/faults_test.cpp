#include "common/campaign/parse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::campaign {
namespace {

using ::testing::HasSubstr;

constexpr const char* kFaultsHead =
    "apiVersion: cupel/v1\nkind: Campaign\nname: n\nrepositories: [{module: "
    "example.com/a@v1.0.0}]\n";

std::string faults_in(const std::string& yaml, const ListReader& reader = {}) {
  const ParsedCampaign result = parse_yaml(yaml, "c.yaml", reader);
  EXPECT_FALSE(result) << yaml;
  return text::render(result.diagnostics);
}

/// One bad line below a good head (line 5), and what must be said about it.
struct BadLine {
  const char* line;
  const char* expected;
};

class BadLines : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadLines, AreNamedWithPlaceCodeAndAdvice) {
  EXPECT_THAT(faults_in(std::string(kFaultsHead) + GetParam().line + "\n"),
              HasSubstr(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    Campaign, BadLines,
    ::testing::Values(
        BadLine{"sandbx: {}",
                "c.yaml:5:1: unknown key \"sandbx\" (CUP-1011)\n  did you mean \"sandbox\"?"},
        BadLine{"sandbox: {limits: {tmpfs: 1GiB}}",
                "c.yaml:5:20: sandbox.limits: unknown key \"tmpfs\" (CUP-1011)\n  did you mean "
                "\"tmp\"?"},
        BadLine{"name: again", "c.yaml:5:1: \"name\" stands twice in this mapping (CUP-1014)"},
        BadLine{"sandbox: {image: 1.20}",
                "c.yaml:5:18: sandbox.image: 1.20 is a bare number, which YAML programs change "
                "(1.20 becomes 1.2) (CUP-1013)\n  write \"1.20\" in quotes"},
        BadLine{"sandbox: {image: latest}",
                "c.yaml:5:18: sandbox.image: \"latest\" is neither auto"},
        BadLine{
            "sandbox: {limits: {memory: 10MiB}}",
            "c.yaml:5:28: sandbox.limits.memory: 10MiB is not between 64MiB and 1TiB (CUP-1012)"},
        BadLine{
            "sandbox: {limits: {memory: lots}}",
            "c.yaml:5:28: sandbox.limits.memory: \"lots\" is not a size such as 512MiB (CUP-1012)"},
        BadLine{"sandbox: {limits: {memory: 1GiB, tmp: 1GiB}}",
                "c.yaml:5:39: sandbox.limits.tmp: 1GiB is not below the memory limit of 1GiB "
                "(CUP-1012)"},
        BadLine{"sandbox: {limits: {cpus: 0.01}}", "is not between 0.100 and 64"},
        BadLine{"sandbox: {limits: {cpus: 1.2345}}",
                "is not a number with at most three decimal places"},
        BadLine{"sandbox: {limits: {pids: -1}}",
                "sandbox.limits.pids: -1 is not between 16 and 65536"},
        BadLine{"sandbox: {timeouts: {acquire: 90}}",
                "\"90\" is not a duration such as 90s or 1h30m"},
        BadLine{"sandbox: {timeouts: {acquire: 1500ms}}", "\"1500ms\" is not a duration"},
        BadLine{"sandbox: {timeouts: {build: 5m}}",
                "c.yaml:5:22: sandbox.timeouts.build: is not supported by this version (CUP-1017)"},
        BadLine{"sandbox: {build_cache: warm}", "\"warm\" is none of seeded, dependencies, empty"},
        BadLine{"sandbox: {egress: open}", "\"open\" is none of any, enforced"},
        BadLine{"sandbox: {c_compiler: yes}", "\"yes\" is neither true nor false"},
        BadLine{"sandbox: {env: {A: b}}",
                "c.yaml:5:11: sandbox.env: is not supported by this version (CUP-1017)"},
        BadLine{"sandbox: []", "c.yaml:5:10: sandbox: must be a mapping"},
        BadLine{"priority: 101", "c.yaml:5:11: priority: 101 is not between -100 and 100"},
        BadLine{"priority: [1]", "priority: must be a whole number, not a list or a mapping"},
        BadLine{"priority: 1e3", "priority: \"1e3\" is not a whole number"},
        BadLine{"labels: {a: [b]}", "labels.a: must be text"},
        BadLine{"change: {upgrade: [{module: m, version: 0.38}]}",
                "c.yaml:5:41: change.upgrade[0].version: 0.38 is a bare number"},
        BadLine{"change: {upgrade: [{module: m, version: main}]}",
                "c.yaml:5:41: change.upgrade[0].version: \"main\" is neither a version such as "
                "v1.2.3 nor latest, minor or patch"},
        BadLine{"change: {upgrade: [{module: m, version: v1.2}]}", "\"v1.2\" is neither"},
        BadLine{"change: {upgrade: [{module: m, version: v1.2.}]}", "\"v1.2.\" is neither"},
        BadLine{"change: {upgrade: [{module: m, version: v1.2.3x}]}", "\"v1.2.3x\" is neither"},
        BadLine{"change: {upgrade: [{module: -m, version: latest}]}",
                "\"-m\" is not a module path"},
        BadLine{"change: {upgrade: [{module: m}]}",
                "c.yaml:5:20: change.upgrade[0]: \"version\" is missing"},
        BadLine{"change: {upgrade: []}", "c.yaml:5:19: change.upgrade: names no module"},
        BadLine{"change: {upgrade: {select: biggest}}", "is none of named, smallest, vulnerable"},
        BadLine{"change: {upgrade: {select: smallest, modules: [{module: m, version: v1.0.0}]}}",
                "change.upgrade: modules don't go with select: smallest"},
        BadLine{"change: {upgrade: [{module: m, version: latest}, {module: m, version: v1.0.0}]}",
                "c.yaml:5:50: change.upgrade: module m stands twice"},
        BadLine{"change: {upgrade: {select: smallest, pins: [{module: m, version: latest}]}}",
                "\"latest\" is not a version such as v1.2.3"},
        BadLine{"change: {go: {version: 1.26}}", "c.yaml:5:24: change.go.version: 1.26 is a bare"},
        BadLine{"change: {go: {version: \"1.26.1\"}}", "is neither auto, a Go minor"},
        BadLine{"change: {go: {directive: drop}}", "is none of keep, raise"},
        BadLine{"change: {replace: [x]}", "change.replace[0]: must be a mapping"},
        BadLine{"change: {replace: [{module: m}]}", "change.replace[0]: \"with\" is missing"},
        BadLine{"change: {replace: [{module: m, with: {}}]}", "has none of git, path, module"},
        BadLine{"change: {replace: [{module: m, with: {path: x, module: a.b/c@v1.0.0}}]}",
                "has more than one of git, path, module"},
        BadLine{"change: {replace: [{module: m, with: {module: a.b/c@v1.0.0, ref: x}}]}",
                "ref doesn't go with module"},
        BadLine{"change: {patch: {file: a.diff}}",
                "change.patch: a diff can only be read by the client"},
        BadLine{"change: {patch: {}}", "change.patch: \"file\" is missing"},
        BadLine{"change: {patch: {diff: x}}", "unknown key \"diff\""},
        BadLine{"change: {none: {}, go: {version: \"1.26\"}}", "change: has both none and go"},
        BadLine{"confirm: {runs: 3, need: 4}",
                "c.yaml:5:10: confirm.need: 4 is not between 1 and confirm.runs, 3"},
        BadLine{"confirm: {runs: 11}", "confirm.runs: 11 is not between 0 and 10"},
        BadLine{"baseline: {mode: never}", "is none of auto, always, off"},
        BadLine{"change: {custom: [x]}", "change.custom: is not supported by this version"},
        BadLine{"change: {upgrde: [x]}", "did you mean \"upgrade\"?"},
        BadLine{"change: none",
                "c.yaml:5:9: change: must be a mapping (CUP-1012)\n  plain validation is written "
                "'change: {none: {}}'"},
        BadLine{"change: {none: {x: 1}}",
                "change.none: unknown key \"x\" (CUP-1011)\n  nothing is allowed here"},
        BadLine{"change: {tidy: false}",
                "change.tidy: is not supported by this version (CUP-1017)\n  only \"true\" is "
                "accepted"},
        BadLine{"exclude: [a]", "exclude: is not supported"},
        BadLine{"gate: {fail_on: [regresed]}", "did you mean \"regressed\"?"},
        BadLine{"gate: {max_inconclusive_ratio: 2}",
                "gate.max_inconclusive_ratio: 2 is not between 0 and 1"},
        BadLine{"validate: {packages: []}", "validate.packages: must name at least one pattern"},
        BadLine{"validate: {packages: [-x]}",
                "c.yaml:5:23: validate.packages[0]: \"-x\" is not a package pattern"},
        BadLine{"validate: {packages: [./a], test: {packages: [./b]}}",
                "validate.test.packages: differs from the list before it"},
        BadLine{"validate: {packages: [../x]}", "leaves the module"},
        BadLine{"validate: {tags: [\"a b\"]}", "is not a build tag"},
        BadLine{"validate: {test: {flags: [-exec=sh]}}",
                "c.yaml:5:27: validate.test.flags: \"-exec=sh\" is not allowed here"},
        BadLine{"validate: {test: {flags: [-count=0]}}", "is not allowed here"},
        BadLine{"validate: {test: {race: true, flags: [-race]}}",
                "is also set by the key validate.test.race (CUP-1014)"},
        BadLine{"validate: {test: {shuffle: maybe}}", "is neither off, on nor a number"},
        BadLine{"validate: {test: {timeout: 25h}}", "25h is not between 0s and 24h"},
        BadLine{"validate: {checks: [{name: lint, command: []}]}", "the command is empty"},
        BadLine{"validate: {checks: [{name: lint, command: [a]}, {name: lint, command: [b]}]}",
                "two checks are called \"lint\""},
        BadLine{"validate: {checks: [{name: vet, command: [a]}]}",
                "is the name of a check that Cupel has itself"},
        BadLine{"validate: {checks: [{command: [a]}]}",
                "c.yaml:5:21: validate.checks[0]: \"name\" is missing (CUP-1015)"},
        BadLine{"description: &a x", "c.yaml:5:14: anchors (&name) are not allowed (CUP-1010)"},
        BadLine{"description: *a", "c.yaml:5:14: not YAML: the referenced anchor is not defined"},
        BadLine{"description: !!str x", "tags (!name) are not allowed"},
        BadLine{"? [a]\n: b", "a key must be plain text"}, BadLine{"a: {\n", "not YAML: "},
        BadLine{"description: \"it\\\"s\nopen: 'x'\n",
                "c.yaml:5:14: not YAML: this quote is never closed (CUP-1010)"},
        BadLine{"description: 'it''s\nlast", "c.yaml:5:14: not YAML"},
        BadLine{"strategy:\n\tmax_parallel: 1", "YAML is indented with spaces; there is a tab"},
        BadLine{"---\nname: second", "a second document begins here"}));

struct BadSource {
  const char* item;
  const char* expected;
};

class BadSources : public ::testing::TestWithParam<BadSource> {};

TEST_P(BadSources, AreNamed) {
  EXPECT_THAT(faults_in("apiVersion: cupel/v1\nkind: Campaign\nname: n\nrepositories:\n  - " +
                        std::string(GetParam().item) + "\n"),
              HasSubstr(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    Campaign, BadSources,
    ::testing::Values(
        BadSource{"git: ./dir",
                  "c.yaml:5:10: repositories[0].git: \"./dir\" is not a URL; for a folder of this "
                  "machine use 'path:'"},
        BadSource{"git: --upload-pack=x", "begins with '-' and would be read as an option"},
        BadSource{"git: ext::sh", "is not a URL"},
        BadSource{"git: https://u:p@h/x", "a password doesn't belong into a campaign file"},
        BadSource{"git: https:///x", "names no host"},
        BadSource{"git: https://h/x\n    ref: 1.20",
                  "c.yaml:6:10: repositories[0].ref: 1.20 is a bare number"},
        BadSource{"git: https://h/x\n    ref: -x", "begins with '-'"},
        BadSource{"git: https://h/x\n    ref: a..b", "is not a branch, tag or commit"},
        BadSource{"git: https://h/x\n    subdirs: [../x]",
                  "is not a folder below the repository's root"},
        BadSource{"git: https://h/x\n    subdirs: [/x]",
                  "is not a folder below the repository's root"},
        BadSource{"git: https://h/x\n    path: y",
                  "c.yaml:6:11: repositories[0]: has both git and path"},
        BadSource{"module: example.com/a", "is not MODULE@VERSION"},
        BadSource{"module: fmt@v1.0.0", "its first element has no dot"},
        BadSource{"module: \"example.com/a@\"", "is not a version"},
        BadSource{"module: example.com/../a@v1", "is not a module path"},
        BadSource{"module: example.com/a@v1\n    ref: main", "ref doesn't go with module"},
        BadSource{"module: ''", "has none of git, module, path, file"},
        BadSource{"ref: main",
                  "c.yaml:5:5: repositories[0]: has none of git, module, path, file (CUP-1015)"},
        BadSource{"https://h/x", "c.yaml:5:5: repositories[0]: must be a mapping"},
        BadSource{"catalog: {labels: {}}",
                  "repositories[0].catalog: is not supported by this version"},
        BadSource{"file: repos.txt", "a list file can only be read by the client"},
        BadSource{"pth: x", "unknown key \"pth\" (CUP-1011)\n  did you mean \"path\"?"}));

TEST(CampaignFaults, AllAreReportedInTheOrderOfTheFile) {
  const ParsedCampaign result =
      parse_yaml("kind: Campain\nname: Bad Name\nrepositories: []\nx: 1\n", "c.yaml");

  EXPECT_EQ(
      text::render(result.diagnostics),
      "c.yaml:1:1: \"apiVersion\" is missing (CUP-1015)\n  write 'apiVersion: cupel/v1'\n"
      "c.yaml:1:7: kind: \"Campain\" is none of Campaign (CUP-1012)\n  did you mean \"Campaign\"?\n"
      "c.yaml:2:7: name: \"Bad Name\" is not 1 to 63 of a-z, 0-9 and '-' (CUP-1012)\n"
      "c.yaml:3:15: repositories: the list is empty (CUP-1016)\n"
      "c.yaml:4:1: unknown key \"x\" (CUP-1011)\n  allowed here: apiVersion, kind, name, "
      "description, owner, labels, "
      "priority, repositories, exclude, select, change, confirm, baseline, aa, validate, sandbox, "
      "strategy, gate, output, notify\n"
      "5 errors\n");
}

TEST(CampaignFaults, ListFilesAreNamedWithTheirOwnLines) {
  const ListReader reader = [](const std::string&) -> Result<std::string> {
    return std::string(
        "github.example/foo\nhttps://h/a b c\nexample.com/m@v1 main\n  nodot/x@v1\nhttps://h/ok\n");
  };
  const std::string text = faults_in(
      "apiVersion: cupel/v1\nkind: Campaign\nname: n\nrepositories: [{file: repos.txt}]\n", reader);

  EXPECT_THAT(text, HasSubstr("repos.txt:1:1: \"github.example/foo\" is neither a URL, a path nor "
                              "MODULE@VERSION (CUP-1012)"));
  EXPECT_THAT(text, HasSubstr("repos.txt:2:15: only a source and a ref stand on a line"));
  EXPECT_THAT(text,
              HasSubstr("repos.txt:3:1: a module has its version behind '@' and takes no ref"));
  EXPECT_THAT(text, HasSubstr("repos.txt:4:3: \"nodot/x\" is not a published module"));
  EXPECT_THAT(text, HasSubstr("4 errors"));
}

TEST(CampaignFaults, AMissingListFileIsAFaultOfItsLine) {
  const ListReader reader = [](const std::string& path) -> Result<std::string> {
    return Error{Errc::not_found, "there is no file " + path, "", ""};
  };
  EXPECT_THAT(
      faults_in(
          "apiVersion: cupel/v1\nkind: Campaign\nname: n\nrepositories:\n  - file: repos.txt\n",
          reader),
      HasSubstr("c.yaml:5:5: repositories: there is no file repos.txt (CUP-2010)"));
}

TEST(CampaignFaults, TooManyAreCutWithACount) {
  std::string yaml = kFaultsHead;
  for (int i = 0; i < 250; ++i) yaml += "unknown" + std::to_string(i) + ": 1\n";

  const ParsedCampaign result = parse_yaml(yaml, "c.yaml");

  ASSERT_EQ(result.diagnostics.size(), 100U);
  EXPECT_EQ(result.diagnostics.back().message, "and 151 more");
}

TEST(CampaignFaults, HostileFilesEndInOneClearError) {
  EXPECT_THAT(faults_in(""), HasSubstr("the file is empty"));
  EXPECT_THAT(faults_in("just text"),
              HasSubstr("c.yaml:1:1: a campaign file is a mapping of keys"));
  EXPECT_THAT(faults_in(std::string(100'000, '[')), HasSubstr("(CUP-1010)\n1 error"));
  EXPECT_THAT(faults_in("a:\n  - " + std::string(100, '[') + std::string(100, ']')),
              HasSubstr("nested more than 32 levels deep"));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(faults_in(deep), HasSubstr("nested more than 32 levels deep"));
  EXPECT_THAT(faults_in("a: &x [1]\nb: [*x, *x]\n"),
              HasSubstr("c.yaml:1:4: anchors (&name) are not allowed"));
  EXPECT_THAT(faults_in(std::string("name: a\nx: \xFF\n")),
              HasSubstr("c.yaml:2:4: not valid UTF-8 (CUP-1010)"));
  EXPECT_THAT(faults_in(std::string("name: a\0b\n", 10)),
              HasSubstr("c.yaml:1:8: a control character"));
  EXPECT_THAT(faults_in(std::string("\xFF\xFE"
                                    "a\0",
                                    4)),
              HasSubstr("not valid UTF-8"));
  EXPECT_THAT(faults_in(std::string(8 * 1024 * 1024 + 1, '#')),
              HasSubstr("at most 8388608 are read (CUP-5005)"));
}

}  // namespace
}  // namespace cupel::campaign
