#include "tests/integration/workspace/workspace.hpp"

#include "common/fs/files.hpp"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>
#include <utility>

namespace cupel::test {

namespace stdfs = std::filesystem;

WorkspaceTest::WorkspaceTest()
    : scratch(std::string(CUPEL_BINARY_DIR) + "/workspace-" + fs::random_hex(6)),
      project(scratch + "/home/project"),
      home(scratch + "/home") {
  stdfs::create_directories(project + "/.git/hooks");
  write(project + "/.git/config", "[core]\n\tbare = false\n");
  write(home + "/.netrc", "machine example.com login me password token-of-mine\n");
  write(home + "/.gitconfig", "[user]\n\tname = Somebody\n");
  environment = {{"HOME", home},
                 {"XDG_CACHE_HOME", home + "/.cache"},
                 {"PATH", "/usr/local/go/bin:/usr/lib/go/bin:/usr/local/bin:/usr/bin:/bin"},
                 {"SECRET", "of-the-caller"}};
}

WorkspaceTest::~WorkspaceTest() {
  const auto removed = fs::remove_tree(scratch);
  EXPECT_TRUE(removed) << removed.error().text();
}

void WorkspaceTest::write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

sandbox::WorkspaceRequest WorkspaceTest::request() const {
  sandbox::WorkspaceRequest wanted;
  wanted.project = project;
  wanted.workdir = project;
  wanted.quota.reserve_bytes = 1U << 20U;
  wanted.limit = std::chrono::minutes(10);
  return wanted;
}

Outcome WorkspaceTest::run(std::vector<std::string> command, const Change& change) {
  sandbox::WorkspaceRequest wanted = request();
  wanted.command = std::move(command);
  if (change) change(wanted);
  const std::string out = scratch + "/out";
  const std::string err = scratch + "/err";
  const fs::Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const fs::Fd out_file(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const fs::Fd err_file(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  auto started = bubblewrap::WorkspaceRun::start(
      wanted, environment,
      {.in = in < 0 ? null.get() : in, .out = out_file.get(), .err = err_file.get()});
  if (!started) {
    ADD_FAILURE() << started.error().text();
    return {};
  }
  Outcome outcome{.report = started->finish(), .out = {}, .err = {}};
  outcome.out = fs::read_file(out, 16U << 20U).value();
  outcome.err = fs::read_file(err, 16U << 20U).value();
  return outcome;
}

Outcome WorkspaceTest::shell(const std::string& script, const Change& change) {
  return run({"sh", "-c", script}, change);
}

Outcome WorkspaceTest::python(const std::string& program, const Change& change) {
  return run({"/usr/bin/python3", "-c", program}, change);
}

std::set<std::string> WorkspaceTest::files_of(const std::string& folder) {
  std::set<std::string> all;
  for (const auto& entry : stdfs::recursive_directory_iterator(folder))
    all.insert(entry.path().string().substr(folder.size() + 1));
  return all;
}

}  // namespace cupel::test
