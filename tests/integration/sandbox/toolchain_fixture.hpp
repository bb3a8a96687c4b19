/// The newest toolchain image without a C compiler that the engine has, and a repository acquired
/// for it. Where there is none there is nothing to test, and the cases say so.
#pragma once

#include "tests/integration/sandbox/sandbox.hpp"
#include "tests/support/git_fixture.hpp"
#include "worker/acquire/acquire.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace cupel::test {

class ToolchainFixture : public SandboxTest {
 protected:
  void SetUp() override {
    SandboxTest::SetUp();
    const auto images = await(io, engine->image_list({"cupel.image.go", "cupel.image.cc=0"}));
    ASSERT_TRUE(images) << images.error().text();
    if (images->empty()) {
      std::cout << "no toolchain image here\n";
      return;
    }
    const auto newest = std::ranges::max_element(
        *images, {}, [](const auto& one) { return one.labels.at("cupel.image.go"); });
    toolchain_ = newest->id;
    go_version_ = newest->labels.at("cupel.image.go");
    auto opened = worker::Workspaces::open(scratch.path() + "/workspaces");
    ASSERT_TRUE(opened) << opened.error().text();
    workspaces_ = std::make_unique<worker::Workspaces>(*std::move(opened));
  }

  virtual worker::AcquireContext context(UnitId unit) {
    worker::AcquireContext context{.runs = *executor,
                                   .files = files,
                                   .workspaces = *workspaces_,
                                   .policy = {},
                                   .campaign = CampaignId{1},
                                   .repository = RepositoryId{2},
                                   .unit = unit,
                                   .task = TaskId{4},
                                   .token = Token{5},
                                   .task_deadline = {},
                                   .settings = {},
                                   .image = toolchain_,
                                   .image_go_version = go_version_};
    context.policy.allow_local = true;
    context.settings.acquire_limit_s = 300;
    context.settings.limits.tmp_bytes = 256ULL << 20U;
    return context;
  }

  /// Commits what is in the folder, after `script`, and acquires it as far as its snapshot.
  void acquire_folder(const std::string& repo, const std::string& script = ":") {
    tests::shell(repo, "git init -q -b main; " + script + "; git add -A; git commit -q -m c1");
    AcquireSource work;
    work.source = GitSource{"file://" + repo, ""};
    auto answer = await(io, worker::acquire_source(context(UnitId{3}), work, {},
                                                   std::make_shared<worker::CancelToken>()));
    if (auto* stopped = std::get_if<worker::AcquireStopped>(&answer)) FAIL() << stopped->message;
    facts_ = std::get<worker::SourceAcquired>(answer).facts;
  }

  std::string toolchain_;  ///< Empty: none.
  std::string go_version_;
  std::unique_ptr<worker::Workspaces> workspaces_;
  SourceFacts facts_;
};

}  // namespace cupel::test
