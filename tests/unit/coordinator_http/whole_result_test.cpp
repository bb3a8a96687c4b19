#include "coordinator/http/whole_result.hpp"

#include "common/core/json.hpp"
#include "common/wire/codec.hpp"
#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cupel::coordinator::http {
namespace {

class WholeResult : public testing::Test {
 protected:
  WholeResult() {
    Finding finding;
    finding.message = std::string(1'000, 'm');
    result_.findings.assign(2'000, finding);
    artifact_ = *wire::split_findings(result_);
  }

  tests::TempDir dir_;
  fs::ArtifactStore artifacts_ =
      *fs::ArtifactStore::open(dir_.path() / "artifacts", {.reserve_bytes = 0});
  TaskResult result_;
  std::string artifact_;
};

TEST_F(WholeResult, BringsBackWhatTravelledAsAnArtifact) {
  auto upload = artifacts_.upload(result_.findings_artifact);
  ASSERT_TRUE(upload);
  ASSERT_TRUE((*upload)->write(artifact_));
  ASSERT_TRUE((*upload)->finish());

  const auto json = whole_result(to_json(result_).dump(), artifacts_);

  EXPECT_EQ(json["findings"].size(), 2'000U);
  EXPECT_EQ(json["findings_truncated"], false);
}

TEST_F(WholeResult, KeepsTheFirstOnesAndSaysSoWhereTheArtifactIsGone) {
  const auto json = whole_result(to_json(result_).dump(), artifacts_);

  EXPECT_EQ(json["findings"].size(), result_.findings.size());
  EXPECT_EQ(json["findings_truncated"], true);
  EXPECT_NE(json["evidence"]["notes"][0].get<std::string>().find("is gone"), std::string::npos);
}

TEST_F(WholeResult, LeavesOthersAsTheyAre) {
  EXPECT_TRUE(whole_result("", artifacts_).is_null());
  EXPECT_EQ(whole_result(R"({"findings":[]})", artifacts_)["findings"].size(), 0U);
}

}  // namespace
}  // namespace cupel::coordinator::http
