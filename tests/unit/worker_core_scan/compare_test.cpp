#include "common/core/scan_compare.hpp"

#include <gtest/gtest.h>

namespace cupel {
namespace {

Vulnerability at(std::string osv, VulnLevel level, std::string module = "example.com/m") {
  Vulnerability one;
  one.osv = std::move(osv);
  one.module = std::move(module);
  one.level = level;
  return one;
}

ScanFacts scan(std::vector<Vulnerability> all) {
  ScanFacts facts;
  facts.scanner_version = "v1.9.0";
  facts.database_id = "id";
  facts.database_time = "t";
  facts.go_version = "go1.26.8";
  facts.vulnerabilities = std::move(all);
  return facts;
}

TEST(ScanCompare, EveryAdvisoryIsInExactlyOneList) {
  const auto before = scan({at("A", VulnLevel::symbol), at("B", VulnLevel::package),
                            at("C", VulnLevel::symbol), at("D", VulnLevel::module)});
  const auto after = scan({at("B", VulnLevel::symbol), at("C", VulnLevel::package),
                           at("D", VulnLevel::module), at("E", VulnLevel::module)});
  const ScanDifference difference = compare_scans(before, after);
  EXPECT_EQ(difference.resolved, std::vector{at("A", VulnLevel::symbol)});
  EXPECT_EQ(difference.escalated, std::vector{at("B", VulnLevel::symbol)});
  EXPECT_EQ(difference.persisting,
            (std::vector{at("C", VulnLevel::package), at("D", VulnLevel::module)}));
  EXPECT_EQ(difference.introduced, std::vector{at("E", VulnLevel::module)});
}

TEST(ScanCompare, OneAdvisoryInTwoModulesIsTwo) {
  const auto difference = compare_scans(scan({at("A", VulnLevel::symbol, "m")}),
                                        scan({at("A", VulnLevel::symbol, "n")}));
  EXPECT_EQ(difference.resolved.size(), 1U);
  EXPECT_EQ(difference.introduced.size(), 1U);
}

TEST(ScanCompare, OtherConditionsMakeScansIncomparable) {
  const auto one = scan({});
  EXPECT_EQ(why_incomparable(one, one), "");
  auto other = one;
  other.database_id = "other";
  EXPECT_EQ(why_incomparable(one, other), "the databases differ");
  other = one;
  other.scanner_version = "v1.8.0";
  EXPECT_EQ(why_incomparable(one, other), "the scanners differ");
  other = one;
  other.go_version = "go1.25.1";
  EXPECT_EQ(why_incomparable(one, other), "the Go versions differ");
}

}  // namespace
}  // namespace cupel
