#include "worker/core/engine/run_jail.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace cupel::worker {
namespace {

using Kind = sandbox::Mount::Kind;
using ::testing::Contains;
using ::testing::Not;

const std::string kJailImage = "sha256:" + std::string(64, 'b');
const JailHost kMachine{.image_root = "/images/b/root",
                        .views = {{"/cg/run", "/sys/fs/cgroup", false}}};

ProfileContext jail_context() {
  ProfileContext all;
  all.wrapper_path = "/opt/cupel/cupel-init";
  all.goproxy = "https://proxy.example";
  all.gosumdb = "sum.example";
  all.netrc = "/data/secrets/netrc";
  return all;
}

RunRequest jail_request(Profile profile) {
  RunRequest all;
  all.profile = profile;
  all.command = {"go", "version"};
  all.limit = std::chrono::seconds(60);
  all.image = kJailImage;
  all.mounts.source = "/data/src";
  all.mounts.modcache = "/data/mod";
  all.mounts.gocache = "/data/cache";
  return all;
}

Result<sandbox::Jail> jail_of(const RunRequest& request) {
  return run_jail(request, jail_context(), ImageTraits{}, kMachine);
}

TEST(RunJail, ExecuteHasNoNetworkAndReadsSourceAndModulesOnly) {
  const auto jail = jail_of(jail_request(Profile::execute));

  ASSERT_TRUE(jail);
  EXPECT_FALSE(jail->share_network);
  const auto has = [&](Kind kind, const std::string& target, const std::string& source) {
    return Contains(sandbox::Mount{.kind = kind, .target = target, .source = source});
  };
  EXPECT_THAT(jail->mounts, has(Kind::ro_bind, "/", "/images/b/root"));
  EXPECT_THAT(jail->mounts, has(Kind::ro_bind, "/src", "/data/src"));
  EXPECT_THAT(jail->mounts, has(Kind::ro_bind, "/modcache", "/data/mod"));
  EXPECT_THAT(jail->mounts, has(Kind::bind, "/gocache", "/data/cache"));
  EXPECT_THAT(jail->mounts, has(Kind::ro_bind, "/cupel-init", "/opt/cupel/cupel-init"));
  EXPECT_THAT(jail->mounts, Not(has(Kind::ro_bind, "/cupel-netrc", "/data/secrets/netrc")));
}

TEST(RunJail, OnlyTheWritableRolesTmpAndSharedMemoryCanBeWritten) {
  const auto jail = jail_of(jail_request(Profile::execute));

  ASSERT_TRUE(jail);
  std::vector<std::string> writable;
  for (const sandbox::Mount& mount : jail->mounts) {
    if (mount.kind == Kind::bind || mount.kind == Kind::tmpfs || mount.kind == Kind::dev)
      writable.push_back(mount.target);
    if (mount.kind == Kind::remount_ro) std::erase(writable, mount.target);
  }
  EXPECT_THAT(writable, ::testing::UnorderedElementsAre("/dev/shm", "/tmp", "/gocache"));
}

TEST(RunJail, WhatTellsOfTheRunIsMountedBeforeItsFolderIsClosed) {
  const auto jail = jail_of(jail_request(Profile::execute));

  ASSERT_TRUE(jail);
  const auto at = [&](Kind kind, const std::string& target) {
    return std::ranges::find_if(jail->mounts, [&](const sandbox::Mount& mount) {
      return mount.kind == kind && mount.target == target;
    });
  };
  EXPECT_LT(at(Kind::tmpfs, "/sys"), at(Kind::ro_bind, "/sys/fs/cgroup"));
  EXPECT_LT(at(Kind::ro_bind, "/sys/fs/cgroup"), at(Kind::remount_ro, "/sys"));
  EXPECT_NE(at(Kind::remount_ro, "/sys"), jail->mounts.end());
}

TEST(RunJail, TheWrapperIsProcessOneUnderAUserWithoutRights) {
  const auto jail = jail_of(jail_request(Profile::execute));

  ASSERT_TRUE(jail);
  EXPECT_TRUE(jail->command_is_pid_1 && jail->user_namespace);
  EXPECT_EQ(jail->command, (std::vector<std::string>{"/cupel-init", "go", "version"}));
  EXPECT_EQ(jail->uid, 65534U);
  EXPECT_TRUE(jail->capabilities.empty());
}

TEST(RunJail, TheEnvironmentIsTheProfilesWithTheHostname) {
  const RunRequest request = jail_request(Profile::execute);
  auto expected = *profile_environment(request, jail_context(), ImageTraits{});
  expected["HOSTNAME"] = "cupel";

  EXPECT_EQ(jail_of(request)->environment, expected);
}

TEST(RunJail, AcquireHasTheHostsNetworkAndTheCredentials) {
  const auto jail = jail_of(jail_request(Profile::acquire));

  ASSERT_TRUE(jail);
  EXPECT_TRUE(jail->share_network);
  EXPECT_THAT(jail->mounts, Contains(sandbox::Mount{.kind = Kind::ro_bind,
                                                    .target = "/cupel-netrc",
                                                    .source = "/data/secrets/netrc"}));
}

TEST(RunJail, ARunThatDemandsEnforcedEgressIsRefusedButNotOneWithoutANetwork) {
  RunRequest request = jail_request(Profile::acquire);
  request.enforced_egress = true;
  const auto refused = jail_of(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsafe_sandbox);

  request.mounts.fixture_proxy = "/data/proxy";
  EXPECT_TRUE(jail_of(request));
}

TEST(RunJail, WhatNoContainerMayDoNoSandboxMayEither) {
  RunRequest tag = jail_request(Profile::execute);
  tag.image = "golang:1.26";
  EXPECT_EQ(jail_of(tag).error().code, Errc::refused_by_policy);

  RunRequest staging = jail_request(Profile::execute);
  staging.mounts.staging = "/data/staging";
  EXPECT_EQ(jail_of(staging).error().code, Errc::refused_by_policy);

  RunRequest outside = jail_request(Profile::execute);
  outside.workdir = "../etc";
  EXPECT_EQ(jail_of(outside).error().code, Errc::refused_by_policy);
}

}  // namespace
}  // namespace cupel::worker
