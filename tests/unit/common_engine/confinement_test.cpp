#include "common/engine/confinement.hpp"

#include <gtest/gtest.h>

namespace cupel::engine {
namespace {

Confinement said(std::vector<std::string> options) {
  EngineInfo info;
  info.security_options = std::move(options);
  return confinement_of(info);
}

TEST(Confinement, IsReadFromBothFormsOfTheOptions) {
  EXPECT_EQ(said({"name=seccomp,profile=builtin", "name=cgroupns"}).text(), "seccomp");
  EXPECT_EQ(said({"name=apparmor", "name=seccomp,profile=/etc/p.json", "name=userns"}).text(),
            "seccomp, apparmor, user namespaces");
  EXPECT_EQ(said({"name=rootless", "profile=default,name=seccomp", "name=selinux"}).text(),
            "seccomp, selinux, rootless");
  EXPECT_EQ(said({"apparmor", "seccomp"}).text(), "seccomp, apparmor");
  EXPECT_EQ(said({"name=seccomp,profile=unconfined"}).text(), "seccomp (unconfined)");
  EXPECT_EQ(said({"", ",", "=", "name=", "seccompx"}).text(), "nothing");
}

TEST(Confinement, ThatPodmanIsRootlessStandsBesideItsOptions) {
  // Podman 4.3.1 of a user, cut to what is read.
  const auto info = parse_info(
      R"({"SecurityOptions":["name=seccomp,profile=default"],"CgroupVersion":"2","Rootless":true})");
  ASSERT_TRUE(info) << info.error().text();

  EXPECT_EQ(confinement_of(*info).text(), "seccomp, rootless");
}

TEST(Confinement, AnEngineThatLeavesItsContainersUnconfinedIsRefused) {
  EXPECT_TRUE(check_confined(said({"name=seccomp,profile=default"})));
  EXPECT_TRUE(check_confined(said({"seccomp"})));
  for (const auto& bad : {said({}), said({"name=apparmor"}),
                          said({"name=seccomp,profile=unconfined", "name=apparmor"})}) {
    const auto checked = check_confined(bad);
    ASSERT_FALSE(checked) << bad.text();
    EXPECT_EQ(checked.error().code, Errc::unsafe_sandbox);
    EXPECT_FALSE(checked.error().hint.empty());
  }
}

}  // namespace
}  // namespace cupel::engine
