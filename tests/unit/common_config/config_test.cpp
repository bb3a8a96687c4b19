#include "common/config/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

namespace cupel::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

Schema test_schema() {
  Schema schema("cupel-worker", "CUPEL_WORKER", "Runs tasks.");
  schema.add({.name = "slots",
              .type = Type::number,
              .sentence = "Tasks at once.",
              .fallback = "1",
              .min = 1,
              .max = 256});
  schema.add({.name = "data_dir",
              .type = Type::path,
              .sentence = "Where state lives.",
              .required = true,
              .example = "/var/lib/cupel"});
  schema.add({.name = "token_file", .type = Type::secret_file, .sentence = "Token."});
  schema.add({.name = "budgets.create",
              .type = Type::duration,
              .sentence = "Budget of a create call.",
              .fallback = "30s",
              .min = 100,
              .max = 600'000});
  schema.add({.name = "budgets.kill",
              .type = Type::duration,
              .sentence = "Budget of a kill call.",
              .fallback = "15s"});
  schema.add({.name = "cache_bytes", .type = Type::size, .sentence = "Cache.", .fallback = "1GiB"});
  schema.add({.name = "log_level",
              .type = Type::text,
              .sentence = "Verbosity.",
              .fallback = "info",
              .choices = {"debug", "info", "error"}});
  schema.add({.name = "egress_allow", .type = Type::list, .sentence = "Allowed hosts."});
  schema.add({.name = "quarantine",
              .type = Type::flag,
              .sentence = "Whether to rest.",
              .fallback = "false"});
  schema.default_file("/etc/cupel/worker.yaml");
  return schema;
}

struct World {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> files;

  [[nodiscard]] Loaded load() const {
    Inputs inputs;
    inputs.arguments = arguments;
    inputs.environment = environment;
    inputs.read_file = [this](const std::string& path) -> Result<std::string> {
      const auto found = files.find(path);
      if (found == files.end()) return Error{Errc::not_found, "no file " + path, "", ""};
      return found->second;
    };
    inputs.expand = [this](const std::string& path) {
      return files.contains(path) ? std::vector<std::string>{path} : std::vector<std::string>{};
    };
    return config::load(test_schema(), inputs);
  }
};

TEST(ConfigRules, AreAskedOnlyWithValidValuesAndNameThePlace) {
  int asked = 0;
  Schema schema("p", "P", "s");
  schema.add({.name = "least", .type = Type::number, .fallback = "1"});
  schema.add({.name = "most", .type = Type::number, .fallback = "9"});
  schema.rule([&asked](const Settings& settings) -> Result<void> {
    ++asked;
    if (settings.number("least") <= settings.number("most")) return {};
    return unfit("least", "must not be above most");
  });
  Inputs inputs;
  inputs.read_file = [](const std::string&) { return std::string("most: 4\nleast: 5\n"); };
  inputs.expand = [](const std::string& path) { return std::vector<std::string>{path}; };
  const auto load_with = [&](const std::vector<std::string>& arguments) {
    inputs.arguments = arguments;
    return config::load(schema, inputs);
  };

  EXPECT_FALSE(load_with({}).exit_code);
  EXPECT_EQ(load_with({"config", "check", "--config", "f.yaml"}).err,
            "f.yaml:2:8: setting least: must not be above most (CUP-2001)\n1 error\n");
  EXPECT_EQ(load_with({"--least=12"}).exit_code, 2);
  EXPECT_EQ(asked, 3);
  // To be seen, no value has to fit; and no rule is asked about a value that is none.
  EXPECT_EQ(load_with({"config", "show", "--least=12"}).exit_code, 0);
  EXPECT_EQ(load_with({"--least=many"}).exit_code, 2);
  EXPECT_EQ(asked, 3);
}

TEST(ConfigLayers, FlagsWinOverEnvironmentOverFilesOverDefaults) {
  World world;
  world.files["/etc/cupel/worker.yaml"] =
      "data_dir: /file\nslots: 2\nlog_level: error\ncache_bytes: 2GiB\n";
  world.environment = {{"CUPEL_WORKER_SLOTS", "3"}, {"CUPEL_WORKER_LOG_LEVEL", "debug"}};
  world.arguments = {"--slots", "4"};

  const Loaded loaded = world.load();

  ASSERT_FALSE(loaded.exit_code) << loaded.err;
  EXPECT_EQ(loaded.settings.number("slots"), 4);
  EXPECT_EQ(loaded.settings.origin("slots"), "flag --slots");
  EXPECT_EQ(loaded.settings.text("log_level"), "debug");
  EXPECT_EQ(loaded.settings.origin("log_level"), "environment CUPEL_WORKER_LOG_LEVEL");
  EXPECT_EQ(loaded.settings.number("cache_bytes"), 2LL << 30);
  EXPECT_EQ(loaded.settings.origin("cache_bytes"), "/etc/cupel/worker.yaml:4:14");
  EXPECT_EQ(loaded.settings.duration("budgets.kill"), 15s);
  EXPECT_EQ(loaded.settings.origin("budgets.kill"), "default");
}

TEST(ConfigLayers, ALaterFileWinsOverAnEarlierOne) {
  World world;
  world.files["a.yaml"] = "data_dir: /a\nslots: 2\n";
  world.files["b.yaml"] = "slots: 7\n";
  world.arguments = {"--config", "a.yaml", "--config=b.yaml"};

  const Loaded loaded = world.load();

  ASSERT_FALSE(loaded.exit_code) << loaded.err;
  EXPECT_EQ(loaded.settings.text("data_dir"), "/a");
  EXPECT_EQ(loaded.settings.number("slots"), 7);
}

TEST(ConfigLayers, NestedKeysSetDottedNames) {
  World world;
  world.files["a.yaml"] = "data_dir: /a\nbudgets:\n  create: 45s\n";
  world.arguments = {"--config", "a.yaml", "--budgets.kill", "1m"};
  world.environment = {{"CUPEL_WORKER_BUDGETS_CREATE", "50s"}};

  const Loaded loaded = world.load();

  ASSERT_FALSE(loaded.exit_code) << loaded.err;
  EXPECT_EQ(loaded.settings.duration("budgets.create"), 50s);
  EXPECT_EQ(loaded.settings.duration("budgets.kill"), 60s);
}

TEST(ConfigLayers, PathsInAFileAreRelativeToThatFile) {
  World world;
  world.files["/etc/cupel/worker.yaml"] = "data_dir: state\ntoken_file: ../token\n";

  const Loaded loaded = world.load();

  EXPECT_EQ(loaded.settings.text("data_dir"), "/etc/cupel/state");
  EXPECT_EQ(loaded.settings.text("token_file"), "/etc/token");
}

TEST(ConfigLayers, ListsComeFromYamlFlagsAndEnvironment) {
  World world;
  world.files["a.yaml"] = "data_dir: /a\negress_allow: [one:443, \"two:443\"]\n";
  world.arguments = {"--config", "a.yaml"};
  EXPECT_THAT(world.load().settings.list("egress_allow"), ElementsAre("one:443", "two:443"));

  world.environment = {{"CUPEL_WORKER_EGRESS_ALLOW", "three:1,four:2"}};
  EXPECT_THAT(world.load().settings.list("egress_allow"), ElementsAre("three:1", "four:2"));

  world.arguments.insert(world.arguments.end(),
                         {"--egress-allow", "five:3", "--egress-allow=six:4"});
  EXPECT_THAT(world.load().settings.list("egress_allow"), ElementsAre("five:3", "six:4"));
}

TEST(ConfigFaults, AreAllNamedWithTheirPlaces) {
  World world;
  world.files["a.yaml"] =
      "slotz: 2\nslots: many\nlog_level: loud\nbudgets:\n  create: 1ms\n  krill: 3s\nslots: 3\n";
  world.arguments = {"--config", "a.yaml", "--quarantine=maybe", "--nope", "1"};
  world.environment = {{"CUPEL_WORKER_DATADIR", "/x"}};

  const Loaded loaded = world.load();

  EXPECT_EQ(loaded.exit_code, 2);
  EXPECT_THAT(loaded.err,
              HasSubstr("a.yaml:7:1: \"slots\" stands twice in this mapping (CUP-1014)"));
  EXPECT_THAT(
      loaded.err,
      HasSubstr("a.yaml:1:1: unknown setting \"slotz\" (CUP-1011)\n  did you mean \"slots\"?"));
  EXPECT_THAT(loaded.err,
              HasSubstr("a.yaml:2:8: slots: \"many\" is not a whole number (CUP-1012)"));
  EXPECT_THAT(loaded.err,
              HasSubstr("a.yaml:3:12: log_level: \"loud\" is none of debug,info,error"));
  EXPECT_THAT(loaded.err,
              HasSubstr("a.yaml:5:11: budgets.create: 1ms is not between 100ms and 10m"));
  EXPECT_THAT(loaded.err, HasSubstr("a.yaml:6:3: unknown setting \"budgets.krill\""));
  EXPECT_THAT(loaded.err,
              HasSubstr("environment CUPEL_WORKER_DATADIR: unknown setting \"datadir\""));
  EXPECT_THAT(loaded.err,
              HasSubstr("flag --quarantine: quarantine: \"maybe\" is neither true nor false"));
  EXPECT_THAT(loaded.err, HasSubstr("flag --nope: unknown setting"));
  EXPECT_THAT(loaded.err, HasSubstr("data_dir: must be set (CUP-1015)"));
}

TEST(ConfigFaults, ABrokenFileIsTheOnlyFault) {
  World world;
  world.files["a.yaml"] = "data_dir: \"/a\nslots: 2\n";
  world.arguments = {"--config", "a.yaml"};
  const auto loaded = world.load();
  ASSERT_EQ(loaded.faults.size(), 1U) << loaded.err;
  EXPECT_THAT(loaded.err, HasSubstr("a.yaml:1:11: not YAML"));
}

TEST(ConfigFaults, AnUnknownFlagWithItsValueIsOneFault) {
  World world;
  world.arguments = {"--data-dir", "/d", "--seed-dri", "/s"};
  EXPECT_EQ(world.load().faults.size(), 1U);
}

TEST(ConfigFaults, ASecretGivenByValueIsPointedToItsFile) {
  World world;
  world.arguments = {"--data-dir", "/d"};
  world.environment = {{"CUPEL_WORKER_TOKEN", "hunter2"}};

  const Loaded loaded = world.load();

  EXPECT_EQ(loaded.exit_code, 2);
  EXPECT_THAT(loaded.err, HasSubstr("token_file"));
  EXPECT_THAT(loaded.err, Not(HasSubstr("hunter2")));
}

TEST(ConfigFaults, ANamedFileMustExistButADefaultOneNeedNot) {
  World world;
  world.arguments = {"--data-dir", "/d"};
  EXPECT_FALSE(world.load().exit_code);

  world.arguments.insert(world.arguments.end(), {"--config", "/missing.yaml"});
  EXPECT_EQ(world.load().exit_code, 2);
}

TEST(ConfigFaults, VariablesOfAKubernetesServiceAreNoSettings) {
  World world;
  world.arguments = {"--data-dir", "/d"};
  world.environment = {{"CUPEL_WORKER_PORT", "tcp://10.0.0.1:80"},
                       {"CUPEL_WORKER_SERVICE_HOST", "10.0.0.1"}};

  EXPECT_FALSE(world.load().exit_code);
}

TEST(ConfigCommands, CheckAndShowEndTheProgram) {
  World world;
  world.arguments = {"config", "check", "--data-dir", "/d"};
  EXPECT_EQ(world.load().exit_code, 0);

  world.arguments = {"config", "show", "--origin", "--data-dir", "/d"};
  const Loaded shown = world.load();
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.out, HasSubstr("data_dir        /d     (flag --data-dir)\n"));
  EXPECT_THAT(shown.out, HasSubstr("token_file      -      (default)\n"));

  world.arguments = {"config", "shew"};
  EXPECT_EQ(world.load().exit_code, 2);
}

TEST(ConfigCommands, HelpNamesEverySetting) {
  World world;
  world.arguments = {"--help"};

  const Loaded loaded = world.load();

  EXPECT_EQ(loaded.exit_code, 0);
  const Schema schema = test_schema();
  for (const Setting& setting : schema.settings())
    EXPECT_THAT(loaded.out, HasSubstr(setting.sentence));
}

TEST(ConfigCommands, TheExampleFileIsValidOnceUncommented) {
  World world;
  world.arguments = {"config", "example"};
  std::string text = world.load().out;
  std::string uncommented;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    // Values stand behind "# name:", prose never has a colon right after one word.
    const std::size_t colon = line.find(':');
    if (line.starts_with("# ") && colon != std::string::npos &&
        line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_ ", 2) == colon &&
        line.find(". ") == std::string::npos) {
      uncommented += line.substr(2) + "\n";
    }
    at = end + 1;
  }
  world.files["e.yaml"] = uncommented;
  world.arguments = {"config", "check", "--config", "e.yaml"};

  const Loaded loaded = world.load();

  EXPECT_EQ(loaded.exit_code, 0) << loaded.err << uncommented;
}

TEST(ConfigSchema, RefusesBugsOfTheProgram) {
  Schema schema = test_schema();
  EXPECT_THROW(schema.add({.name = "slots"}), std::logic_error);
  EXPECT_THROW(schema.add({.name = "password", .type = Type::secret_file}), std::logic_error);
  World world;
  world.arguments = {"--data-dir", "/d"};
  const Loaded loaded = world.load();
  EXPECT_THROW((void)loaded.settings.text("slots"), std::logic_error);
  EXPECT_THROW((void)loaded.settings.flag("undeclared"), std::logic_error);
}

}  // namespace
}  // namespace cupel::config
