#include "worker/core/go/build_text.hpp"
#include "worker/core/go/command_error.hpp"
#include "worker/core/go/package_list.hpp"
#include "worker/core/go/vet_output.hpp"

#include <gtest/gtest.h>

namespace cupel::worker::go {
namespace {

using Kind = TextProblem::Kind;

TEST(CanonicalPackage, CutsTheTestVariants) {
  EXPECT_EQ(canonical_package("m/p"), "m/p");
  EXPECT_EQ(canonical_package("m/p [m/p.test]"), "m/p");
  EXPECT_EQ(canonical_package("m/p.test"), "m/p");
  EXPECT_EQ(canonical_package("m/p.test [m/p.test]"), "m/p");
  EXPECT_EQ(canonical_package("m/p_test [m/p.test]"), "m/p");
  EXPECT_EQ(canonical_package("m/lib [m/p.test]"), "m/lib");
  EXPECT_EQ(canonical_package("m/x_test"), "m/x_test");
}

TEST(BuildText, KeepsTheErrorsOfOnePackageTogether) {
  const BuildText text = read_build_text(
      "go: downloading ex.test/d v1.0.0\n# m/lib\nlib/lib.go:3:23: undefined: a\nlib/lib.go:4:1: "
      "undefined: b\n"
      "\tnote of the second\n# m/other [m/other.test]\nother/o_test.go:1:1: no\n",
      false);
  ASSERT_EQ(text.problems.size(), 2U);
  EXPECT_EQ(text.problems[0].kind, Kind::compile);
  EXPECT_EQ(text.problems[0].package, "m/lib");
  EXPECT_EQ(text.problems[0].line, 3);
  EXPECT_EQ(text.problems[0].message,
            "lib/lib.go:3:23: undefined: a\nlib/lib.go:4:1: undefined: b\n\tnote of the second");
  EXPECT_EQ(text.problems[1].package, "m/other [m/other.test]");
}

TEST(BuildText, TakesThePackageOfALoadErrorFromItsWords) {
  const BuildText text = read_build_text(
      "package m/a\n\timports m/b from a.go\n\timports m/a from b.go: import cycle not allowed\n"
      "m/c: build constraints exclude all Go files in /src/c\n"
      "found packages a (a.go) and b (b.go) in /src/p\n",
      false);
  ASSERT_EQ(text.problems.size(), 3U);
  EXPECT_EQ(text.problems[0].package, "m/a");
  EXPECT_NE(text.problems[0].message.find("import cycle"), std::string::npos);
  EXPECT_EQ(text.problems[1].package, "m/c");
  EXPECT_EQ(text.problems[2].package, "");
  EXPECT_EQ(text.problems[2].kind, Kind::load);
}

TEST(BuildText, TakesThePackageWhoseTestsCannotBeLoaded) {
  const BuildText text = read_build_text(
      "package m/u (test)\n\timports m/c: build constraints exclude all Go files in /src/c\n",
      false);
  ASSERT_EQ(text.problems.size(), 1U);
  EXPECT_EQ(text.problems[0].package, "m/u");
}

TEST(BuildText, KeepsAComplaintOfTheGoCommandWithItsLines) {
  const BuildText text = read_build_text(
      "go: errors parsing go.mod:\ngo.mod:5: unknown directive: foo\ngo.mod:9: invalid\n", false);
  ASSERT_EQ(text.problems.size(), 1U);
  EXPECT_EQ(text.problems[0].kind, Kind::command);
  EXPECT_EQ(text.problems[0].message,
            "go: errors parsing go.mod:\ngo.mod:5: unknown directive: foo\ngo.mod:9: invalid");
}

TEST(BuildText, SeesThatNothingMatched) {
  EXPECT_TRUE(read_build_text("go: warning: \"./...\" matched no packages\n", false).no_packages);
  EXPECT_TRUE(read_build_text("no packages to test\n", false).no_packages);
}

TEST(VetOutput, ReadsConcatenatedObjectsAndTheTextBesideThem) {
  const VetOutput vet = read_vet_output(
      R"({"m/a":{"assign":[{"posn":"/src/a/a.go:4:2","message":"self-assignment of x"}]}}
{"m/a [m/a.test]":{"assign":[{"posn":"/src/a/a.go:4:2","message":"self-assignment of x"}],"bad":{"error":"gave up"}}}
{}
)",
      "# m/b\n# [m/b]\nvet: b/b_test.go:6:17: cannot use 1\nc/c.go:1:2: cannot find module\n",
      true);
  ASSERT_EQ(vet.findings.size(), 1U);
  EXPECT_EQ(vet.findings[0].package, "m/a");
  EXPECT_EQ(vet.findings[0].analyzer, "assign");
  EXPECT_EQ(vet.findings[0].line, 4);
  ASSERT_EQ(vet.text.problems.size(), 2U);
  EXPECT_EQ(vet.text.problems[1].kind, Kind::load);
  EXPECT_EQ(vet.text.problems[0].package, "m/b");
  EXPECT_EQ(vet.text.problems[0].kind, Kind::compile);
  EXPECT_TRUE(vet.complete);
}

TEST(VetOutput, ReadsTheObjectsOfOlderGoOnStderr) {
  const VetOutput vet = read_vet_output(
      "",
      "# m/a\n{\n\t\"m/a\": {\n\t\t\"printf\": [\n\t\t\t{\n\t\t\t\t\"posn\": \"/src/a.go:1:2\",\n"
      "\t\t\t\t\"message\": \"braces } in { text\"\n\t\t\t}\n\t\t]\n\t}\n}\n",
      true);
  ASSERT_EQ(vet.findings.size(), 1U);
  EXPECT_EQ(vet.findings[0].message, "braces } in { text");
  EXPECT_TRUE(vet.text.problems.empty());
}

TEST(VetOutput, ReadsPlainText) {
  const VetOutput vet = read_vet_output("", "b/b.go:5:2: unreachable code\n", false);
  ASSERT_EQ(vet.findings.size(), 1U);
  EXPECT_EQ(vet.findings[0].file, "b/b.go");
  EXPECT_EQ(vet.findings[0].message, "unreachable code");
}

TEST(VetOutput, SaysWhenAnObjectIsBroken) {
  EXPECT_FALSE(read_vet_output("{\"m/a\": {", "", true).complete);
  EXPECT_FALSE(read_vet_output("{\"m/a\": }", "", true).complete);
}

TEST(PackageList, KnowsDirectoriesErrorsAndCgo) {
  const PackageList list = read_package_list(
      R"({"Dir":"/src/sub","ImportPath":"m","TestGoFiles":["a_test.go"],"Imports":["m/c"]}
{"Dir":"/src/sub/c","ImportPath":"m/c","CgoFiles":["c.go"]}
{"Dir":"/usr/local/go/src/fmt","ImportPath":"fmt","Standard":true,"DepOnly":true}
{"ImportPath":"m/bad","Error":{"Err":"malformed import path"}})",
      "sub");
  EXPECT_TRUE(list.complete);
  EXPECT_EQ(list.matched(), 3U);
  EXPECT_EQ(list.find("m")->dir, ".");
  EXPECT_EQ(list.owner_of("c/c.go")->import_path, "m/c");
  EXPECT_EQ(list.owner_of("a.go")->import_path, "m");
  EXPECT_EQ(list.find("m/bad")->error, "malformed import path");
  const auto cgo = [](const ListedPackage& package) { return package.uses_cgo; };
  ASSERT_NE(list.nearest_import("m", cgo), nullptr);
  EXPECT_EQ(list.nearest_import("m", cgo)->import_path, "m/c");
  EXPECT_EQ(list.nearest_import("nowhere", cgo), nullptr);
}

TEST(PackageList, KnowsExternalTestsFromAPackageOfThatName) {
  const PackageList list = read_package_list(
      R"({"ImportPath":"m/p"}{"ImportPath":"m/q_test"}{"ImportPath":"m/q"})", ".");
  EXPECT_EQ(list.tested("m/p_test"), "m/p");
  EXPECT_EQ(list.tested("m/q_test"), "m/q_test") << "a package may be called so";
  EXPECT_EQ(list.tested("m/x_test"), "m/x_test");
  EXPECT_EQ(list.tested("m/p"), "m/p");
}

TEST(PackageList, IsIncompleteWhenTheTextBreaksOff) {
  EXPECT_FALSE(read_package_list("{\"ImportPath\":\"m\"}\n{\"Import", ".").complete);
  EXPECT_FALSE(read_package_list("no list", ".").complete);
  EXPECT_FALSE(
      read_package_list("{\"ImportPath\":" + std::string(50'000, '[') + "}", ".").complete);
  EXPECT_TRUE(read_package_list("", ".").complete);
}

TEST(CommandError, KnowsWhatTheGoCommandComplainsOf) {
  const auto reason = [](std::string_view message) {
    const auto known = classify_command_error(message);
    return known ? known->reason : Reason::none;
  };
  EXPECT_EQ(reason("go: go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)"),
            Reason::requires_newer_toolchain);
  EXPECT_EQ(
      reason("go: ex.test/d@v1.0.0 requires go >= 1.30 (running go 1.26.8; GOTOOLCHAIN=local)"),
      Reason::requires_newer_toolchain);
  EXPECT_EQ(reason("go: error loading go.mod:\ngo.mod:5: unknown godebug \"x\""),
            Reason::bad_go_mod);
  EXPECT_EQ(reason("go: inconsistent vendoring in /src:"), Reason::bad_go_mod);
  EXPECT_EQ(reason("go: errors parsing go.work:\ngo.work:3: x"), Reason::bad_go_work);
  EXPECT_EQ(reason("verifying ex.test/d@v1.0.0: checksum mismatch"), Reason::checksum_mismatch);
  EXPECT_EQ(reason("malformed go.sum:\n/src/go.sum:1: wrong number of fields 2"),
            Reason::bad_go_sum);
  EXPECT_EQ(reason("go: -race requires cgo; enable cgo by setting CGO_ENABLED=1"),
            Reason::race_unavailable);
  EXPECT_EQ(reason("go: updates to go.mod needed"), Reason::acquire_incomplete);
  EXPECT_EQ(reason("go: updating go.sum: open /src/go.work.sum: read-only file system"),
            Reason::acquire_incomplete);
  EXPECT_EQ(reason("go: something new"), Reason::none);
}

TEST(EnvironmentTag, NamesWhatTheSandboxTookAway) {
  EXPECT_EQ(environment_tag("open out.txt: read-only file system"), "readonly_source");
  EXPECT_EQ(environment_tag("chown x: operation not permitted"), "needs_privilege");
  EXPECT_EQ(environment_tag("dial tcp: lookup x on y: no such host"), "no_network");
  EXPECT_EQ(environment_tag("listen tcp6 [::1]:0: bind: cannot assign requested address"), "ipv6");
  EXPECT_EQ(environment_tag("local is UTC"), "timezone");
  EXPECT_EQ(environment_tag("got 2020-01-01 00:00:00 +0000 UTC"), "");
  EXPECT_EQ(environment_tag("exec: \"git\": executable file not found in $PATH"),
            "missing_program");
  EXPECT_EQ(environment_tag("got 1, want 2"), "");
}

}  // namespace
}  // namespace cupel::worker::go
