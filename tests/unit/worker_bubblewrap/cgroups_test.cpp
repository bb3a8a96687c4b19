// Where the groups of runs are looked for, over a tree of files that stands for the kernel's. What
// a kernel refuses is asked of a real one: tests/integration/bubblewrap.
#include "worker/bubblewrap/cgroups.hpp"

#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cupel::worker {
namespace {

class CgroupsTest : public testing::Test {
 protected:
  void SetUp() override {
    write("proc/self/mountinfo",
          "30 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(root()) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void process_is_in(const std::string& group) const {
    write("proc/self/cgroup", "0::" + group + "\n");
  }
  /// A group that passes its controllers on to the folder `cupel-1`, where limits can be set.
  void offer(const std::string& group, const std::string& controllers) const {
    const std::string dir = "sys/fs/cgroup" + group;
    write(dir + "/cgroup.controllers", controllers + "\n");
    write(dir + "/cgroup.subtree_control", "");
    write(dir + "/cupel-1/cgroup.subtree_control", "");
    for (const char* const file : {"memory.max", "memory.swap.max", "pids.max", "cpu.max"})
      write(dir + "/cupel-1/trial/" + file, "");
  }
  [[nodiscard]] std::string root() const { return dir_.path().string(); }
  [[nodiscard]] std::string found() const { return Cgroups::find("cupel-1", root()).text(); }

 private:
  tests::TempDir dir_;
};

TEST_F(CgroupsTest, TheGroupsOfRunsStandBelowTheProcessesOwn) {
  process_is_in("/user.slice/run.scope");
  offer("/user.slice/run.scope", "cpu memory pids");

  EXPECT_EQ(found(), "control groups: memory v2, pids v2, cpu v2");
}

TEST_F(CgroupsTest, AProcessThatAnEarlierLookMovedLooksInTheGroupAbove) {
  process_is_in("/user.slice/run.scope/cupel-worker");
  offer("/user.slice/run.scope", "cpu memory pids");

  EXPECT_EQ(found(), "control groups: memory v2, pids v2, cpu v2");
}

TEST_F(CgroupsTest, OneReasonForAllIsSaidOnceAndInOneLine) {
  process_is_in("/user.slice/run.scope");
  offer("/user.slice/run.scope", "io");

  EXPECT_EQ(found(), "no control groups; not enforced: memory, pids, cpu (no controllers in " +
                         root() + "/sys/fs/cgroup/user.slice/run.scope)");
}

TEST_F(CgroupsTest, AControllerThatIsNotPassedOnIsNamedAlone) {
  process_is_in("/user.slice/run.scope");
  offer("/user.slice/run.scope", "memory pids");
  std::filesystem::remove(root() + "/sys/fs/cgroup/user.slice/run.scope/cupel-1/trial/cpu.max");

  const std::string text = found();

  EXPECT_TRUE(text.starts_with("control groups: memory v2, pids v2; not enforced: cpu (")) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

}  // namespace
}  // namespace cupel::worker
