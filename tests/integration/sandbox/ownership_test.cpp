// Who may remove what, what is found again, and what a probe notices.
#include "common/fs/files.hpp"
#include "tests/integration/sandbox/engine_between.hpp"
#include "tests/integration/sandbox/sandbox.hpp"
#include "worker/core/engine/wrapper_protocol.hpp"
#include "worker/run/build_cache.hpp"
#include "worker/run/mount_probe.hpp"
#include "worker/run/reaper.hpp"

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace cupel::test {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using worker::EndedBy;
using worker::RunReport;
using worker::RunRequest;

WallTime wall_now() {
  return {std::chrono::duration_cast<std::chrono::microseconds>(
              std::chrono::system_clock::now().time_since_epoch())
              .count()};
}

class OwnershipTest : public SandboxTest {
 protected:
  /// A created container of some worker, as a crash would leave it.
  std::string leave_behind(WorkerId owner, WallTime deadline) {
    worker::ProfileContext context = options().context;
    context.worker = owner;
    // Names are those of all tests that run now: the workers' numbers are the same in each.
    last_run_ = fs::random_hex(8);
    const worker::RunIdentity identity{.run_id = last_run_, .deadline = deadline};
    const auto created =
        await(io, engine->create(container_name(context, identity),
                                 worker::inspection_spec(image, context, identity)));
    EXPECT_TRUE(created) << created.error().text();
    return created ? created->id : std::string();
  }

  worker::Reaper reaper(WorkerId owner, std::set<std::string> live = {}) {
    return {*engine,
            worker::ReaperOptions{
                .fleet = fleet, .worker = owner, .incarnation = Incarnation{2}, .grace = 60s},
            [live] { return live; }, wall_now};
  }

  worker::ReapCounts pass(worker::Reaper reaper) {
    const auto counts = await(io, reaper.pass());
    EXPECT_TRUE(counts) << counts.error().text();
    return counts ? *counts : worker::ReapCounts{};
  }

  std::string last_run_;
};

TEST_F(OwnershipTest, AReaperRemovesItsOwnWorkersContainersOnly) {
  const WallTime later{wall_now().us + 3'600'000'000};
  leave_behind(WorkerId{11}, later);
  leave_behind(WorkerId{22}, later);

  const worker::ReapCounts first = pass(reaper(WorkerId{11}));

  EXPECT_EQ(first.listed, 2U);
  EXPECT_EQ(first.removed, 1U);
  ASSERT_EQ(our_containers().size(), 1U);
  EXPECT_EQ(our_containers().front().labels.at("cupel.worker"), WorkerId{22}.text());
  EXPECT_EQ(pass(reaper(WorkerId{22})).removed, 1U);
}

TEST_F(OwnershipTest, AReaperSparesARunThatIsUnderWay) {
  leave_behind(WorkerId{11}, WallTime{wall_now().us + 3'600'000'000});

  EXPECT_EQ(pass(reaper(WorkerId{11}, {last_run_})).removed, 0U);
  EXPECT_EQ(pass(reaper(WorkerId{11})).removed, 1U);
}

TEST_F(OwnershipTest, ALostWorkersContainersGoOnlyAfterDeadlineAndGrace) {
  leave_behind(WorkerId{22}, WallTime{wall_now().us - 30'000'000});
  leave_behind(WorkerId{22}, WallTime{wall_now().us - 120'000'000});

  const worker::ReapCounts counts = pass(reaper(WorkerId{11}));

  EXPECT_EQ(counts.removed, 1U);
  EXPECT_EQ(counts.removed_foreign, 1U);
  EXPECT_EQ(pass(reaper(WorkerId{22})).removed, 1U);
}

TEST_F(OwnershipTest, ReapersLeaveRunsOfOtherWorkersOnTheSameEngineAlone) {
  worker::ReapCounts counts;
  worker::Reaper other = reaper(WorkerId{22});  // outlives its pass
  bool reaped = false;
  const auto sink = [&](Stream, std::uint64_t, std::string_view) {
    if (std::exchange(reaped, true)) return;
    asio::co_spawn(io, other.pass(),
                   [&counts](const std::exception_ptr&, const Result<worker::ReapCounts>& seen) {
                     if (seen) counts = *seen;
                   });
  };

  const RunReport report = run(shell("echo begun; sleep 1; echo ended"), nullptr, sink);

  EXPECT_EQ(report.out.bytes, "begun\nended\n");
  EXPECT_EQ(counts.listed, 1U);
  EXPECT_EQ(counts.removed, 0U);
}

TEST_F(OwnershipTest, TheDeathOfTheWorkerEndsTheContainer) {
  // The same orders over a connection of our own, which then simply goes away.
  RunRequest request = shell("sleep 600");
  worker::WrapperOrders orders{.nonce = std::string(32, 'a'), .limit = 600s};
  const auto text = worker::encode_orders(orders);
  ASSERT_TRUE(text);
  const worker::RunIdentity identity{.run_id = "dying", .deadline = wall_now()};
  const auto traits = await(io, executor->image_traits(image));
  ASSERT_TRUE(traits) << traits.error().text();
  const auto spec = worker::container_spec(request, options().context, *traits, identity);
  ASSERT_TRUE(spec) << spec.error().text();
  const auto created =
      await(io, engine->create(container_name(options().context, identity), *spec));
  ASSERT_TRUE(created) << created.error().text();
  const std::string id = created->id;
  {
    auto attached = await(io, engine->attach(id));
    ASSERT_TRUE(attached) << attached.error().text();
    ASSERT_TRUE(await(io, engine->start(id)));
    ASSERT_TRUE(await(io, attached->send(*text, 5s)));
    const auto first = await(io, attached->read());
    ASSERT_TRUE(first);
    EXPECT_THAT(*first, HasSubstr("cupel-start"));
  }

  const auto ended = await(io, engine->wait(id, 10s));

  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_EQ(ended->exit_code, 137);
  EXPECT_EQ(pass(reaper(WorkerId{11})).removed, 1U);
}

TEST_F(OwnershipTest, TheProbeFindsDirectoriesThatAreShared) {
  worker::ProbeRequest request{.image = image, .socket_path = "/run/engine.sock"};
  for (int i = 0; i < 7; ++i) request.roots.push_back(scratch.open_dir("root"));

  const auto probed = await(io, worker::probe_mounts(*executor, request));

  EXPECT_TRUE(probed) << probed.error().text();
  for (const std::string& root : request.roots) EXPECT_TRUE(std::filesystem::is_empty(root));
}

/// A client, an executor and what stands between them and the engine.
struct OddEngine {
  OddEngine(asio::io_context& io, asio::thread_pool& files, const std::string& real,
            const std::string& path, EngineBetween::Rules rules,
            const worker::ExecutorOptions& options, docker::EngineBudgets budgets = {})
      : between(io, path, real, std::move(rules)),
        client(io.get_executor(), {.socket_path = path, .budgets = budgets}),
        executor(io.get_executor(), client, files, options) {}
  EngineBetween between;
  docker::Client client;
  worker::RunExecutor executor;
};

TEST_F(OwnershipTest, TheProbeNamesADirectoryThatTheEngineSeesElsewhere) {
  worker::ProbeRequest request{.image = image, .socket_path = "/run/engine.sock"};
  for (int i = 0; i < 3; ++i) request.roots.push_back(scratch.open_dir("root"));
  // The engine's own directory of the same name exists and is empty, as on an engine in a virtual
  // machine; only the probe's directory inside it is missing or another one.
  const std::string elsewhere = scratch.open_dir("else");
  OddEngine odd(io, files, engine->options().socket_path, scratch.path() + "/odd.sock",
                {.from = request.roots[2], .to = elsewhere}, options());

  const auto probed = await(io, worker::probe_mounts(odd.executor, request));

  ASSERT_FALSE(probed);
  EXPECT_EQ(probed.error().code, Errc::mount_probe_failed);
  EXPECT_THAT(probed.error().what, HasSubstr("/run/engine.sock"));
}

TEST_F(OwnershipTest, ARunWhoseMountIsElsewhereIsAnErrorThatNamesTheMountAndTheSocket) {
  const std::string elsewhere = scratch.open_dir("modcache");
  const std::string path = scratch.path() + "/odd.sock";
  OddEngine odd(io, files, engine->options().socket_path, path,
                {.from = mounts.modcache, .to = elsewhere}, options());

  const RunReport report = await(io, odd.executor.run(shell("touch /gocache/ran"), nullptr, {}));

  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code, Errc::mount_probe_failed);
  EXPECT_THAT(report.error->what, HasSubstr("/modcache"));
  EXPECT_THAT(report.error->what, HasSubstr(path));
  EXPECT_FALSE(std::filesystem::exists(mounts.gocache + "/ran"));
}

TEST_F(OwnershipTest, ASourceThatIsNotTheHostsIsNoticedByItsManifest) {
  const std::string elsewhere = scratch.open_dir("src");
  write_file(elsewhere + "/go.mod", "module example.com/other\n");
  OddEngine odd(io, files, engine->options().socket_path, scratch.path() + "/odd.sock",
                {.from = mounts.source, .to = elsewhere}, options());

  const RunReport report = await(io, odd.executor.run(shell("true"), nullptr, {}));

  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code, Errc::mount_probe_failed);
  EXPECT_THAT(report.error->what, HasSubstr("/src/go.mod"));
}

TEST_F(OwnershipTest, ACreateWhoseAnswerWasLostIsFoundByItsLabelAndRemoved) {
  docker::EngineBudgets budgets;
  budgets.create = 1500ms;
  OddEngine odd(io, files, engine->options().socket_path, scratch.path() + "/odd.sock",
                {.swallow = "POST /v1.41/containers/create"}, options(), budgets);

  const RunReport report = await(io, odd.executor.run(shell("true"), nullptr, {}));

  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code, Errc::engine_timeout);
  EXPECT_FALSE(report.started);
  EXPECT_TRUE(our_containers().empty());
}

TEST_F(OwnershipTest, ARemovalThatFailsIsParkedForTheReaper) {
  docker::EngineBudgets budgets;
  budgets.remove = 300ms;
  OddEngine odd(io, files, engine->options().socket_path, scratch.path() + "/odd.sock",
                {.swallow = "DELETE "}, options(), budgets);

  const RunReport report = await(io, odd.executor.run(shell("echo fine"), nullptr, {}));

  EXPECT_FALSE(report.error);
  EXPECT_EQ(report.out.bytes, "fine\n");
  EXPECT_EQ(odd.executor.parked_count(), 1U);
  EXPECT_TRUE(odd.executor.live_runs().empty());
  EXPECT_FALSE(report.notes.empty());
}

TEST_F(OwnershipTest, WhatAContainerMadeReadOnlyCanBeEmptied) {
  const std::string dir = mounts.gocache;
  const RunReport report = run(shell(
      "mkdir -p /gocache/a/b && echo x > /gocache/a/b/f && chmod 0500 /gocache/a/b /gocache/a"));
  ASSERT_EQ(report.exit_code, 0);

  const auto emptied = await(io, worker::empty_directory(*executor, files, image, dir));

  EXPECT_TRUE(emptied) << emptied.error().text();
  EXPECT_FALSE(std::filesystem::exists(dir));
}

TEST_F(OwnershipTest, TheContainersOwnUserCanEmptyItsDirectory) {
  RunRequest make = shell(
      "mkdir -p /gocache/a/b && echo x > /gocache/a/b/f && chmod 0500 /gocache/a/b /gocache/a");
  ASSERT_EQ(run(make).exit_code, 0);
  RunRequest empty = shell("");
  empty.command = {"/cupel-init", "--empty", "/gocache"};

  const RunReport report = run(empty);

  EXPECT_EQ(report.exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(mounts.gocache));
}

TEST_F(OwnershipTest, EveryFreshCacheIsEmptyOpenAndItsOwn) {
  worker::BuildCaches caches(io.get_executor(), *executor, files, scratch.path() + "/data");

  const auto first = await(io, caches.fresh(image, BuildCache::empty, nullptr));
  const auto second = await(io, caches.fresh(image, BuildCache::empty, nullptr));

  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->how, "empty");
  EXPECT_NE(first->directory, second->directory);
  struct stat facts{};
  ASSERT_EQ(::stat(first->directory.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777U, 0777U);
}

TEST_F(OwnershipTest, AnImageWithoutAToolchainGivesAnEmptyCacheThatSaysSo) {
  worker::BuildCaches caches(io.get_executor(), *executor, files, scratch.path() + "/data");

  const auto cache = await(io, caches.fresh(image, BuildCache::seeded, nullptr));

  ASSERT_TRUE(cache) << cache.error().text();
  EXPECT_EQ(cache->how, "empty");
  await(io, [](worker::BuildCaches* all) -> asio::awaitable<bool> {
    co_await all->stop();
    co_return true;
  }(&caches));
}

}  // namespace
}  // namespace cupel::test
