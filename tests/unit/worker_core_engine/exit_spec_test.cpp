#include "worker/core/engine/exit_spec.hpp"

#include "tests/unit/worker_core_engine/spec_golden.hpp"

namespace cupel::worker {
namespace {

using namespace spec_test;  // NOLINT(google-build-using-namespace): the helpers of these tests

TEST(ExitSpec, AnExitContainerIsExactlyItsGoldenFile) {
  const RunIdentity exit{.run_id = "ee11", .deadline = WallTime{1'800'000'000'000'000}};
  const auto spec = exit_spec(request(Profile::acquire), context(), exit, "00ff");
  ASSERT_TRUE(spec) << spec.error().text();
  expect_golden("exit", json::parse(*spec));
  const auto witness = witness_spec(request(Profile::acquire), context(), exit, "c0ffee");
  ASSERT_TRUE(witness) << witness.error().text();
  expect_golden("exit_witness", json::parse(*witness));
}

TEST(ExitSpec, NothingOfTheRunButItsImageAndLabelsIsInIt) {
  ProfileContext secrets = context();
  secrets.netrc = "/data/netrc";
  const auto spec = exit_spec(request(Profile::acquire), secrets, kRun, "00ff");
  ASSERT_TRUE(spec);
  for (const char* const word : {"netrc", "gate.example", "proxy.example", "/data/"})
    EXPECT_EQ(spec->find(word), std::string::npos) << word;
  EXPECT_EQ(json::parse(*spec)["HostConfig"]["Mounts"].size(), 1U);
}

TEST(ExitSpec, RefusesAnImageByTagAndAWrapperWithoutAPath) {
  RunRequest tagged = request(Profile::acquire);
  tagged.image = "golang:latest";
  EXPECT_FALSE(exit_spec(tagged, context(), kRun, "00ff"));
  ProfileContext lost = context();
  lost.wrapper_path = "cupel-init";
  EXPECT_FALSE(exit_spec(request(Profile::acquire), lost, kRun, "00ff"));
}

}  // namespace
}  // namespace cupel::worker
