#include "common/sandbox/workspace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace cupel::sandbox {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Kind = Mount::Kind;
using Git = WorkspaceFacts::Git;

WorkspaceRequest request() {
  WorkspaceRequest wanted;
  wanted.command = {"go", "build"};
  wanted.project = "/home/u/p";
  wanted.workdir = "/home/u/p/sub";
  return wanted;
}

WorkspaceFacts facts() {
  WorkspaceFacts facts;
  facts.uid = 1000;
  facts.gid = 1000;
  facts.home = "/home/u";
  facts.cache_dir = "/home/u/.cache/cupel/sandbox/p-1/cache";
  facts.environment = {{"PATH", "/usr/bin:/home/u/.cargo/bin"}, {"LC_ALL", "C.UTF-8"}};
  facts.system = {{"/usr", PathFact::Kind::directory}, {"/bin", PathFact::Kind::link, "usr/bin"}};
  facts.git = Git::directory;
  facts.git_present = {"config", "hooks"};
  return facts;
}

std::size_t place_of(const WorkspacePlan& plan, Kind kind, const std::string& target) {
  const auto& mounts = plan.jail.mounts;
  const auto found = std::ranges::find_if(
      mounts, [&](const Mount& mount) { return mount.kind == kind && mount.target == target; });
  EXPECT_NE(found, mounts.end()) << target;
  return static_cast<std::size_t>(found - mounts.begin());
}

Guarantee::State state_of(const WorkspacePlan& plan, const std::string& name) {
  for (const Guarantee& one : plan.guarantees) {
    if (one.name == name) return one.state;
  }
  ADD_FAILURE() << name;
  return Guarantee::State::not_enforced;
}

WorkspacePlan plan_of(const WorkspaceRequest& wanted, const WorkspaceFacts& known) {
  auto plan = plan_workspace(wanted, known);
  EXPECT_TRUE(plan) << plan.error().text();
  return plan ? *plan : WorkspacePlan{};
}

TEST(PlanWorkspace, HidesTheHomeBeforeItShowsTheProject) {
  const WorkspacePlan plan = plan_of(request(), facts());

  EXPECT_LT(place_of(plan, Kind::tmpfs, "/home/u"), place_of(plan, Kind::bind, "/home/u/p"));
  EXPECT_LT(place_of(plan, Kind::tmpfs, "/home/u"),
            place_of(plan, Kind::bind, "/home/u/.cache/cupel/sandbox/p-1/cache"));
  EXPECT_EQ(place_of(plan, Kind::remount_ro, "/"), plan.jail.mounts.size() - 1);
  EXPECT_FALSE(plan.jail.share_network);
}

TEST(PlanWorkspace, GitCanNotBeMovedAwayUnderItsReadOnlyParts) {
  const WorkspacePlan plan = plan_of(request(), facts());

  const std::size_t git = place_of(plan, Kind::bind, "/home/u/p/.git");
  for (const char* part : {"config", "config.worktree", "hooks"})
    EXPECT_LT(git, place_of(plan, Kind::ro_bind, std::string("/home/u/p/.git/") + part));
  ASSERT_EQ(plan.placeholders.size(), 1U);
  EXPECT_EQ(plan.placeholders.at(0).path, "/home/u/p/.git/config.worktree");
  EXPECT_THAT(plan.must_not_appear, Contains("/home/u/p/.git/commondir"));
}

TEST(PlanWorkspace, AGitFileIsReadOnlyAndALinkIsRefused) {
  WorkspaceFacts known = facts();
  known.git = Git::file;
  place_of(plan_of(request(), known), Kind::ro_bind, "/home/u/p/.git");

  known.git_link = "/home/u/p/.git/hooks";
  const auto refused = plan_workspace(request(), known);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused_by_policy);
}

TEST(PlanWorkspace, RefusesProjectsThatHoldWhatMustBeHidden) {
  for (const char* project : {"/", "/home", "/home/u", "/etc/x", "/home/u/.cache"}) {
    WorkspaceRequest wanted = request();
    wanted.project = project;
    wanted.workdir = project;
    EXPECT_FALSE(plan_workspace(wanted, facts())) << project;
  }
}

TEST(PlanWorkspace, SocketsOfVisibleFoldersAreCovered) {
  WorkspaceFacts known = facts();
  known.sockets = {"/home/u/p/run/agent.sock"};

  const WorkspacePlan plan = plan_of(request(), known);

  const std::size_t at = place_of(plan, Kind::ro_bind, "/home/u/p/run/agent.sock");
  EXPECT_EQ(plan.jail.mounts.at(at).source, "/dev/null");
  known.sockets_complete = false;
  EXPECT_EQ(state_of(plan_of(request(), known), "host_sockets"), Guarantee::State::not_enforced);
}

TEST(PlanWorkspace, AbstractSocketsAreClosedOrReported) {
  WorkspaceRequest wanted = request();
  WorkspaceFacts known = facts();
  EXPECT_EQ(state_of(plan_of(wanted, known), "abstract_sockets"), Guarantee::State::enforced);

  wanted.network = true;
  EXPECT_EQ(state_of(plan_of(wanted, known), "abstract_sockets"), Guarantee::State::not_enforced);
  EXPECT_FALSE(plan_of(wanted, known).scope_sockets);

  known.scope_sockets = true;
  EXPECT_EQ(state_of(plan_of(wanted, known), "abstract_sockets"), Guarantee::State::enforced);
  EXPECT_TRUE(plan_of(wanted, known).scope_sockets);
}

TEST(PlanWorkspace, SaysWhichProgramsOfThePathAreHidden) {
  EXPECT_THAT(plan_of(request(), facts()).notes, Contains(HasSubstr("--allow-home .cargo/bin")));

  WorkspaceFacts known = facts();
  known.allowed = {{"/home/u/.cargo", PathFact::Kind::directory, "/home/u/.cargo"}};
  EXPECT_TRUE(plan_of(request(), known).notes.empty());
}

TEST(PlanWorkspace, RefusesWordsThatWouldEndTheArgumentListEarly) {
  WorkspaceRequest wanted = request();
  wanted.command.push_back(std::string("a\0--bind", 8));
  EXPECT_FALSE(plan_workspace(wanted, facts()));
  wanted = request();
  wanted.set["A"] = std::string("x\0y", 3);
  EXPECT_FALSE(plan_workspace(wanted, facts()));
  wanted = request();
  wanted.allow_home = {"../other"};
  EXPECT_FALSE(plan_workspace(wanted, facts()));
}

TEST(WorkspaceEnvironment, IsAnAllowListWithCachesOfOurs) {
  WorkspaceFacts known = facts();
  known.environment["AWS_SECRET_ACCESS_KEY"] = "secret";
  known.environment["SSH_AUTH_SOCK"] = "/run/agent";
  known.environment["LD_PRELOAD"] = "/home/u/p/x.so";
  known.environment["GOCACHE"] = "/home/u/.cache/go-build";

  const auto environment = plan_of(request(), known).jail.environment;

  for (const char* name : {"AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "LD_PRELOAD"})
    EXPECT_FALSE(environment.contains(name)) << name;
  EXPECT_EQ(environment.at("LC_ALL"), "C.UTF-8");
  for (const char* name : {"TMPDIR", "GOCACHE", "GOTMPDIR", "GOMODCACHE", "GOPATH",
                           "npm_config_cache", "PIP_CACHE_DIR", "XDG_CACHE_HOME", "CARGO_HOME"})
    EXPECT_THAT(environment.at(name), HasSubstr("/home/u/.cache/cupel/sandbox/p-1/cache/")) << name;
}

TEST(WorkspaceEnvironment, AddressesWithPasswordsAreLeftOutAndNamed) {
  WorkspaceFacts known = facts();
  known.environment["GOPROXY"] = "https://me:secret@proxy.example.com,https://b.example.com";
  known.environment["HTTPS_PROXY"] = "http://proxy.example.com:3128";
  std::vector<std::string> notes;

  const auto environment = workspace_environment(request(), known, notes);

  ASSERT_TRUE(environment);
  EXPECT_FALSE(environment->contains("GOPROXY"));
  EXPECT_TRUE(environment->contains("HTTPS_PROXY"));
  EXPECT_THAT(notes, Contains(HasSubstr("GOPROXY")));
}

TEST(WorkspaceEnvironment, WhatIsAskedForByNameWins) {
  WorkspaceRequest wanted = request();
  wanted.pass = {"TOKEN", "ABSENT"};
  wanted.set = {{"GOCACHE", "/elsewhere"}};
  WorkspaceFacts known = facts();
  known.environment["TOKEN"] = "t";

  const auto environment = plan_of(wanted, known).jail.environment;

  EXPECT_EQ(environment.at("TOKEN"), "t");
  EXPECT_EQ(environment.at("GOCACHE"), "/elsewhere");
  EXPECT_FALSE(environment.contains("ABSENT"));
}

}  // namespace
}  // namespace cupel::sandbox
