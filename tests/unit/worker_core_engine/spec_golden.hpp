/// Requests and their context for the tests of what the engine is asked for, and golden files.
#pragma once

#include "worker/core/engine/container_spec.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace cupel::worker::spec_test {

using nlohmann::json;

inline const std::string kImage = "sha256:" + std::string(64, 'a');

inline ProfileContext context() {
  ProfileContext all;
  all.fleet = FleetId{1};
  all.worker = WorkerId{2};
  all.incarnation = Incarnation{3};
  all.wrapper_path = "/opt/cupel/cupel-init";
  all.goproxy = "https://proxy.example";
  all.gosumdb = "sum.example";
  all.ca_bundle = "/etc/ssl/ca.pem";
  all.proxy_environment = {{"HTTPS_PROXY", "http://gate.example:3128"}};
  return all;
}

inline ImageTraits image(bool c_compiler = true) {
  ImageTraits traits;
  traits.facts.id = kImage;
  traits.facts.environment = {"PATH=/go/bin:/usr/local/go/bin", "GOLANG_VERSION=1.26.8",
                              "GOFLAGS=-mod=evil", "HOSTNAME=x", "SECRET=1"};
  traits.c_compiler = c_compiler;
  return traits;
}

inline RunRequest request(Profile profile) {
  RunRequest all;
  all.profile = profile;
  all.campaign = CampaignId{4};
  all.task = TaskId{5};
  all.token = Token{6};
  all.command = {"go", "version"};
  all.limit = std::chrono::seconds(60);
  all.image = kImage;
  all.mounts.source = "/data/src";
  all.mounts.modcache = "/data/mod";
  all.mounts.gocache = "/data/cache";
  if (profile == Profile::mutate) all.mounts.staging = "/data/staging";
  if (profile == Profile::tool) {
    all.mounts.source.clear();
    all.mounts.tools = "/data/tools";
  }
  return all;
}

inline const RunIdentity kRun{.run_id = "00ff", .deadline = WallTime{1'800'000'000'000'000}};

inline json spec_of(const RunRequest& wanted) {
  const auto spec = container_spec(wanted, context(), image(), kRun);
  EXPECT_TRUE(spec) << spec.error().text();
  return spec ? json::parse(*spec) : json();
}

/// The seccomp profile has a test of its own; in the golden files it would hide what matters.
inline json without_seccomp(json spec) {
  for (json& option : spec["HostConfig"]["SecurityOpt"]) {
    if (option.get<std::string>().starts_with("seccomp=")) option = "seccomp=(ours)";
  }
  return spec;
}

/// Compares with tests/golden/container_spec/<name>.json; CUPEL_UPDATE_GOLDEN=1 writes it.
inline void expect_golden(const std::string& name, const json& spec) {
  const std::string file =
      std::string(CUPEL_SOURCE_DIR) + "/tests/golden/container_spec/" + name + ".json";
  const std::string text = without_seccomp(spec).dump(2) + "\n";
  if (std::getenv("CUPEL_UPDATE_GOLDEN") != nullptr) std::ofstream(file) << text;
  std::ifstream golden(file);
  ASSERT_TRUE(golden) << file;
  const std::string expected((std::istreambuf_iterator<char>(golden)), {});
  EXPECT_EQ(text, expected) << name;
}

}  // namespace cupel::worker::spec_test
