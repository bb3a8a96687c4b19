#include "common/fs/files.hpp"
#include "coordinator/app/file_watch.hpp"
#include "coordinator/app/options.hpp"
#include "coordinator/app/secrets.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace cupel::coordinator {
namespace {

TEST(ParseTokens, GivesEachTokenItsNameAndScopes) {
  const auto table = parse_tokens(
      "# tokens\naaaaaaaaaaaaaaaaaaaa\nbbbbbbbbbbbbbbbbbbbb bob read,submit\n", "tokens");

  ASSERT_TRUE(table);
  EXPECT_EQ(table->check("aaaaaaaaaaaaaaaaaaaa")->name, "local");
  EXPECT_TRUE(table->check("aaaaaaaaaaaaaaaaaaaa")->may("operate"));
  EXPECT_EQ(table->check("bbbbbbbbbbbbbbbbbbbb")->name, "bob");
  EXPECT_FALSE(table->check("bbbbbbbbbbbbbbbbbbbb")->may("operate"));
  EXPECT_FALSE(table->check("bbbbbbbbbbbbbbbbbbb"));
}

TEST(ParseTokens, RefusesShortTokensUnknownScopesAndEmptyFiles) {
  EXPECT_EQ(parse_tokens("short\n", "f").error().code, Errc::bad_config);
  EXPECT_NE(parse_tokens("\naaaaaaaaaaaaaaaaaaaa n root\n", "f").error().what.find("f:2: "),
            std::string::npos);
  EXPECT_EQ(parse_tokens("# nothing\n", "f").error().code, Errc::bad_config);
}

TEST(OptionsFrom, PutsEverythingBelowTheDataDirectoryByDefault) {
  config::Inputs inputs;
  inputs.arguments = {"--data-dir=/d"};
  inputs.read_file = [](const std::string&) { return Error{Errc::not_found, "", "", ""}; };
  inputs.expand = [](const std::string&) { return std::vector<std::string>(); };
  const auto loaded = config::load(settings_schema(), inputs);
  ASSERT_FALSE(loaded.exit_code) << loaded.err;

  const auto options = options_from(loaded.settings);

  ASSERT_TRUE(options);
  EXPECT_EQ(options->key_file, "/d/coordinator.key");
  EXPECT_TRUE(options->make_key);
  EXPECT_EQ(options->token_file, "/d/token");
  EXPECT_EQ(options->listen, "127.0.0.1:8080");
}

TEST(OptionsFrom, RefusesALeaseShorterThanTwoHeartbeats) {
  config::Inputs inputs;
  inputs.arguments = {"--heartbeat-ms=1000", "--lease-ms=1500"};
  inputs.read_file = [](const std::string&) { return Error{Errc::not_found, "", "", ""}; };
  inputs.expand = [](const std::string&) { return std::vector<std::string>(); };

  EXPECT_EQ(options_from(config::load(settings_schema(), inputs).settings).error().code,
            Errc::bad_config);
}

TEST(FileWatch, SeesAReplacedFileAndNoOther) {
  const auto dir = std::filesystem::temp_directory_path() / ("cupel-watch-" + fs::random_hex(8));
  std::filesystem::create_directory(dir);
  boost::asio::io_context io;
  int changes = 0;
  auto watch = FileWatch::start(io, dir / "list", [&] {
    ++changes;
    io.stop();
  });
  ASSERT_TRUE(watch);
  ASSERT_TRUE(fs::write_file_durably(dir / "other", "x", 0600));
  ASSERT_TRUE(fs::write_file_durably(dir / "list", "x", 0600));

  io.run();

  EXPECT_EQ(changes, 1);
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace cupel::coordinator
