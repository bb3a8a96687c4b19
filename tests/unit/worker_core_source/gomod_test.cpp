#include "worker/core/source/gomod.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string first_fault(std::string_view text) {
  const ModFile file = parse_go_mod(text);
  if (file.faults.empty()) return {};
  const ModFault& fault = file.faults.front();
  return std::to_string(fault.place.line) + ": " + fault.text;
}

TEST(GoMod, ReadsThePlainForm) {
  const auto file = parse_go_mod(
      "module ex.test/a\n\ngo 1.24\n\ntoolchain go1.99.0\n\nrequire (\n\tex.test/b v1.2.3\n"
      "\tex.test/c/v2 v2.0.0 // indirect\n)\nreplace ex.test/b => ../b\n"
      "replace ex.test/c/v2 v2.0.0 => ex.test/d/v2 v2.1.0\ntool ex.test/b/cmd/x\nignore ./old\n");
  EXPECT_THAT(file.faults, IsEmpty());
  EXPECT_EQ(file.module_path, "ex.test/a");
  EXPECT_EQ(file.go_version, "1.24");
  EXPECT_EQ(file.toolchain, "go1.99.0");
  ASSERT_EQ(file.requirements.size(), 2U);
  EXPECT_FALSE(file.requirements[0].indirect);
  EXPECT_TRUE(file.requirements[1].indirect);
  EXPECT_EQ(file.requirements[1].place.line, 9);
  ASSERT_EQ(file.replacements.size(), 2U);
  EXPECT_TRUE(file.replacements[0].is_directory());
  EXPECT_FALSE(file.replacements[1].is_directory());
  EXPECT_EQ(file.replacements[1].version, "v2.0.0");
  EXPECT_EQ(file.replacements[1].target_version, "v2.1.0");
  EXPECT_THAT(file.tools, ElementsAre("ex.test/b/cmd/x"));
}

TEST(GoMod, ReadsRareButLegalForms) {
  const auto file = parse_go_mod(
      "// comment first\nmodule \"ex.test/c115\" // trailing\ngo 1.24 // why not\n"
      "exclude ex.test/dep v1.0.0\nexclude (\n\t\"ex.test/dep\" v1.1.0 // x\n)\n"
      "retract (\n\tv0.1.0\n\t[v0.2.0, v0.3.0]\n)\nrequire `ex.test/raw` v1.0.0\nrequire "
      "(\n)\nuse_nothing_here_is_fine()\n");
  EXPECT_EQ(file.module_path, "ex.test/c115");
  EXPECT_EQ(file.go_version, "1.24");
  ASSERT_EQ(file.requirements.size(), 1U);
  EXPECT_EQ(file.requirements[0].path, "ex.test/raw");
}

TEST(GoMod, ReadsWindowsLineEndsAndNoLineEndAtAll) {
  EXPECT_EQ(parse_go_mod("module a\r\n\r\ngo 1.24\r\n").go_version, "1.24");
  EXPECT_EQ(parse_go_mod("module a\ngo 1.21").go_version, "1.21");
  EXPECT_THAT(parse_go_mod("module a\r\n\r\ngo 1.24\r\n").faults, IsEmpty());
}

TEST(GoMod, AMissingGoLineIsNoFault) {
  const auto file = parse_go_mod("module a\n");
  EXPECT_THAT(file.faults, IsEmpty());
  EXPECT_FALSE(file.go_version.has_value());
}

TEST(GoMod, SaysWhatTheGoCommandSays) {
  EXPECT_EQ(first_fault("module m\n\ngo 1.24\n\n<<<<<<< HEAD\nrequire a v1.0.0\n=======\n"),
            "5: unknown directive: <<<<<<<");
  EXPECT_EQ(first_fault("\xef\xbb\xbfmodule m\n"), "1: unexpected input character '\\ufeff'");
  EXPECT_EQ(first_fault("module m\n\ngo 1.24\n\nrequire ex.test/x v2.0.0\n"),
            "5: require ex.test/x: version \"v2.0.0\" invalid: should be v0 or v1, not v2");
  EXPECT_EQ(first_fault("module m\nrequire ex.test/x/v3 v2.0.0\n"),
            "2: require ex.test/x/v3: version \"v2.0.0\" invalid: should be v3, not v2");
  EXPECT_EQ(first_fault("module m\ngo 1.24\ngo 1.25\n"), "3: repeated go statement");
  EXPECT_EQ(first_fault("module m m\n"), "1: usage: module module/path");
  EXPECT_EQ(first_fault("module m\ngo banana\n"),
            "2: invalid go version 'banana': must match format 1.23.0");
  EXPECT_EQ(first_fault("module m\nfoo (\nbar\n)\n"), "2: unknown block type: foo");
  EXPECT_THAT(first_fault("module m\nrequire (\n\ta v1.0.0\n"), HasSubstr("unterminated block"));
  EXPECT_EQ(first_fault("module m\nmodule n\n"), "2: repeated module statement");
  EXPECT_THAT(first_fault("module \"m\n"), HasSubstr("unexpected newline in string"));
}

TEST(GoMod, VersionsThatTheirPathAllowsAreNoFault) {
  for (const char* line :
       {"require ex.test/x v2.0.0+incompatible", "require ex.test/x/v2 v2.1.0",
        "require gopkg.in/yaml.v2 v2.4.0", "require gopkg.in/check.v1 v0.0.0-2016",
        "require ex.test/x v0.0.0-20200101000000-abcdef012345", "require ex.test/x master",
        "require ex.test/x/v1 v1.0.0", "require ex.test/v2nosuffix v1.0.0"}) {
    EXPECT_EQ(first_fault(std::string("module m\n") + line + "\n"), "") << line;
  }
}

TEST(GoMod, GoVersions) {
  for (const char* good : {"1.21", "1.21rc2", "1.21.0", "1.9", "1.21beta1", "2.0", "1.100.12"}) {
    EXPECT_TRUE(is_go_version(good)) << good;
  }
  for (const char* bad : {"", "1", "1.", "1.021", "01.2", "1.21.", "1.21-rc2", "1.21rc", "1.21.x",
                          "go1.21", "1.21.0.0", "1.21rc2x", "1234567.1"}) {
    EXPECT_FALSE(is_go_version(bad)) << bad;
  }
}

TEST(GoMod, DirectoriesOfReplaceAreToldByTheirText) {
  for (const char* dir : {"./x", "../x", "/x", ".", "..", "C:\\x"}) {
    EXPECT_TRUE((Replacement{"a", "", dir, "", {}}.is_directory())) << dir;
  }
  for (const char* path : {"ex.test/x", "x", ".hidden/x"}) {
    EXPECT_FALSE((Replacement{"a", "", path, "", {}}.is_directory())) << path;
  }
}

TEST(GoMod, AGoLineIsAddedAndNothingElseChanges) {
  EXPECT_EQ(with_go_line("module a\n", "1.16"), "module a\n\ngo 1.16\n");
  EXPECT_EQ(with_go_line("module a", "1.16"), "module a\n\ngo 1.16\n");
  EXPECT_EQ(with_go_line("module a\r\n", "1.16"), "module a\r\n\r\ngo 1.16\r\n");
  EXPECT_EQ(parse_go_mod(with_go_line("module a // x", "1.16")).go_version, "1.16");
}

TEST(GoWork, ReadsItsOwnDirectives) {
  const auto file =
      parse_go_work("go 1.24\n\nuse (\n\t./a\n\t\"./b c\"\n)\nuse .\nreplace x v1.0.0 => ./y\n");
  EXPECT_THAT(file.faults, IsEmpty());
  ASSERT_EQ(file.uses.size(), 3U);
  EXPECT_EQ(file.uses[1].dir, "./b c");
  EXPECT_EQ(file.replacements.at(0).target, "./y");
  EXPECT_FALSE(parse_go_work("module a\n").faults.empty());
  EXPECT_FALSE(parse_go_mod("module a\nuse ./a\n").faults.empty());
}

TEST(GoWork, BecomesAbsoluteForItsStagedCopy) {
  const auto work = parse_go_work(
      "go 1.24\ntoolchain go1.25.0\ngodebug default=go1.21\nuse (\n\t.\n\t./a\n)\n"
      "replace ex.test/x => ./y\nreplace ex.test/z v1.0.0 => ex.test/q v1.2.0\n");
  const std::string text = absolute_go_work(work, "/src/sub");
  EXPECT_EQ(text,
            "go 1.24\ntoolchain go1.25.0\ngodebug default=go1.21\nuse \"/src/sub\"\nuse "
            "\"/src/sub/a\"\n"
            "replace \"ex.test/x\" => \"/src/sub/y\"\nreplace \"ex.test/z\" v1.0.0 => "
            "\"ex.test/q\" v1.2.0\n");
  EXPECT_THAT(parse_go_work(text).faults, IsEmpty());
}

TEST(GoSum, LinesHaveThreeFields) {
  EXPECT_FALSE(check_go_sum("").has_value());
  EXPECT_FALSE(check_go_sum("a v1.0.0 h1:x=\na v1.0.0/go.mod h1:y=\n\n").has_value());
  const auto fault = check_go_sum("a v1.0.0 h1:x=\n<<<<<<< HEAD\n");
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->place.line, 2);
  EXPECT_EQ(fault->text, "malformed go.sum: wrong number of fields 2");
}

TEST(GoMod, HostileTextEnds) {
  EXPECT_FALSE(parse_go_mod(std::string(kManifestBytesMax + 1, 'x')).faults.empty());
  EXPECT_LE(parse_go_mod(std::string(100'000, '(')).faults.size(), 1000U);
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "x\n";
  EXPECT_LE(parse_go_mod(many).faults.size(), 20U);
  static_cast<void>(parse_go_mod(std::string("module \0\n", 9)));
}

}  // namespace
}  // namespace cupel::worker
