// The go command's own words, as recorded with Go 1.26.8.
#include "worker/core/change/change_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::worker::change {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Row {
  const char* what;
  const char* words;
  ModuleTarget target;
  Reason reason;
  FindingKind kind;
  const char* message;
};

TEST(ChangeWords, EveryEndingOfGoGetHasItsReason) {
  const std::vector<Row> rows = {
      {"a version that needs a newer Go",
       "go: ex.test/dep/newgo@latest: ex.test/dep/newgo@v1.2.0 requires go >= 1.99 (running go "
       "1.26.8; GOTOOLCHAIN=local)\n",
       {"ex.test/dep/newgo", "v1.2.0"},
       Reason::requires_newer_toolchain,
       FindingKind::environment,
       "requires go >= 1.99"},
      {"a package in two modules",
       "go: downloading ex.test/dep/split/sub v0.1.0\n"
       "go: downloading ex.test/dep/split v1.1.0\n"
       "go: ex.test/dep/split/sub: ambiguous import: found package ex.test/dep/split/sub in "
       "multiple modules:\n"
       "\tex.test/dep/split v1.0.0 (/modcache/ex.test/dep/split@v1.0.0/sub)\n"
       "\tex.test/dep/split/sub v0.1.0 (/modcache/ex.test/dep/split/sub@v0.1.0)\n",
       {"ex.test/dep/split/sub", "v0.1.0"},
       Reason::upgrade_not_applicable,
       FindingKind::upgrade_error,
       "ambiguous import: found package ex.test/dep/split/sub in multiple modules"},
      {"a renamed module",
       "go: ex.test/dep/badpath@v1.1.0 requires ex.test/dep/badpath@v1.1.0: parsing go.mod:\n"
       "\tmodule declares its path as: ex.test/renamed/badpath\n"
       "\t        but was required as: ex.test/dep/badpath\n",
       {"ex.test/dep/badpath", "v1.1.0"},
       Reason::upgrade_not_applicable,
       FindingKind::upgrade_error,
       "module declares its path as"},
      {"a broken go.mod of the new version",
       "go: downloading ex.test/dep/badmod v1.1.0\n"
       "go: ex.test/dep/badmod@v1.1.0 requires ex.test/dep/badmod@v1.1.0: parsing go.mod: "
       "go.mod:6: syntax error (unterminated block started at go.mod:5:1)\n",
       {"ex.test/dep/badmod", "v1.1.0"},
       Reason::upgrade_not_applicable,
       FindingKind::upgrade_error,
       "syntax error"},
      {"a branch",
       "go: ex.test/dep/excl@master: invalid version: reading "
       "file:///proxy/ex.test/dep/excl/@v/master.info: no such file or directory\n",
       {"ex.test/dep/excl", "master"},
       Reason::bad_version_query,
       FindingKind::upgrade_error,
       "master"},
      {"a version that isn't there",
       "go: ex.test/dep/major@v1.5.0: reading "
       "file:///proxy/ex.test/dep/major/@v/v1.5.0.info: no such file or directory\n",
       {"ex.test/dep/major", "v1.5.0"},
       Reason::bad_version_query,
       FindingKind::upgrade_error,
       "v1.5.0"},
      {"an excluded version",
       "go: ex.test/dep/excl@v1.2.0: excluded by go.mod\n",
       {"ex.test/dep/excl", "v1.2.0"},
       Reason::upgrade_not_applicable,
       FindingKind::upgrade_error,
       "excluded by go.mod"},
      {"something that the new version needs is gone",
       "go: ex.test/a@v1.1.0 requires\n\tex.test/gone@v1.0.0: reading "
       "https://proxy.example/ex.test/gone/@v/v1.0.0.mod: 404 Not Found\n",
       {"ex.test/a", "v1.1.0"},
       Reason::upgrade_not_applicable,
       FindingKind::upgrade_error,
       "ex.test/gone"},
      {"a proxy in trouble",
       "go: ex.test/a@v1.1.0: reading https://proxy.example/ex.test/a/@v/v1.1.0.info: 503 "
       "Service Unavailable\n",
       {"ex.test/a", "v1.1.0"},
       Reason::upstream,
       FindingKind::acquire_error,
       "503"},
      {"a proxy that says enough",
       "go: ex.test/a@v1.1.0: reading https://proxy.example/ex.test/a/@v/v1.1.0.info: 429 Too "
       "Many Requests\n",
       {"ex.test/a", "v1.1.0"},
       Reason::upstream,
       FindingKind::acquire_error,
       "429"},
      {"a proxy with a status of its own",
       "go: ex.test/a@v1.1.0: reading https://proxy.example/ex.test/a/@v/v1.1.0.zip: 520 \n",
       {"ex.test/a", "v1.1.0"},
       Reason::upstream,
       FindingKind::acquire_error,
       "520"},
      {"a broken line",
       "go: ex.test/a@v1.1.0: Get \"https://proxy.example/ex.test/a/@v/v1.1.0.info\": read tcp "
       "10.0.0.1:2->10.0.0.2:443: read: connection reset by peer\n",
       {"ex.test/a", "v1.1.0"},
       Reason::upstream,
       FindingKind::acquire_error,
       "connection reset"},
      {"other bytes than the checksum database knows",
       "go: downloading ex.test/a v1.1.0\n"
       "go: ex.test/a@v1.1.0: verifying module: checksum mismatch\n"
       "\tdownloaded: h1:a=\n\tsum.example: h1:b=\n\nSECURITY ERROR\n",
       {"ex.test/a", "v1.1.0"},
       Reason::checksum_mismatch,
       FindingKind::security,
       "checksum mismatch"},
      {"a full disk",
       "go: ex.test/a@v1.1.0: write /modcache/cache/x: no space left on device\n",
       {"ex.test/a", "v1.1.0"},
       Reason::resource_disk,
       FindingKind::resource_limit,
       "no space left"},
  };
  for (const Row& row : rows) {
    const SourceRefusal why = judge_get_failure(row.words, {row.target});
    EXPECT_EQ(name(why.reason), name(row.reason)) << row.what;
    ASSERT_EQ(why.findings.size(), 1U) << row.what;
    EXPECT_EQ(name(why.findings[0].kind), name(row.kind)) << row.what;
    EXPECT_THAT(why.findings[0].message, HasSubstr(row.message)) << row.what;
    EXPECT_EQ(why.findings[0].package, "") << row.what;
    EXPECT_EQ(why.message.find('\n'), std::string::npos) << row.what;
  }
}

TEST(ChangeWords, ATidyThatFailsBehindADependencyIsOnlyAGate) {
  const auto failure = judge_tidy_failure(
      "go: finding module for package ex.test/dep/gone\n"
      "go: ex.test/c192/a tested by\n"
      "\tex.test/c192/a.test imports\n"
      "\tex.test/dep/testdep tested by\n"
      "\tex.test/dep/testdep.test imports\n"
      "\tex.test/dep/gone: cannot find module providing package ex.test/dep/gone: module "
      "ex.test/dep/gone: reading file:///proxy/ex.test/dep/gone/@v/list: no such file or "
      "directory\n",
      {"ex.test/dep/testdep"});
  EXPECT_FALSE(failure.refused);
  EXPECT_THAT(failure.words, HasSubstr("ex.test/dep/gone"));
}

TEST(ChangeWords, APackageThatAMovedModuleLostEndsTheChange) {
  const auto failure = judge_tidy_failure(
      "go: finding module for package ex.test/dep/moved/old\n"
      "go: ex.test/c185/a imports\n"
      "\tex.test/dep/moved/old: module ex.test/dep/moved@latest found (v1.1.0), but does not "
      "contain package ex.test/dep/moved/old\n",
      {"ex.test/dep/moved"});
  EXPECT_TRUE(failure.refused);
  EXPECT_EQ(failure.refusal.reason, Reason::upgrade_not_applicable);
  EXPECT_EQ(failure.refusal.findings.at(0).kind, FindingKind::upgrade_error);
}

TEST(ChangeWords, ATidyWithoutTheNetworkSaysNothingAboutTheChange) {
  const auto failure = judge_tidy_failure(
      "go: ex.test/a@v1.0.0: Get \"https://proxy.example/x\": dial tcp: lookup proxy.example: no "
      "such host\n",
      {"ex.test/a"});
  EXPECT_TRUE(failure.refused);
  EXPECT_EQ(failure.refusal.reason, Reason::upstream);
}

TEST(ChangeWords, WarningsOfASuccessAreKept) {
  EXPECT_THAT(
      warnings_of("go: downloading ex.test/dep/retr v1.1.0\n"
                  "go: warning: ex.test/dep/retr@v1.1.0: retracted by module author: published by "
                  "mistake\n"
                  "go: to switch to the latest unretracted version, run:\n"
                  "\tgo get ex.test/dep/retr@latest\n"
                  "go: module ex.test/dep/depr is deprecated: use ex.test/dep/other instead.\n"
                  "go: upgraded ex.test/dep/retr v1.0.0 => v1.1.0\n"),
      ElementsAre("ex.test/dep/retr@v1.1.0: retracted by module author: published by mistake",
                  "module ex.test/dep/depr is deprecated: use ex.test/dep/other instead."));
}

TEST(ChangeWords, TheGoVersionThatIsRequiredIsRead) {
  EXPECT_EQ(required_go("x requires go >= 1.25.0 (running go 1.24.1)"), "1.25.0");
  EXPECT_EQ(required_go("nothing"), "");
}

}  // namespace
}  // namespace cupel::worker::change
