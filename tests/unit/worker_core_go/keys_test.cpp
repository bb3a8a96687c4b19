#include "worker/core/go/keys.hpp"

#include <gtest/gtest.h>

namespace cupel::worker::go {
namespace {

Finding keyed_finding(FindingKind kind, std::string package, std::string test,
                      std::string message) {
  Finding out;
  out.kind = kind;
  out.package = std::move(package);
  out.test = std::move(test);
  out.message = std::move(message);
  return out;
}

UnitInfo module(std::string path) {
  UnitInfo unit;
  unit.module_path = std::move(path);
  return unit;
}

TEST(Keys, BothWordsForABrokenPackageAreOneFamily) {
  Finding build = keyed_finding(FindingKind::build_failure, "m/p", "", "p.go:1:2: undefined: x");
  Finding setup = keyed_finding(FindingKind::setup_failure, "m/p", "", "p.go:9:2: cannot find");
  identify(build, module("m"));
  identify(setup, module("m"));
  EXPECT_EQ(build.key, setup.key);
}

TEST(Keys, TheMessageOfATestIsOnlyInformation) {
  Finding before = keyed_finding(FindingKind::test_failure, "m/p", "T/a", "p_test.go:3: got 17");
  Finding after = keyed_finding(FindingKind::test_failure, "m/p", "T/a", "p_test.go:9: got 18");
  Finding other = keyed_finding(FindingKind::test_failure, "m/p", "T/b", "p_test.go:3: got 17");
  for (Finding* item : {&before, &after, &other}) identify(*item, module("m"));
  EXPECT_EQ(before.key, after.key);
  EXPECT_NE(before.key, other.key);
}

TEST(Keys, VetIsToldByAnalyzerFileAndMessageButNotByLine) {
  Finding first = keyed_finding(FindingKind::vet, "m/p", "", "unreachable code");
  first.analyzer = "unreachable";
  first.file = "p/a.go";
  first.line = 4;
  Finding moved = first;
  moved.line = 40;
  Finding elsewhere = first;
  elsewhere.file = "p/b.go";
  for (Finding* item : {&first, &moved, &elsewhere}) identify(*item, module("m"));
  EXPECT_EQ(first.key, moved.key);
  EXPECT_NE(first.key, elsewhere.key);
  EXPECT_EQ(first.signature, elsewhere.signature);
}

TEST(Keys, ASeparatorInANameIsEscaped) {
  Finding one = keyed_finding(FindingKind::test_failure, "m/p", "T/a|b", "x");
  Finding two = keyed_finding(FindingKind::test_failure, "m/p|T/a", "b", "x");
  identify(one, module("m"));
  identify(two, module("m"));
  EXPECT_NE(one.key, two.key);
}

TEST(Signatures, EqualCodeInTwoRepositoriesIsEqual) {
  Finding here = keyed_finding(
      FindingKind::build_failure, "ex.test/one/a/b", "",
      "a/b/x.go:3:23: undefined: dep.Gone\na/b/x.go:4:1: cannot use ex.test/one/a/b.T");
  Finding there =
      keyed_finding(FindingKind::build_failure, "other.test/two/q", "",
                    "q/y.go:77:2: undefined: dep.Gone\nq/y.go:9:1: cannot use other.test/two/q.T");
  identify(here, module("ex.test/one"));
  identify(there, module("other.test/two"));
  EXPECT_EQ(here.signature, there.signature);
  EXPECT_NE(here.key, there.key);
}

TEST(Signatures, APanicIsToldByItsWordsNotByItsFrames) {
  const std::string words = "panic: boom\n\ngoroutine ";
  EXPECT_EQ(signature_text(words + "19 [running]:\nex.test/m.T(0x1)\n", "ex.test/m"),
            signature_text(words + "7 [running]:\nex.test/n.Q(0x2)\n", "ex.test/n"));
  EXPECT_NE(signature_text("panic: boom", "m"), signature_text("panic: bang", "m"));
}

TEST(Signatures, WithoutAMessageTheTestNameIsTheSignature) {
  Finding silent = keyed_finding(FindingKind::test_failure, "m/p", "TestA", "");
  Finding other = keyed_finding(FindingKind::test_failure, "m/p", "TestB", "");
  identify(silent, module("m"));
  identify(other, module("m"));
  EXPECT_NE(silent.signature, other.signature);
}

}  // namespace
}  // namespace cupel::worker::go
