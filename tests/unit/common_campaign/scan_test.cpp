// validate.scan and the parsers of custom checks.
#include "common/campaign/parse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::campaign {
namespace {

using testing::HasSubstr;

ParsedCampaign parsed_scan(const std::string& rest) {
  return parse_yaml(
      "apiVersion: cupel/v1\nkind: Campaign\nname: n\nrepositories:\n  - git: "
      "https://example.com/r\n" +
          rest,
      "c.yaml");
}

Campaign good(const std::string& rest) {
  auto result = parsed_scan(rest);
  EXPECT_TRUE(result) << text::render(result.diagnostics);
  return result ? *result.campaign : Campaign{};
}

std::string scan_faults(const std::string& rest) {
  return text::render(parsed_scan(rest).diagnostics);
}

TEST(ScanGrammar, AScanIsOffUnlessItIsAskedFor) {
  EXPECT_FALSE(good("").scan.enabled);
  EXPECT_FALSE(good("validate: {scan: false}\n").scan.enabled);
  EXPECT_FALSE(good("validate: {scan: {enabled: false, database: x}}\n").scan.enabled);
  EXPECT_TRUE(good("validate: {scan: true}\n").scan.enabled);
  EXPECT_TRUE(good("validate: {scan: {database: x}}\n").scan.enabled);
}

TEST(ScanGrammar, DatabaseAndTimeoutAreTaken) {
  const ScanPlan scan = good("validate: {scan: {database: ./db.zip, timeout: 3m}}\n").scan;
  EXPECT_EQ(scan.database, "./db.zip");
  EXPECT_EQ(scan.limit_s, 180U);
  EXPECT_FALSE(scan.settled());
}

TEST(ScanGrammar, FaultsHaveAPlace) {
  EXPECT_THAT(scan_faults("validate: {scan: maybe}\n"), HasSubstr("neither true nor false"));
  EXPECT_THAT(scan_faults("validate: {scan: {databse: x}}\n"),
              HasSubstr("did you mean \"database\""));
  EXPECT_THAT(scan_faults("validate: {scan: {timeout: 1s}}\n"), HasSubstr("not between"));
  EXPECT_THAT(scan_faults("validate: {scan: {snapshot: {}}}\n"), HasSubstr("unknown key"));
  EXPECT_THAT(scan_faults("validate: {scan: [x]}\n"), HasSubstr("mapping"));
}

TEST(ScanGrammar, AnUpgradeOfWhatIsVulnerableScans) {
  EXPECT_TRUE(good("change: {upgrade: {select: vulnerable}}\n").scan.enabled);
  EXPECT_THAT(scan_faults("change: {upgrade: {select: vulnerable}}\nvalidate: {scan: false}\n"),
              HasSubstr("needs the scan"));
}

TEST(ScanGrammar, ASnapshotSurvivesTheCanonicalForm) {
  Campaign campaign = good("validate: {scan: {database: x}}\n");
  campaign.scan.snapshot = ScanSnapshot{sha256("tar"), sha256("id").hex(), "2026-01-02T00:00:00Z"};
  const auto again = from_canonical_json(to_canonical_json(campaign));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->scan, campaign.scan);
  EXPECT_TRUE(again->scan.settled());
}

TEST(ScanGrammar, AProblemSurvivesTheCanonicalForm) {
  Campaign campaign = good("validate: {scan: true}\n");
  campaign.scan.problem = Reason::vulndb_corrupt;
  campaign.scan.message = "no index";
  const auto again = from_canonical_json(to_canonical_json(campaign));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->scan, campaign.scan);
  campaign.scan.problem = Reason::no_go_mod;
  EXPECT_FALSE(from_canonical_json(to_canonical_json(campaign)));
}

TEST(ScanGrammar, ACustomCheckNamesItsParser) {
  const std::string check = "validate: {checks: [{name: lint, command: [lint], parser: ";
  EXPECT_EQ(good(check + "sarif}]}\n").settings.custom[0].parser, CheckParser::sarif);
  EXPECT_EQ(good("validate: {checks: [{name: lint, command: [lint]}]}\n").settings.custom[0].parser,
            CheckParser::exit_code);
  EXPECT_THAT(scan_faults(check + "xml}]}\n"), HasSubstr("none of exit_code, lines, sarif"));
  const Campaign campaign = good(check + "lines}]}\n");
  EXPECT_EQ(*from_canonical_json(to_canonical_json(campaign)), campaign);
}

}  // namespace
}  // namespace cupel::campaign
