#include "worker/app/task_limits.hpp"

#include "common/core/task_life.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace cupel::worker {
namespace {

constexpr std::uint64_t kYear = 365ULL * 24 * 3600;

Work work_of(std::uint32_t kind, std::mt19937& random) {
  switch (kind) {
    case 0: return AcquireSource{};
    case 1: return AcquireModules{};
    case 2: return Mutate{};
    case 3: return BuildTool{};
    case 4: return NoOp{};
    default: break;
  }
  Execute execute;
  if (random() % 2 == 0) {
    execute.scan.problem = Reason::vulndb_unavailable;
    execute.scan.limit_s = random() % 2 == 0 ? 0 : random() % 5000;
  }
  execute.only_scan = execute.scan.wanted() && random() % 2 == 0;
  return execute;
}

ValidationSettings settings_of(std::mt19937& random) {
  ValidationSettings settings;
  settings.build = random() % 2 == 0;
  settings.vet = random() % 2 == 0;
  settings.test.enabled = random() % 2 == 0;
  settings.test.timeout_s = random() % 2 == 0 ? 0 : random() % 20'000;
  settings.check_limit_s = random() % 2 == 0 ? 0 : random() % 20'000;
  settings.acquire_limit_s = random() % 20'000;
  for (std::uint32_t i = random() % 4; i > 0; --i) {
    settings.custom.push_back(
        {.name = "c" + std::to_string(i), .command = {"true"}, .limit_s = random() % 9000});
  }
  return settings;
}

// The coordinator ends a lease that is renewed past the task's life: a worker that keeps its own
// limit must never run into that.
TEST(TaskLimits, AWorkersOwnLimitEndsBeforeTheCoordinatorsBound) {
  std::mt19937 random(7);
  const Bounds unbounded{.limits_max = {}, .task_seconds_max = kYear};
  for (int i = 0; i < 3000; ++i) {
    TaskSpec spec;
    spec.work = work_of(static_cast<std::uint32_t>(i) % 6, random);
    spec.settings = settings_of(random);
    const Duration life = task_life(spec.work, spec.settings);
    const Duration limit = task_limit(spec, unbounded);
    EXPECT_LT(limit, life) << "kind of work " << spec.work.index() << ", round " << i;
    EXPECT_GT(limit, Duration::zero());
  }
}

TEST(TaskLimits, TheWorkersBoundCutsEveryTask) {
  TaskSpec spec;
  spec.work = Execute{};
  EXPECT_EQ(task_limit(spec, {.limits_max = {}, .task_seconds_max = 60}), std::chrono::seconds(60));
}

}  // namespace
}  // namespace cupel::worker
