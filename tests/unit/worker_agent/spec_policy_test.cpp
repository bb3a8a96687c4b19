#include "worker/core/agent/spec_policy.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace cupel::worker {
namespace {

TaskSpec honest(Work work = Execute{}) {
  TaskSpec spec;
  spec.kind = std::holds_alternative<Execute>(work) ? TaskKind::execute : TaskKind::acquire;
  spec.work = std::move(work);
  return spec;
}

UnitInfo unit(const std::string& dir, const std::string& workspace = "") {
  UnitInfo info;
  info.dir = dir;
  info.workspace = workspace;
  info.module_path = "example.com/m";
  return info;
}

TEST(SpecPolicy, WhatTheGrammarAllowsIsTaken) {
  TaskSpec spec = honest();
  spec.settings.packages = {"./...", "example.com/a+b/...", "./x_y"};
  spec.settings.tags = {"integration", "go1.26", "a_b"};
  spec.settings.test.run = "-weird|Test.*";
  spec.settings.custom = {{"lint-2", {"sh", "-c", "one\ntwo"}, 60}};
  spec.settings.go_private = "*.corp.example/x,example.com/[a-z]?";
  spec.settings.image =
      "example/go@sha256:0123456789012345678901234567890123456789012345678901234567890123";
  EXPECT_EQ(refuse_spec(spec), std::nullopt);
  for (const char* dir : {"", ".", "a", "a/b", "./a", "a/", "-a", "a..b", "..a"}) {
    EXPECT_EQ(refuse_spec(honest(AcquireModules{.commit = "abc", .unit = unit(dir)})), std::nullopt)
        << dir;
  }
  const GitSource git{"https://example.com/a", "refs/heads/main"};
  EXPECT_EQ(refuse_spec(honest(AcquireSource{git, "sum:h1:a+b/c=", {".", "a/b"}})), std::nullopt);
}

TEST(SpecPolicy, PathsThatLeaveTheTreeAreRefused) {
  for (const char* dir : {"..", "../x", "a/../../x", "/etc", "a//b", "a/..", "a\nb"}) {
    EXPECT_TRUE(refuse_spec(honest(AcquireModules{.commit = "c", .unit = unit(dir)}))) << dir;
    EXPECT_TRUE(refuse_spec(honest(AcquireModules{.commit = "c", .unit = unit(".", dir)}))) << dir;
    EXPECT_TRUE(refuse_spec(honest(AcquireSource{GitSource{"https://e.com/a", ""}, "", {dir}})))
        << dir;
    Execute execute;
    execute.unit = unit(dir);
    EXPECT_TRUE(refuse_spec(honest(execute))) << dir;
  }
}

TEST(SpecPolicy, ALimitThatMeansNoneIsRefused) {
  const std::vector<std::function<void(RunLimits&)>> changes = {
      [](RunLimits& limits) { limits.cpu_millis = 0; },
      [](RunLimits& limits) { limits.memory_bytes = 0; },
      [](RunLimits& limits) { limits.memory_bytes = 4096; },
      [](RunLimits& limits) { limits.pids = 0; },
      [](RunLimits& limits) { limits.tmp_bytes = 0; },
      [](RunLimits& limits) { limits.output_bytes = 0; },
  };
  for (const auto& change : changes) {
    TaskSpec spec = honest();
    change(spec.settings.limits);
    EXPECT_TRUE(refuse_spec(spec));
  }
}

TEST(SpecPolicy, WordsThatWouldBeOptionsAreRefused) {
  const std::vector<std::function<void(ValidationSettings&)>> changes = {
      [](auto& s) { s.packages = {"-toolexec=/bin/sh"}; },
      [](auto& s) { s.packages = {"./...", "a b"}; },
      [](auto& s) { s.packages = {""}; },
      [](auto& s) { s.tags = {"a,b -exec=x"}; },
      [](auto& s) { s.tags = {"-x"}; },
      [](auto& s) { s.tags = {"a\nb"}; },
      [](auto& s) { s.test.run = "a\nb"; },
      [](auto& s) { s.test.shuffle = "on\n"; },
      [](auto& s) { s.custom = {{"x", {}, 1}}; },
      [](auto& s) { s.custom = {{"x", {"-c"}, 1}}; },
      [](auto& s) { s.custom = {{"../x", {"true"}, 1}}; },
      [](auto& s) { s.custom.assign(1001, {"x", {"true"}, 1}); },
      [](auto& s) { s.packages.assign(1001, "./..."); },
      [](auto& s) { s.go_private = "a\nGOFLAGS=-toolexec=x"; },
      [](auto& s) { s.image = "golang; rm -rf /"; },
      [](auto& s) { s.image = "-golang"; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    TaskSpec spec = honest();
    changes[i](spec.settings);
    EXPECT_TRUE(refuse_spec(spec)) << "change " << i;
  }
  EXPECT_TRUE(
      refuse_spec(honest(AcquireSource{GitSource{"https://e.com/a", "--upload-pack=x"}, "", {}})));
  EXPECT_TRUE(refuse_spec(honest(AcquireModules{.commit = "-c", .unit = unit(".")})));
}

TEST(SpecPolicy, WorkOfAnotherKindIsRefused) {
  TaskSpec spec = honest();
  spec.kind = TaskKind::acquire;
  EXPECT_TRUE(refuse_spec(spec));
  spec = honest(AcquireModules{.commit = "c", .unit = unit(".")});
  spec.kind = TaskKind::tool;
  EXPECT_TRUE(refuse_spec(spec));
}

TEST(SpecPolicy, TheReasonShowsForeignWordsWithoutTheirControls) {
  TaskSpec spec = honest();
  spec.settings.packages = {"-\x1b[2J" + std::string(5000, 'x')};

  const auto why = refuse_spec(spec);

  ASSERT_TRUE(why);
  EXPECT_EQ(why->find('\x1b'), std::string::npos);
  EXPECT_LT(why->size(), 300U);
}

}  // namespace
}  // namespace cupel::worker
