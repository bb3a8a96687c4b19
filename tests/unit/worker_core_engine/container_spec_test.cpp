#include "worker/core/engine/container_spec.hpp"

#include "tests/unit/worker_core_engine/spec_golden.hpp"
#include "worker/core/engine/seccomp.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

namespace cupel::worker {
namespace {

using namespace spec_test;  // NOLINT(google-build-using-namespace): the helpers of these tests

TEST(ContainerSpec, EveryProfileIsExactlyItsGoldenFile) {
  expect_golden("acquire", spec_of(request(Profile::acquire)));
  expect_golden("mutate", spec_of(request(Profile::mutate)));
  expect_golden("execute", spec_of(request(Profile::execute)));
  expect_golden("tool", spec_of(request(Profile::tool)));
  RunRequest fixture = request(Profile::acquire);
  fixture.mounts.fixture_proxy = "/data/proxy";
  expect_golden("acquire_fixture", spec_of(fixture));
  RunRequest scan = request(Profile::execute);
  scan.mounts.tools = "/data/tools";
  scan.mounts.vulndb = "/data/vulndb";
  scan.go.vendored = true;
  scan.workdir = "sub/module";
  expect_golden("execute_scan_vendored", spec_of(scan));
  RunRequest workspace = request(Profile::execute);
  workspace.go.workspace = "go.work";
  expect_golden("execute_workspace", spec_of(workspace));
}

ProfileContext podman_context() {
  ProfileContext podman = context();
  podman.quirks = {.foreign_variables = true,
                   .seccomp_by_file = true,
                   .drops_runtime = true,
                   .writable_folders = {"/run", "/var/tmp"},
                   .processes_max = 32768};
  podman.seccomp_file = "/data/seccomp.json";
  return podman;
}

TEST(ContainerSpec, WhatAnEngineAddsUnlessItIsToldIsClosed) {
  const auto spec = container_spec(request(Profile::execute), podman_context(), image(), kRun);

  ASSERT_TRUE(spec) << spec.error().text();
  const json parsed = json::parse(*spec);
  EXPECT_EQ(parsed["HostConfig"]["SecurityOpt"][1], "seccomp=/data/seccomp.json");
  for (const json& variable : parsed["Env"])
    EXPECT_NE(variable.get<std::string>().find('='), std::string::npos)
        << "a bare name takes the engine's own variable: " << variable;
  expect_golden("execute_podman", parsed);
}

TEST(KeptVariables, AreTheProfilesWhereTheEngineLeavesOthers) {
  const RunRequest wanted = request(Profile::execute);

  const auto kept = kept_variables(wanted, podman_context(), image(), {});

  ASSERT_TRUE(kept);
  const auto environment = profile_environment(wanted, podman_context(), image()).value();
  EXPECT_EQ(kept->size(), environment.size() + 1);
  EXPECT_EQ(kept->front(), "HOSTNAME");
  EXPECT_TRUE(std::ranges::find(*kept, "SECRET") == kept->end());
  EXPECT_TRUE(kept_variables(wanted, context(), image(), {})->empty());
}

TEST(ContainerSpec, ARunGetsNoMoreProcessorsThanTheEnginesMachineHas) {
  ProfileContext small = context();
  small.engine_cpus = 1;  // Docker: "Range of CPUs is from 0.01 to 1.00"
  ProfileContext large = context();
  large.engine_cpus = 64;

  const auto on_small = container_spec(request(Profile::execute), small, image(), kRun);
  const auto on_large = container_spec(request(Profile::execute), large, image(), kRun);

  EXPECT_EQ(json::parse(on_small.value())["HostConfig"]["NanoCpus"], 1'000'000'000);
  EXPECT_EQ(json::parse(on_large.value())["HostConfig"]["NanoCpus"], 2'000'000'000);
}

TEST(ContainerSpec, AProfileHasTheRuntimeThatIsSetForIt) {
  ProfileContext with_runtime = context();
  with_runtime.runtimes = {{Profile::execute, "runsc"}};

  const auto execute = container_spec(request(Profile::execute), with_runtime, image(), kRun);
  const auto acquire = container_spec(request(Profile::acquire), with_runtime, image(), kRun);

  EXPECT_EQ(json::parse(execute.value())["HostConfig"]["Runtime"], "runsc");
  EXPECT_FALSE(json::parse(acquire.value())["HostConfig"].contains("Runtime"));
}

RunIdentity enforced() {
  RunIdentity identity = kRun;
  identity.egress = {.enforced = true,
                     .network = "cupel-egress-x",
                     .proxy_url = "http://00ff:secret@172.30.0.1:4711",
                     .goproxy = "https://proxy.example"};
  return identity;
}

TEST(ContainerSpec, OnTheEgressNetworkTheProxyIsTheOnlyWayOut) {
  ProfileContext with_netrc = context();
  with_netrc.netrc = "/data/netrc";
  for (const Profile profile : {Profile::acquire, Profile::mutate, Profile::tool}) {
    const auto spec = container_spec(request(profile), with_netrc, image(), enforced());
    ASSERT_TRUE(spec) << spec.error().text();
    EXPECT_EQ(spec->find("netrc"), std::string::npos) << "credentials are the proxy's to add";
    EXPECT_EQ(spec->find("gate.example"), std::string::npos) << "so is the environment's proxy";
    if (profile == Profile::acquire) expect_golden("acquire_enforced", json::parse(*spec));
  }
  const auto execute = container_spec(request(Profile::execute), context(), image(), enforced());
  ASSERT_TRUE(execute);
  EXPECT_EQ(json::parse(*execute), spec_of(request(Profile::execute)));
}

RunIdentity with_exit() {
  RunIdentity identity = enforced();
  identity.egress.network.clear();
  identity.egress.joined = "c0ffee";
  identity.egress.network_namespace = "net:[4026533321]";
  identity.egress.proxy_url = "http://00ff:secret@127.0.0.1:43210";
  return identity;
}

TEST(ContainerSpec, ARunWithAnExitJoinsItsContainerAndAsksForNoNetworkOfItsOwn) {
  const auto spec = container_spec(request(Profile::acquire), context(), image(), with_exit());
  ASSERT_TRUE(spec) << spec.error().text();
  expect_golden("acquire_exit", json::parse(*spec));
  // Engines refuse these beside another container's network.
  const json host = json::parse(*spec)["HostConfig"];
  for (const char* const key : {"Dns", "DnsSearch", "DnsOptions", "Sysctls"})
    EXPECT_FALSE(host.contains(key)) << key;
  EXPECT_FALSE(json::parse(*spec).contains("Hostname"));
  const auto execute = container_spec(request(Profile::execute), context(), image(), enforced());
  ASSERT_TRUE(execute);
  EXPECT_EQ(json::parse(*execute)["HostConfig"]["NetworkMode"], "none");
}

TEST(ContainerSpec, TheDownloadCacheIsReadOnlyAndAskedBeforeTheProxies) {
  for (const Profile profile : {Profile::acquire, Profile::mutate}) {
    RunRequest wanted = request(profile);
    wanted.mounts.downloads = "/data/downloads/files";
    const auto mounts = profile_mounts(wanted);
    ASSERT_TRUE(mounts);
    EXPECT_NE(std::ranges::find(*mounts, BoundMount{"/data/downloads/files", "/downloads", false}),
              mounts->end());
    const auto plain = profile_environment(wanted, context(), image());
    ASSERT_TRUE(plain) << plain.error().text();
    EXPECT_EQ(plain->at("GOPROXY"), "file:///downloads," + context().goproxy);
    EXPECT_NE(plain->at("GOSUMDB"), "off") << "what comes from there is checked all the same";
    const auto held = profile_environment(wanted, context(), image(), enforced().egress);
    ASSERT_TRUE(held);
    EXPECT_EQ(held->at("GOPROXY"), "file:///downloads,https://proxy.example");
  }
}

TEST(ContainerSpec, ThereIsNoDownloadCacheWhereNothingProvesIt) {
  RunRequest wanted = request(Profile::acquire);
  wanted.mounts.downloads = "/data/downloads/files";
  RunRequest fixture = wanted;
  fixture.mounts.fixture_proxy = "/data/proxy";
  RunRequest hidden = wanted;
  hidden.go.go_private = "example.com/secret";
  RunRequest unchecked = wanted;
  unchecked.go.go_nosumdb = "example.com/secret";
  RunRequest execute = request(Profile::execute);
  execute.mounts.downloads = wanted.mounts.downloads;
  RunRequest tool = request(Profile::tool);
  tool.mounts.downloads = wanted.mounts.downloads;
  for (const RunRequest& odd : {fixture, hidden, unchecked, execute, tool}) {
    EXPECT_FALSE(container_spec(odd, context(), image(), kRun)) << name(odd.profile);
  }
}

TEST(ContainerSpec, AnEnforcedRunCantBeGivenDirect) {
  RunIdentity identity = enforced();
  identity.egress.goproxy = "https://proxy.example,direct";
  EXPECT_FALSE(container_spec(request(Profile::acquire), context(), image(), identity));
}

TEST(ContainerSpec, OnlyExecuteIsWithoutNetworkAndAFixtureProxyIsToo) {
  const auto network = [](const RunRequest& wanted) {
    return spec_of(wanted)["HostConfig"]["NetworkMode"];
  };
  EXPECT_EQ(network(request(Profile::execute)), "none");
  EXPECT_EQ(network(request(Profile::acquire)), "bridge");
  EXPECT_EQ(network(request(Profile::tool)), "bridge");
  RunRequest fixture = request(Profile::mutate);
  fixture.mounts.fixture_proxy = "/data/proxy";
  EXPECT_EQ(network(fixture), "none");
}

TEST(ContainerSpec, EveryVariableOfTheImageThatTheProfileDoesNotSetIsRemoved) {
  const json environment = spec_of(request(Profile::execute))["Env"];
  const auto has = [&environment](const std::string& entry) {
    return std::ranges::find(environment, json(entry)) != environment.end();
  };
  EXPECT_TRUE(has("SECRET"));
  EXPECT_TRUE(has("GOLANG_VERSION"));
  EXPECT_FALSE(has("HOSTNAME"));
  EXPECT_FALSE(has("GOFLAGS"));
  EXPECT_TRUE(has("GOFLAGS=-mod=readonly -buildvcs=false"));
}

TEST(ContainerSpec, CgoIsOnOnlyInExecuteAndOnlyWithACompiler) {
  const auto cgo = [](Profile profile, bool compiler) {
    return profile_environment(request(profile), context(), image(compiler))->at("CGO_ENABLED");
  };
  EXPECT_EQ(cgo(Profile::execute, true), "1");
  EXPECT_EQ(cgo(Profile::execute, false), "0");
  EXPECT_EQ(cgo(Profile::acquire, true), "0");
  EXPECT_EQ(cgo(Profile::tool, true), "0");
}

TEST(ContainerSpec, ARoleThatTheProfileHasNotIsRefused) {
  RunRequest staging = request(Profile::execute);
  staging.mounts.staging = "/data/staging";
  RunRequest source = request(Profile::tool);
  source.mounts.source = "/data/src";
  RunRequest database = request(Profile::acquire);
  database.mounts.vulndb = "/data/vulndb";
  for (const RunRequest& wanted : {staging, source, database}) {
    const auto spec = container_spec(wanted, context(), image(), kRun);
    ASSERT_FALSE(spec);
    EXPECT_EQ(spec.error().code, Errc::refused_by_policy);
  }
}

TEST(ContainerSpec, ExecuteRefusesToStartWithoutABuildCache) {
  RunRequest wanted = request(Profile::execute);
  wanted.mounts.gocache.clear();
  EXPECT_FALSE(container_spec(wanted, context(), image(), kRun));
}

TEST(ContainerSpec, PathsThatAreNotCleanAndAbsoluteAreRefused) {
  for (const char* const path : {"relative", "/", "/a/../b", "/a//b", "/a/", "/a/./b", "/a\nb"}) {
    RunRequest wanted = request(Profile::execute);
    wanted.mounts.gocache = path;
    EXPECT_FALSE(container_spec(wanted, context(), image(), kRun)) << path;
  }
  for (const char* const folder : {"../out", "a/../../b", "/etc"}) {
    RunRequest wanted = request(Profile::execute);
    wanted.workdir = folder;
    EXPECT_FALSE(container_spec(wanted, context(), image(), kRun)) << folder;
  }
}

TEST(ContainerSpec, NothingRunsWithoutATimeLimit) {
  RunRequest wanted = request(Profile::execute);
  wanted.limit = Duration{};
  EXPECT_FALSE(container_spec(wanted, context(), image(), kRun));
}

TEST(ContainerSpec, ATagIsNoImageAndAnImageWithVolumesIsUnsafe) {
  RunRequest tag = request(Profile::execute);
  tag.image = "golang:1.26";
  EXPECT_EQ(container_spec(tag, context(), image(), kRun).error().code, Errc::refused_by_policy);
  ImageTraits volumes = image();
  volumes.facts.volumes = {"/data"};
  EXPECT_EQ(container_spec(request(Profile::execute), context(), volumes, kRun).error().code,
            Errc::unsafe_sandbox);
}

TEST(ContainerSpec, ProxiesOnlyAndNoChecksumDatabaseOnlyWithAFixture) {
  for (const char* const goproxy :
       {"direct", "off", "", "https://a.example,direct", "https://a|off"}) {
    ProfileContext odd = context();
    odd.goproxy = goproxy;
    EXPECT_FALSE(container_spec(request(Profile::acquire), odd, image(), kRun)) << goproxy;
    EXPECT_TRUE(container_spec(request(Profile::execute), odd, image(), kRun)) << goproxy;
  }
  ProfileContext unchecked = context();
  unchecked.gosumdb = "off";
  EXPECT_FALSE(container_spec(request(Profile::acquire), unchecked, image(), kRun));
  RunRequest fixture = request(Profile::acquire);
  fixture.mounts.fixture_proxy = "/data/proxy";
  EXPECT_TRUE(container_spec(fixture, unchecked, image(), kRun));
}

TEST(ContainerSpec, NoOtherVariableOfTheHostComesIn) {
  ProfileContext odd = context();
  odd.proxy_environment["LD_PRELOAD"] = "/evil.so";
  EXPECT_FALSE(container_spec(request(Profile::acquire), odd, image(), kRun));
}

TEST(ContainerSpec, TmpStaysBelowTheMemoryLimit) {
  RunRequest wanted = request(Profile::execute);
  wanted.limits.memory_bytes = 1ULL << 30U;
  wanted.limits.tmp_bytes = 4ULL << 30U;
  EXPECT_EQ(spec_of(wanted)["HostConfig"]["Tmpfs"]["/tmp"],
            "rw,nosuid,nodev,exec,mode=1777,size=805306368");
}

TEST(ContainerSpec, TheStoredLogExceedsTwiceTheCapOfBothStreams) {
  RunLimits limits;
  limits.output_bytes = 64ULL << 20U;
  EXPECT_GT(log_bytes_bound(limits), 4 * limits.output_bytes);
}

TEST(ContainerSpec, PrivateModulesStillComeThroughTheProxy) {
  RunRequest wanted = request(Profile::acquire);
  wanted.go.go_private = "example.com/secret";
  const auto environment = profile_environment(wanted, context(), image());
  EXPECT_EQ(environment->at("GOPRIVATE"), "example.com/secret");
  EXPECT_EQ(environment->at("GONOPROXY"), "none");
  EXPECT_EQ(environment->at("GONOSUMDB"), "example.com/secret");
}

TEST(SeccompProfile, LeavesOutWhatReadsOrChangesAnotherProcess) {
  const json profile = json::parse(seccomp_profile());
  EXPECT_EQ(profile["defaultAction"], "SCMP_ACT_ERRNO");
  std::vector<std::string> allowed;
  for (const json& rule : profile["syscalls"]) {
    if (rule["action"] != "SCMP_ACT_ALLOW") continue;
    ASSERT_TRUE(rule["names"].is_array());
    ASSERT_TRUE(rule["args"].is_array());
    for (const json& name : rule["names"]) allowed.push_back(name);
  }
  const auto has = [&allowed](const char* name) {
    return std::ranges::find(allowed, name) != allowed.end();
  };
  for (const char* const name : {"ptrace", "process_vm_readv", "process_vm_writev", "bpf", "mount",
                                 "unshare", "setns", "keyctl", "userfaultfd", "perf_event_open",
                                 "io_uring_setup", "kexec_load", "pidfd_getfd", "clone3"}) {
    EXPECT_FALSE(has(name)) << name;
  }
  for (const char* const name : {"read", "write", "execve", "clone", "futex", "mmap", "socket",
                                 "openat2", "close_range", "memfd_create", "getrandom", "rseq"}) {
    EXPECT_TRUE(has(name)) << name;
  }
}

}  // namespace
}  // namespace cupel::worker
