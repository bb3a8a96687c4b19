#include "worker/git/policy.hpp"

#include "worker/git/repository_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace cupel::worker {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

bool allowed(const std::string& url, const GitPolicy& policy = {}) {
  const auto refused = judge_url(url, policy);
  if (refused) EXPECT_EQ(refused->reason, Reason::source_not_allowed);
  return !refused;
}

TEST(GitUrlTest, BothFormsAreParsed) {
  const auto https = parse_git_url("HTTPS://Git.Ex.Test:8443/Team/a.git");
  ASSERT_TRUE(https.has_value());
  EXPECT_EQ(https->text(), "https://git.ex.test:8443/Team/a.git");
  const auto scp = parse_git_url("git@ex.test:team/a.git");
  ASSERT_TRUE(scp.has_value());
  EXPECT_EQ(scp->scheme, "ssh");
  EXPECT_EQ(scp->text(), "ssh://git@ex.test/~/team/a.git");
  EXPECT_EQ(parse_git_url("https://[2001:db8::1]:8443/a")->text(), "https://[2001:db8::1]:8443/a");
  EXPECT_EQ(parse_git_url("https://user:secret@ex.test/a")->text(), "https://ex.test/a");
  for (const char* bad : {"", "-x", "--upload-pack=x", "ext::sh", "https://", "https://ho\nst/a",
                          "https://h:/a", "https://h:12x/a", "https://-h/a",
                          "ssh://-oProxyCommand=x/a", "a", "a/b:c", ":x", "https://[::1/a"}) {
    EXPECT_FALSE(parse_git_url(bad).has_value()) << bad;
  }
}

TEST(GitPolicyTest, OrdinaryRemotesAreAllowed) {
  for (const char* url : {"https://git.ex.test/a.git", "ssh://git@git.ex.test/a",
                          "git@git.ex.test:a/b", "https://10.1.2.3/a", "https://192.168.1.1/a"}) {
    EXPECT_TRUE(allowed(url)) << url;
  }
}

TEST(GitPolicyTest, LocalPlacesAndOtherTransportsAreRefused) {
  for (const char* url : {"file:///srv/a",
                          "/srv/a",
                          "ext::sh -c x",
                          "-u/x",
                          "http://git.ex.test/a",
                          "git://git.ex.test/a",
                          "ftp://git.ex.test/a",
                          "https://localhost/a",
                          "https://LOCALHOST./a",
                          "https://x.localhost/a",
                          "https://127.0.0.1/a",
                          "https://127.1/a",
                          "https://2130706433/a",
                          "https://0x7f.0.0.1/a",
                          "https://0177.0.0.1/a",
                          "https://0/a",
                          "https://[::1]/a",
                          "https://[::]/a",
                          "https://[::ffff:127.0.0.1]/a",
                          "https://[fe80::1]/a",
                          "https://169.254.169.254/latest",
                          "https://metadata.google.internal/a",
                          "https://user:pass@git.ex.test/a",
                          "https://git.ex.test/../a",
                          "https://git.ex.test/a/..",
                          "ssh://git@localhost/a",
                          "git@127.0.0.1:a"}) {
    EXPECT_FALSE(allowed(url)) << url;
  }
}

TEST(GitPolicyTest, ThePasswordOfAUrlIsNotRepeated) {
  EXPECT_THAT(judge_url("https://user:hunter2@git.ex.test/a", {})->message,
              Not(HasSubstr("hunter2")));
}

TEST(GitPolicyTest, NamesAllowWhatTheyName) {
  GitPolicy policy;
  policy.allowed = {"127.0.0.1:8080", "file:///srv/git/", "https://localhost/team"};
  EXPECT_TRUE(allowed("http://127.0.0.1:8080/a", policy));
  EXPECT_FALSE(allowed("http://127.0.0.1:9090/a", policy));
  EXPECT_TRUE(allowed("file:///srv/git/a", policy));
  EXPECT_TRUE(allowed("/srv/git/a", policy));
  EXPECT_FALSE(allowed("file:///srv/gitlab", policy));
  EXPECT_FALSE(allowed("file:///srv/git/../../etc", policy));
  EXPECT_TRUE(allowed("https://localhost/team/a", policy));
  EXPECT_FALSE(allowed("https://localhost/team2/a", policy));
  GitPolicy local;
  local.allow_local = true;
  EXPECT_TRUE(allowed("file:///anything", local));
  EXPECT_TRUE(allowed("http://127.0.0.1/a", local));
  EXPECT_FALSE(allowed("http://git.ex.test/a", local));
}

TEST(GitPolicyTest, AddressesOfTheHostAreLocal) {
  for (const char* local :
       {"127.0.0.1", "0.0.0.0", "169.254.1.1", "100.64.0.1", "224.0.0.1", "::1",
        "::", "fe80::1%eth0", "ff02::1", "::ffff:169.254.169.254", "64:ff9b::7f00:1"}) {
    EXPECT_TRUE(is_local_address(local)) << local;
  }
  for (const char* other :
       {"192.0.2.1", "10.0.0.1", "2001:db8::1", "::ffff:192.0.2.1", "fd00::1", "nonsense"}) {
    EXPECT_FALSE(is_local_address(other)) << other;
  }
}

TEST(GitCredentials, AreBoundToSchemeHostAndPath) {
  const auto parsed = parse_credentials(
      "# forge\nhttps://bot:s%40cret@git.ex.test/team/\nhttps://all:x@git.ex.test/\n"
      "https://port:y@git.ex.test:8443/\nssh://git@git.ex.test/ key=/etc/keys/id\n");
  ASSERT_TRUE(parsed.has_value());
  GitPolicy policy;
  policy.credentials = *parsed;
  const auto user = [&](const std::string& url) {
    const auto* credential = credential_for(*parse_git_url(url), policy);
    return credential == nullptr ? std::string() : credential->user;
  };
  EXPECT_EQ(user("https://git.ex.test/team/a.git"), "bot");
  EXPECT_EQ(user("https://git.ex.test/team"), "bot");
  EXPECT_EQ(user("https://git.ex.test/teams/a.git"), "all");
  EXPECT_EQ(user("https://git.ex.test:8443/team/a"), "port");
  EXPECT_EQ(user("https://git.ex.test.evil/team/a"), "");
  EXPECT_EQ(user("http://git.ex.test/team/a"), "");
  EXPECT_EQ(user("ssh://git@git.ex.test/a"), "git");
  EXPECT_EQ(user("ssh://root@git.ex.test/a"), "");
  EXPECT_EQ(parsed->at(0).password, "s@cret");
}

TEST(GitCredentials, AFaultNamesTheLineAndNotTheSecret) {
  for (const char* bad :
       {"https://git.ex.test/", "https://user@git.ex.test/", "hunter2", "ssh://git@git.ex.test/",
        "https://u:hunter2@git.ex.test/ key=/x", "ftp://u:hunter2@h/", "https://u:%zz@h/",
        "ssh://git@h/ key=relative", "https://u:a%0ab@h/"}) {
    const auto parsed = parse_credentials(std::string("# one\n") + bad + "\n");
    ASSERT_FALSE(parsed.has_value()) << bad;
    EXPECT_EQ(parsed.error().code, Errc::bad_config);
    EXPECT_THAT(parsed.error().text(), HasSubstr("line 2"));
    EXPECT_THAT(parsed.error().text(), Not(HasSubstr("hunter2")));
  }
}

TEST(GitEnvironment, IsBuiltFromNothing) {
  ::setenv("GIT_DIR", "/evil", 1);
  const auto environment = git_environment(*parse_git_url("https://git.ex.test/a"), {}, "/w/r");
  ::unsetenv("GIT_DIR");
  for (const auto& item : environment) EXPECT_THAT(item, Not(HasSubstr("/evil")));
  for (const char* item : {"HOME=/w/r/home", "GIT_ALLOW_PROTOCOL=https", "GIT_CONFIG_NOSYSTEM=1",
                           "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0"}) {
    EXPECT_THAT(environment, Contains(item));
  }
}

TEST(GitEnvironment, CarriesNoSecret) {
  GitPolicy policy;
  policy.credentials =
      *parse_credentials("https://bot:hunter2@git.ex.test/\nssh://git@git.ex.test/ key=/k'ey\n");
  for (const char* url : {"https://git.ex.test/a", "ssh://git@git.ex.test/a"}) {
    for (const auto& item : git_environment(*parse_git_url(url), policy, "/w/r")) {
      EXPECT_THAT(item, Not(HasSubstr("hunter2")));
    }
  }
  EXPECT_THAT(
      git_environment(*parse_git_url("ssh://git@git.ex.test/a"), policy, "/w/r"),
      Contains(AllOf(StartsWith("GIT_SSH_COMMAND=ssh -F /dev/null"), HasSubstr("-i '/k'\\''ey'"))));
}

TEST(GitEnvironment, TheHeaderIsBoundToItsPlace) {
  GitPolicy policy;
  policy.credentials = *parse_credentials("https://bot:hunter2@git.ex.test/team/\n");
  const auto config = bare_config(*parse_git_url("https://git.ex.test/team/a"), policy);
  EXPECT_THAT(config, HasSubstr("[http \"https://git.ex.test/team/\"]\n\textraHeader = "
                                "\"Authorization: Basic "));
  EXPECT_THAT(config, HasSubstr("followRedirects = false"));
  EXPECT_THAT(bare_config(*parse_git_url("https://git.ex.test/other/a"), policy),
              Not(HasSubstr("Authorization")));
}

}  // namespace
}  // namespace cupel::worker
