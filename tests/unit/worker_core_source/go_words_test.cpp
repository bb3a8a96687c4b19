#include "worker/core/source/go_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::worker {
namespace {

using testing::HasSubstr;

struct Recorded {
  const char* err;
  Reason reason;
  FindingKind kind;
  const char* package;
  const char* words;  ///< Part of the message.
};

// What go 1.26 printed, word for word.
const std::vector<Recorded>& recorded() {
  static const std::vector<Recorded> kAll = {
      {"go: go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)\n",
       Reason::requires_newer_toolchain, FindingKind::environment, "",
       "go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)"},
      {"go: error loading go.mod:\ngo.mod:5: unknown godebug \"nosuchsetting\"\n",
       Reason::bad_go_mod, FindingKind::manifest_error, "", "unknown godebug \"nosuchsetting\""},
      {"verifying ex.test/dep/excl@v1.1.0/go.mod: checksum mismatch\n\tdownloaded: "
       "h1:ds9=\n\tgo.sum:     "
       "h1:AAA=\n\nSECURITY ERROR\nThis download does NOT match an earlier download recorded in "
       "go.sum.\n",
       Reason::checksum_mismatch, FindingKind::security, "ex.test/dep/excl@v1.1.0",
       "go.sum:     h1:AAA="},
      {"verifying ex.test/dep/excl@v1.1.0: checksum mismatch\n\tdownloaded: h1:A=\n\tgo.sum:     "
       "h1:B=\n",
       Reason::checksum_mismatch, FindingKind::security, "ex.test/dep/excl@v1.1.0",
       "checksum mismatch"},
      {"go: errors parsing go.mod:\ngo.mod:5: unknown directive: <<<<<<<\ngo.mod:7: unknown "
       "directive: =======\n",
       Reason::bad_go_mod, FindingKind::manifest_error, "", "unknown directive: <<<<<<<"},
      {"go: errors parsing go.mod:\ngo.mod:5: require ex.test/dep/v2nosuffix: version \"v2.0.0\" "
       "invalid: "
       "should be v0 or v1, not v2\n",
       Reason::bad_go_mod, FindingKind::manifest_error, "", "should be v0 or v1, not v2"},
      {"go: ex.test/dep/badpath@v1.1.0: parsing go.mod:\n\tmodule declares its path as: "
       "ex.test/renamed/badpath\n\t        but was required as: ex.test/dep/badpath\n",
       Reason::module_path_mismatch, FindingKind::acquire_error, "ex.test/dep/badpath@v1.1.0",
       "module declares its path as: ex.test/renamed/badpath"},
      {"malformed go.sum:\ngo.sum:1: wrong number of fields 2\n", Reason::bad_go_sum,
       FindingKind::manifest_error, "", "wrong number of fields 2"},
      {"go: ex.test/dep/badmod@v1.1.0: parsing go.mod: go.mod:6: syntax error (unterminated block "
       "started "
       "at go.mod:5:1)\n",
       Reason::bad_go_mod, FindingKind::acquire_error, "ex.test/dep/badmod@v1.1.0", "syntax error"},
      {"go: ex.test/dep/excl@v1.0.0 (replaced by ./nothere): reading nothere/go.mod: open "
       "/src/nothere/go.mod: no such file or directory\n",
       Reason::bad_go_mod, FindingKind::manifest_error, "", "replaced by ./nothere"},
      {"go: errors parsing go.mod:\ngo.mod:5: invalid toolchain version 'newest': must match "
       "format "
       "go1.23.0 or default\n",
       Reason::bad_go_mod, FindingKind::manifest_error, "", "invalid toolchain version 'newest'"},
      {"go: module . listed in go.work file requires go >= 1.24, but go.work lists go 1.22; to "
       "update it:\n\tgo work use\n",
       Reason::bad_go_work, FindingKind::manifest_error, "", "but go.work lists go 1.22"},
      {"go: malformed module path \"ex.test/\xc3\xbcn\": invalid char '\xc3\xbc'\n",
       Reason::bad_go_mod, FindingKind::manifest_error, "", "malformed module path"},
      {"go: module ex.test/m appears multiple times in workspace\n", Reason::bad_go_work,
       FindingKind::manifest_error, "", "appears multiple times in workspace"},
      {"go: errors parsing go.mod:\ngo.mod:6: usage: exclude module/path v1.2.3\n",
       Reason::bad_go_mod, FindingKind::manifest_error, "", "usage: exclude"},
      {"go: error reading go.mod: missing module declaration. To specify the module path:\n\tgo "
       "mod edit "
       "-module=example.com/mod\n",
       Reason::bad_go_mod, FindingKind::manifest_error, "", "missing module declaration"},
      {"go: cannot load module /other listed in go.work file: open /other/go.mod: no such file or "
       "directory\n",
       Reason::bad_go_work, FindingKind::manifest_error, "", "cannot load module /other"},
      {"go: ex.test/dep/excl@v1.1.0: Get \"http://127.0.0.1:9/ex.test/dep/excl/@v/v1.1.0.mod\": "
       "dial tcp "
       "127.0.0.1:9: connect: connection refused\n",
       Reason::upstream, FindingKind::acquire_error, "ex.test/dep/excl@v1.1.0",
       "connection refused"},
      {"go: ex.test/dep/excl@v1.1.0: Get \"https://no.such.host.invalid/x\": dial tcp: lookup "
       "no.such.host.invalid on 10.0.0.53:53: no such host\n",
       Reason::upstream, FindingKind::acquire_error, "ex.test/dep/excl@v1.1.0", "no such host"},
      // What the worker's own proxy says of a host that it can't reach, of a tunnel and of a fetch.
      {"go: ex.test/x@v1.0.0: Get \"https://proxy.ex.test/ex.test/x/@v/v1.0.0.info\": cupel: "
       "refused "
       "(unreachable): proxy.ex.test:443\n",
       Reason::upstream, FindingKind::acquire_error, "ex.test/x@v1.0.0", "proxy.ex.test:443"},
      {"go: ex.test/x@v1.0.0: reading http://local-0.cupel.invalid/ex.test/x/@v/v1.0.0.info: 502 "
       "Refused\n\tserver response: cupel: refused (unreachable): 127.0.0.1:9\n",
       Reason::upstream, FindingKind::acquire_error, "ex.test/x@v1.0.0", "127.0.0.1:9"},
      {"go: downloading ex.test/x v1.0.0\ngo: ex.test/private/v@v1.0.0: reading "
       "https://proxy.ex.test/ex.test/private/v/@v/v1.0.0.mod: 404 Not Found\n\tserver response: "
       "not found\n",
       Reason::module_not_found, FindingKind::acquire_error, "ex.test/private/v@v1.0.0",
       "404 Not Found"},
      {"go: ex.test/private/v@v1.0.0: reading file:///proxy/ex.test/private/v/@v/v1.0.0.mod: no "
       "such file or "
       "directory\n",
       Reason::module_not_found, FindingKind::acquire_error, "ex.test/private/v@v1.0.0",
       "no such file"},
      {"go: ex.test/x@v1.0.0: reading https://proxy.ex.test/x/@v/v1.0.0.mod: 502 Bad Gateway\n",
       Reason::upstream, FindingKind::acquire_error, "ex.test/x@v1.0.0", "502"},
      {"go: ex.test/x@v1.0.0: reading http://127.0.0.1:81/ex.test/x/@v/v1.0.0.zip: 520 \n",
       Reason::upstream, FindingKind::acquire_error, "ex.test/x@v1.0.0", "520"},
      {"go: ex.test/x@v1.0.0: reading https://proxy.ex.test/x/@v/v1.0.0.zip: 408 Request Timeout\n",
       Reason::upstream, FindingKind::acquire_error, "ex.test/x@v1.0.0", "408"},
      {"go: ex.test/x@v1.0.0: reading https://proxy.ex.test/x/@v/v1.0.0.zip: 410 Gone\n",
       Reason::module_not_found, FindingKind::acquire_error, "ex.test/x@v1.0.0", "410"},
      {"go: ex.test/x@v1.0.0: invalid response from proxy \"https://proxy.ex.test\": parsing time "
       "\"2024-01-00T00:00:00Z\": day out of range\n",
       Reason::upstream, FindingKind::acquire_error, "ex.test/x@v1.0.0", "invalid response"},
      {"go: ex.test/x@v1.0.0: Get \"https://proxy.ex.test/x\": stream error: stream ID 3; "
       "INTERNAL_ERROR; received from peer\n",
       Reason::upstream, FindingKind::acquire_error, "ex.test/x@v1.0.0", "stream error"},
      {"go: ex.test/x@v1.0.0: Get \"https://proxy.ex.test/x\": tls: failed to verify certificate: "
       "x509: "
       "certificate signed by unknown authority\n",
       Reason::upstream, FindingKind::acquire_error, "ex.test/x@v1.0.0", "x509"},
      {"write /modcache/cache/download/x: no space left on device\n", Reason::resource_disk,
       FindingKind::resource_limit, "", "no space left"},
      {"go: something that nobody has seen yet\n", Reason::acquire_incomplete,
       FindingKind::acquire_error, "", "something that nobody has seen yet"},
      {"", Reason::acquire_incomplete, FindingKind::acquire_error, "", "without a word"},
  };
  return kAll;
}

TEST(GoWords, RecordedOutputMeansWhatItMeans) {
  for (const Recorded& one : recorded()) {
    const auto answer = judge_go_failure(one.err, {});
    EXPECT_EQ(name(answer.reason), name(one.reason)) << one.err;
    ASSERT_EQ(answer.findings.size(), 1U);
    EXPECT_EQ(name(answer.findings[0].kind), name(one.kind)) << one.err;
    EXPECT_EQ(answer.findings[0].package, one.package) << one.err;
    EXPECT_THAT(answer.findings[0].message, HasSubstr(one.words));
    EXPECT_EQ(answer.findings[0].message.rfind("go: ", 0), std::string::npos) << one.err;
  }
}

TEST(GoWords, AConclusiveComplaintOutweighsAMissingAnswer) {
  const std::vector<DownloadedModule> modules = {
      {"ex.test/a", "v1.0.0", "ex.test/a@v1.0.0: Get \"https://p\": dial tcp: i/o timeout", "", "",
       ""},
      {"ex.test/b", "v1.0.0", "ex.test/b@v1.0.0: verifying module: checksum mismatch", "", "", ""}};
  EXPECT_EQ(judge_go_failure("", modules).reason, Reason::checksum_mismatch);
}

TEST(GoWords, OnlyMissingModulesMayBeUnneeded) {
  const DownloadedModule missing{"a", "v1.0.0", "a@v1.0.0: reading https://p/a: 404 Not Found",
                                 "",  "",       ""};
  const DownloadedModule network{"b", "v1.0.0", "b@v1.0.0: dial tcp: i/o timeout", "", "", ""};
  const DownloadedModule good{"c", "v1.0.0", "", "/modcache/x.zip", "", "h1:x"};
  EXPECT_TRUE(only_missing_modules("", {missing, good}));
  EXPECT_FALSE(only_missing_modules("", {missing, network}));
  EXPECT_FALSE(only_missing_modules("", {good}));
  EXPECT_FALSE(only_missing_modules("go: errors parsing go.mod:\ngo.mod:1: x\n", {missing}));
}

TEST(GoWords, AModulesOwnWordsAreToldWithItsName) {
  const DownloadedModule broken{"ex.test/dep", "v1.0.0", "zip: not a valid zip file", {}, {}, {}};
  const SourceRefusal why = judge_go_failure({}, {broken});
  EXPECT_EQ(why.reason, Reason::upstream);
  EXPECT_EQ(why.findings.at(0).package, "ex.test/dep@v1.0.0");
  EXPECT_EQ(why.message, "ex.test/dep@v1.0.0: zip: not a valid zip file");
}

TEST(GoWords, ReadsTheObjectsOfADownload) {
  const auto modules = parse_download_json(
      "{\n\t\"Path\": \"ex.test/a{\",\n\t\"Version\": \"v1.0.0\",\n\t\"Zip\": "
      "\"/modcache/a\\\"}.zip\",\n"
      "\t\"Sum\": \"h1:x=\"\n}\n{\"Path\": \"b\", \"Error\": \"no\", \"Origin\": {\"VCS\": "
      "\"git\"}}\n");
  ASSERT_TRUE(modules.has_value());
  ASSERT_EQ(modules->size(), 2U);
  EXPECT_EQ(modules->at(0).path, "ex.test/a{");
  EXPECT_EQ(modules->at(0).zip, "/modcache/a\"}.zip");
  EXPECT_EQ(modules->at(1).error, "no");
  EXPECT_TRUE(parse_download_json("")->empty());
  for (const char* bad : {"x", "{", "{}}", "\"a\"", "{\"Path\": }", "[]", "{} go"}) {
    EXPECT_FALSE(parse_download_json(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace cupel::worker
