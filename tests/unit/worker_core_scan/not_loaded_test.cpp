#include "worker/core/scan/not_loaded.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::worker::scan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kEntry = R"({"id": "GO-2099-0001", "affected": [
  {"package": {"name": "example.com/a", "ecosystem": "Go"},
   "ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}, {"fixed": "1.1.0"},
                                              {"introduced": "1.3.0"}, {"fixed": "1.3.2"}]}]},
  {"package": {"name": "example.com/b", "ecosystem": "Go"},
   "ranges": [{"type": "SEMVER", "events": [{"introduced": "1.2.0"}]}]}]})";

Advisories about(std::string module) {
  Advisories all;
  all[module] = advisories_about(module, kEntry);
  return all;
}

bool affected(std::string_view module, std::string_view version) {
  for (const ModuleAdvisory& one : advisories_about(module, kEntry)) {
    if (is_affected(one, version)) return true;
  }
  return false;
}

TEST(NotLoaded, RangesAreHalfOpenAndMayBeSeveral) {
  EXPECT_TRUE(affected("example.com/a", "v1.0.9"));
  EXPECT_FALSE(affected("example.com/a", "v1.1.0"));
  EXPECT_TRUE(affected("example.com/a", "v1.1.0-rc.1"));
  EXPECT_TRUE(affected("example.com/a", "v1.3.1"));
  EXPECT_FALSE(affected("example.com/a", "v1.3.2"));
  EXPECT_FALSE(affected("example.com/b", "v1.1.9"));
  EXPECT_TRUE(affected("example.com/b", "v9.0.0"));
  EXPECT_FALSE(affected("example.com/c", "v1.0.0"));
}

TEST(NotLoaded, AVersionThatCannotBeReadIsTakenToBeAffected) {
  EXPECT_TRUE(affected("example.com/a", "unknown"));
}

TEST(NotLoaded, ARequiredModuleThatWasNotScannedIsTold) {
  const std::vector<Required> required = {{"example.com/a", "v1.0.0", "", false},
                                          {"example.com/quiet", "v1.0.0", "", false}};
  EXPECT_THAT(not_loaded_notes(required, {}, about("example.com/a")),
              ElementsAre("required_not_loaded: example.com/a@v1.0.0: GO-2099-0001"));
  EXPECT_THAT(not_loaded_notes(required, {{"example.com/a", "v1.0.0"}}, about("example.com/a")),
              IsEmpty());
}

TEST(NotLoaded, AModuleReplacedByAFolderIsNotScanned) {
  const std::vector<Required> required = {{"example.com/a", "v1.0.0", "./a", true}};
  EXPECT_THAT(not_loaded_notes(required, {}, about("example.com/a")),
              ElementsAre("replaced_not_scanned: example.com/a: ./a"));
}

TEST(NotLoaded, AModuleReplacedByAnotherIsKnownByItsReplacement) {
  const std::vector<Required> required = {{"example.com/x", "v1.0.0", "example.com/a", false}};
  EXPECT_THAT(not_loaded_notes(required, {}, about("example.com/a")),
              ElementsAre("required_not_loaded: example.com/a@v1.0.0: GO-2099-0001"));
}

TEST(NotLoaded, AWithdrawnOrUnreadableEntrySaysNothing) {
  EXPECT_THAT(advisories_about("m", R"({"id": "A", "withdrawn": "2099-01-01T00:00:00Z",
      "affected": [{"package": {"name": "m"}}]})"),
              IsEmpty());
  EXPECT_THAT(advisories_about("m", "{"), IsEmpty());
  EXPECT_THAT(advisories_about("m", R"({"affected": [1, {"package": 2}]})"), IsEmpty());
}

}  // namespace
}  // namespace cupel::worker::scan
