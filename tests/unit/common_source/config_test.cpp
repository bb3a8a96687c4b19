#include "common/gitfmt/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::gitfmt {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<ConfigEntry> parsed(std::string_view text) {
  auto entries = parse_config(text);
  EXPECT_TRUE(entries.has_value()) << (entries ? "" : entries.error().what);
  return entries ? *entries : std::vector<ConfigEntry>{};
}

std::vector<std::string> names(const std::vector<ConfigEntry>& entries) {
  std::vector<std::string> all;
  for (const auto& entry : entries) all.push_back(entry.name() + "=" + entry.value);
  return all;
}

bool executes(const std::string& text) {
  for (const auto& entry : parsed(text)) {
    if (can_execute(entry)) return true;
  }
  return false;
}

TEST(GitConfig, ReadsSectionsSubsectionsAndValues) {
  EXPECT_THAT(names(parsed("[core]\n\tbare = true\n[Remote \"Or\\\"i/gin\"]\nURL=x y  # z\n")),
              ElementsAre("core.bare=true", "remote.Or\"i/gin.url=x y"));
}

TEST(GitConfig, ReadsQuotesEscapesContinuationsAndComments) {
  EXPECT_THAT(names(parsed("[a]\nb = \"x # y\" \\\n z\n; c = d\n# e\nf\ng = \"a\\tb\\\\\"\r\n")),
              ElementsAre("a.b=x # y  z", "a.f=", "a.g=a\tb\\"));
}

TEST(GitConfig, ReadsSeveralSettingsBehindOneSectionHeader) {
  EXPECT_THAT(names(parsed("[core] bare = false\n[filter.evil] clean = x\n")),
              ElementsAre("core.bare=false", "filter.evil.clean=x"));
}

TEST(GitConfig, KnowsTheLineOfASetting) {
  EXPECT_EQ(parsed("\n\n[a]\n\nb = c\n").at(0).line, 5);
}

TEST(GitConfig, RefusesWhatGitWouldNotRead) {
  for (const char* bad : {"x = y", "[a", "[]\nb=c", "[a \"b]\nc = d", "[a]\nb = \"c\nd",
                          "[a]\n9 % x", "[a]\nb = \\q"}) {
    EXPECT_FALSE(parse_config(bad).has_value()) << bad;
  }
  EXPECT_THAT(parsed(""), IsEmpty());
}

TEST(GitConfig, SettingsThatRunProgramsAreSeen) {
  for (const char* text : {"[core]\nfsmonitor = touch x",
                           "[core]\nfsmonitor = /bin/x",
                           "[core]\nsshCommand = x",
                           "[core]\nFSMONITOR = .git/x",
                           "[core]\ngitProxy = x",
                           "[core]\npager = x",
                           "[filter \"evil\"]\nsmudge = x",
                           "[filter \"lfs\"]\nprocess = evil",
                           "[diff \"x\"]\ntextconv = x",
                           "[diff]\nexternal = x",
                           "[merge \"x\"]\ndriver = x",
                           "[include]\npath = /etc/x",
                           "[includeIf \"gitdir:/\"]\npath = x",
                           "[remote \"o\"]\nuploadpack = x",
                           "[remote \"o\"]\nurl = ext::sh -c x",
                           "[url \"ext::x\"]\ninsteadOf = https://",
                           "[credential]\nhelper = !x",
                           "[credential \"https://h\"]\nhelper = /bin/x",
                           "[gpg \"ssh\"]\nprogram = x",
                           "[submodule \"x\"]\nupdate = !x",
                           "[pager]\nlog = x"}) {
    EXPECT_TRUE(executes(text)) << text;
  }
}

TEST(GitConfig, SettingsThatEveryToolWritesAreHarmless) {
  for (const char* text :
       {"[core]\nfsmonitor = true", "[core]\nfsmonitor", "[core]\nhooksPath = .githooks",
        "[core]\nbare = false", "[remote \"o\"]\nurl = git@ex.test:a/b.git",
        "[remote \"o\"]\nurl = https://ex.test/a::b", "[alias]\nx = !y", "[user]\nname = x",
        "[credential]\nhelper = store", "[filter \"lfs\"]\nclean = git-lfs clean -- %f",
        "[filter \"lfs\"]\nrequired = true", "[http]\nextraheader = x",
        "[url \"git@h:\"]\ninsteadOf = x", "[pager]\nlog = false",
        "[submodule \"x\"]\nupdate = rebase"}) {
    EXPECT_FALSE(executes(text)) << text;
  }
}

TEST(GitConfig, SubmoduleUrlsAreTrustedByTheirTransport) {
  for (const char* good : {"https://ex.test/a.git", "ssh://git@ex.test/a", "git://ex.test/a",
                           "../sub", "./sub", "git@ex.test:a/b.git", "ex.test:a"}) {
    EXPECT_FALSE(is_untrusted_submodule_url(good)) << good;
  }
  for (const char* bad : {"", "-upload-pack=x", "ext::sh -c x", "file:///etc", "FILE:///etc",
                          "/srv/x", "~/x", "fd::3", "https://-x/y", "https://", "data:x\ny", "sub",
                          "://x", "ftp://ex.test/a", "ssh://-oProxyCommand=x/y"}) {
    EXPECT_TRUE(is_untrusted_submodule_url(bad)) << bad;
  }
}

}  // namespace
}  // namespace cupel::gitfmt
