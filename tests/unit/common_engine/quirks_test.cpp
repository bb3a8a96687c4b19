#include "common/engine/quirks.hpp"

#include <gmock/gmock.h>

#include <string>

namespace cupel::engine {
namespace {

using ::testing::HasSubstr;

/// What the two answer to GET /version, cut to what is read.
constexpr const char* kDocker =
    R"({"Components":[{"Name":"Engine","Version":"20.10.24"}],"Version":"20.10.24","ApiVersion":"1.41"})";
constexpr const char* kPodman =
    R"({"Components":[{"Name":"Podman Engine","Version":"4.3.1"},{"Name":"Conmon"}],"Version":"4.3.1","ApiVersion":"1.41","MinAPIVersion":"1.24"})";

EngineInfo info(std::vector<std::string> options, std::string cgroups) {
  EngineInfo all;
  all.security_options = std::move(options);
  all.cgroup_version = std::move(cgroups);
  all.runtimes = {"runc", "runsc"};
  all.default_runtime = "runc";
  return all;
}

TEST(QuirksOf, DockerHasNoneAndPodmanIsKnownByItsComponents) {
  const Quirks docker = quirks_of(parse_version(kDocker).value());
  const Quirks podman = quirks_of(parse_version(kPodman).value());

  EXPECT_FALSE(docker.foreign_variables || docker.seccomp_by_file || docker.drops_runtime);
  EXPECT_TRUE(docker.writable_folders.empty());
  EXPECT_EQ(docker.processes_max, 0U);
  EXPECT_TRUE(podman.foreign_variables && podman.seccomp_by_file && podman.drops_runtime);
  EXPECT_THAT(podman.writable_folders, ::testing::ElementsAre("/run", "/var/tmp"));
  EXPECT_GT(podman.processes_max, 0U);
}

TEST(CheckRuntime, RefusesOneThatIsNotListedAndNamesThoseThatAre) {
  const EngineVersion docker = parse_version(kDocker).value();

  EXPECT_TRUE(check_runtime(docker, info({}, "1"), "runsc"));
  const auto refused = check_runtime(docker, info({}, "1"), "kata");

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsafe_sandbox);
  EXPECT_THAT(refused.error().text(), HasSubstr("'kata'"));
  EXPECT_THAT(refused.error().detail, HasSubstr("runc, runsc"));
}

TEST(CheckRuntime, RefusesWhatAnEngineListsAndWouldNotUse) {
  const auto refused = check_runtime(parse_version(kPodman).value(), info({}, "1"), "runsc");

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsafe_sandbox);
  EXPECT_THAT(refused.error().hint, HasSubstr("containers.conf"));
}

TEST(CheckLimits, ARootlessEngineHoldsThemWithVersionTwoOfTheControlGroupsOnly) {
  EXPECT_TRUE(check_limits(info({"name=seccomp"}, "1")));
  EXPECT_TRUE(check_limits(info({"name=rootless", "name=seccomp"}, "2")));
  const auto refused = check_limits(info({"name=rootless", "name=seccomp"}, "1"));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsafe_sandbox);
}

}  // namespace
}  // namespace cupel::engine
