// `cupel run --local --engine bubblewrap` as people run it: no engine is asked for anything. The
// toolchain is this machine's own, as an image.
#include "common/bubblewrap/image_store.hpp"
#include "common/core/digest.hpp"
#include "common/fs/files.hpp"
#include "tests/unit/coordinator_app/daemon_process.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace cupel {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHostGo = "/usr/local/go";
constexpr const char* kBusybox = "/bin/busybox";  // package busybox-static

/// "go1.26.8" in its first line.
std::string host_go_version() {
  std::ifstream file(std::string(kHostGo) + "/VERSION");
  std::string line;
  std::getline(file, line);
  return line.starts_with("go") ? line.substr(2) : std::string();
}

class BubblewrapFleetTest : public testing::Test {
 protected:
  void SetUp() override {
    if (host_go_version().empty()) GTEST_SKIP() << "no toolchain in " << kHostGo;
    dir_ = std::filesystem::path(CUPEL_BINARY_DIR) / ("fleet-" + fs::random_hex(6));
    std::filesystem::create_directories(dir_ / "module");
    ::setenv("XDG_STATE_HOME", dir_.c_str(), 1);
    ::setenv("GOPROXY", "https://proxy.invalid", 1);
    ::setenv("GOSUMDB", "sum.invalid", 1);
    // Whoever asks an engine all the same finds none.
    ::setenv("DOCKER_HOST", ("unix://" + (dir_ / "no-engine.sock").string()).c_str(), 1);
    make_image();
  }
  void TearDown() override {
    if (dir_.empty()) return;
    const auto removed = fs::remove_tree(dir_);
    EXPECT_TRUE(removed) << removed.error().text();
  }

  void make_image() const {
    const std::string version = host_go_version();
    auto writer = bubblewrap::ImageWriter::begin(dir_ / "cupel" / "images" / "unpacked",
                                                 "sha256:" + sha256("host " + version).hex());
    ASSERT_TRUE(writer) << writer.error().text();
    std::filesystem::create_directories(writer->root() / "usr/local");
    std::filesystem::copy(
        kHostGo, writer->root() / "usr/local/go",
        std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
    // `env` is what the list of packages is asked through.
    std::filesystem::create_directories(writer->root() / "bin");
    std::filesystem::copy_file(kBusybox, writer->root() / "bin/busybox");
    for (const char* const name : {"env", "sh"})
      std::filesystem::create_symlink("busybox", writer->root() / "bin" / name);
    const auto done =
        writer->finish({{"cupel.image.identity", "sha256:" + sha256("host " + version).hex()},
                        {"cupel.image.go", version},
                        {"cupel.image.cc", "0"}});
    ASSERT_TRUE(done) << done.error().text();
  }

  /// A module with one test, as a git repository, and a campaign over it.
  void write_module(const std::string& sum) const {
    std::ofstream(dir_ / "module/go.mod") << "module example.com/sum\n\ngo 1.22\n";
    std::ofstream(dir_ / "module/sum.go")
        << "package sum\n\nfunc Sum(a, b int) int { return " << sum << " }\n";
    std::ofstream(dir_ / "module/sum_test.go")
        << "package sum\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n"
           "\tif got := Sum(2, 3); got != 5 {\n\t\tt.Fatalf(\"Sum(2, 3) = %d\", got)\n\t}\n}\n";
    const std::string git = "cd '" + (dir_ / "module").string() +
                            "' && git init -q . && git add . && git -c user.name=t "
                            "-c user.email=t@example.com commit -q -m one";
    ASSERT_EQ(std::system(git.c_str()), 0);
    std::ofstream(dir_ / "c.yaml") << "apiVersion: cupel/v1\nkind: Campaign\nname: sum\n"
                                      "repositories:\n  - path: module\n"
                                      "sandbox: {build_cache: empty, c_compiler: false}\n"
                                      "validate: {vet: {enabled: false}}\n";
  }

  std::unique_ptr<coordinator::DaemonProcess> run() const {
    return std::make_unique<coordinator::DaemonProcess>(
        dir_, "cupel",
        std::vector<std::string>{"run", "--local", "--engine", "bubblewrap", "-f",
                                 (dir_ / "c.yaml").string(), "--report-dir",
                                 (dir_ / "report").string()});
  }
  /// All files of the report, one behind the other.
  std::string report() const {
    std::string all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "report")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path());
      all += std::string{std::istreambuf_iterator<char>(file), {}};
    }
    return all;
  }

  std::filesystem::path dir_;
};

TEST_F(BubblewrapFleetTest, ASoundModuleIsPassingAndTheEvidenceNamesTheSandbox) {
  write_module("a + b");

  const auto cupel = run();

  EXPECT_EQ(cupel->wait_for_end(), 0) << cupel->log();
  EXPECT_THAT(report(), HasSubstr("passing"));
  EXPECT_THAT(report(), HasSubstr("bubblewrap "));
}

TEST_F(BubblewrapFleetTest, AModuleWhoseTestFailsIsFailingWithItsFinding) {
  write_module("a - b");

  const auto cupel = run();

  EXPECT_EQ(cupel->wait_for_end(), 3) << cupel->log();
  EXPECT_THAT(report(), HasSubstr("failing"));
  EXPECT_THAT(report(), HasSubstr("TestSum"));
}

TEST_F(BubblewrapFleetTest, WithoutAnImageItSaysHowToMakeOne) {
  write_module("a + b");
  ASSERT_TRUE(fs::remove_tree(dir_ / "cupel" / "images"));

  const auto cupel = run();

  EXPECT_EQ(cupel->wait_for_end(), 1) << cupel->log();
  EXPECT_TRUE(cupel->wait_for_log("--engine bubblewrap' makes them")) << cupel->log();
}

}  // namespace
}  // namespace cupel
