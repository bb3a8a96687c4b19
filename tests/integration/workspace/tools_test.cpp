// Build tools work without any override, and the project holds afterwards what was asked for and
// nothing else. Each promise is also shown broken without the redirection of the tools' caches.
#include "common/fs/files.hpp"
#include "tests/integration/workspace/workspace.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace cupel::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class WorkspaceToolsTest : public WorkspaceTest {
 protected:
  void module() {
    write(project + "/go.mod", "module example.com/fresh\n\ngo 1.19\n");
    write(project + "/main.go",
          "package main\n\nfunc answer() int { return 42 }\n\n"
          "func main() { println(answer()) }\n");
    write(project + "/main_test.go",
          "package main\n\nimport \"testing\"\n\nfunc TestAnswer(t *testing.T) {\n"
          "\tif answer() != 42 {\n\t\tt.Fatal()\n\t}\n}\n");
    // A real repository: the go command asks git about it.
    const std::string repository =
        "cd " + project + " && rm -rf .git && export HOME=" + scratch +
        " && git init -q && git add -A && "
        "git -c user.name=t -c user.email=t@example.com commit -qm first";
    ASSERT_EQ(std::system(repository.c_str()), 0);
  }
  /// What came to the project.
  std::set<std::string> added(const std::set<std::string>& before) const {
    std::set<std::string> more;
    for (const std::string& file : files_of(project)) {
      if (!before.contains(file)) more.insert(file);
    }
    return more;
  }
};

TEST_F(WorkspaceToolsTest, GoBuildsAndTestsAFreshModule) {
  module();
  const auto before = files_of(project);
  const auto home_before = files_of(home + "/project/..");

  const Outcome built = shell("go env GOCACHE && go build -o fresh && ./fresh");
  ASSERT_EQ(built.report.exit_code, 0) << built.err;
  EXPECT_THAT(built.out, HasSubstr(built.report.cache_dir + "/go-build\n"));
  EXPECT_THAT(built.err, HasSubstr("42"));
  const Outcome tested = shell("go test ./... && go vet ./...");
  EXPECT_EQ(tested.report.exit_code, 0) << tested.out << tested.err;

  EXPECT_EQ(added(before), std::set<std::string>{"fresh"});
  for (const std::string& file : files_of(home)) {
    const bool ours = file.starts_with(".cache") || file.starts_with("project");
    EXPECT_TRUE(ours || home_before.contains(file)) << file;
  }
  // The second command finds what the first one compiled. Package main is stamped with the state of
  // the repository, which has changed.
  const Outcome again =
      shell("go build -x -o fresh 2>&1 | grep '/compile ' | grep -vc -- ' -p main '");
  EXPECT_EQ(again.out, "0\n");
}

TEST_F(WorkspaceToolsTest, WithoutTheRedirectionGoFailsOrLittersTheProject) {
  module();
  const auto before = files_of(project);

  // As in a sandbox that hides the home and redirects nothing.
  const Outcome blocked =
      shell("env -u GOCACHE -u XDG_CACHE_HOME -u GOPATH -u GOMODCACHE HOME=/usr go build -o fresh");
  EXPECT_NE(blocked.report.exit_code, 0);
  EXPECT_THAT(blocked.err, HasSubstr("cache"));
  EXPECT_EQ(files_of(project), before);

  // What people do then.
  const Outcome littered = shell("GOCACHE=$(mktemp -d -p \"$PWD\") go build -o fresh");
  EXPECT_EQ(littered.report.exit_code, 0) << littered.err;
  EXPECT_NE(added(before), std::set<std::string>{"fresh"}) << "the check above sees litter";
}

TEST_F(WorkspaceToolsTest, NpmInstallsFromALockFile) {
  if (::access("/usr/bin/npm", X_OK) != 0) GTEST_SKIP() << "npm is not on this machine";
  std::filesystem::create_directories(project + "/dep");
  write(project + "/dep/package.json", R"({"name":"dep","version":"1.0.0","main":"i.js"})");
  write(project + "/dep/i.js", "module.exports = 42\n");
  write(project + "/package.json",
        R"({"name":"app","version":"1.0.0","dependencies":{"dep":"file:dep-1.0.0.tgz"}})");
  ASSERT_EQ(shell("npm pack ./dep >/dev/null && npm install --offline --package-lock-only")
                .report.exit_code,
            0);
  const auto before = files_of(project);

  const Outcome seen =
      shell("npm ci --offline && node -e 'console.log(require(\"dep\"))' && npm config get cache");

  ASSERT_EQ(seen.report.exit_code, 0) << seen.out << seen.err;
  EXPECT_THAT(seen.out, HasSubstr("\n42\n"));
  EXPECT_THAT(seen.out, HasSubstr(seen.report.cache_dir + "/npm\n"));
  for (const std::string& file : added(before))
    EXPECT_TRUE(file.starts_with("node_modules")) << file;
  EXPECT_FALSE(std::filesystem::exists(home + "/.npm"));
}

TEST_F(WorkspaceToolsTest, PipInstallsIntoAVirtualEnvironment) {
  const Outcome wheel = python(R"(
import zipfile, hashlib, base64
info = 'dep-1.0.dist-info/'
files = {'dep.py': 'answer = 42\n',
         info + 'METADATA': 'Metadata-Version: 2.1\nName: dep\nVersion: 1.0\n',
         info + 'WHEEL': 'Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n'}
record = ''
with zipfile.ZipFile('dep-1.0-py3-none-any.whl', 'w') as z:
    for name, text in files.items():
        z.writestr(name, text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()
        record += f'{name},sha256={digest},{len(text)}\n'
    z.writestr(info + 'RECORD', record + info + 'RECORD,,\n')
)");
  ASSERT_EQ(wheel.report.exit_code, 0) << wheel.err;
  write(project + "/app.py", "import dep\nprint(dep.answer)\n");
  write(project + "/own.py", "x = 1\n");
  const auto before = files_of(project);

  const Outcome seen = shell(
      "/usr/bin/python3 -m venv env && env/bin/pip install --no-index ./dep-1.0-py3-none-any.whl "
      "&& "
      "env/bin/python app.py && env/bin/python -c 'import own'");

  ASSERT_EQ(seen.report.exit_code, 0) << seen.out << seen.err;
  EXPECT_THAT(seen.out, HasSubstr("\n42\n"));
  for (const std::string& file : added(before)) EXPECT_TRUE(file.starts_with("env")) << file;
  EXPECT_FALSE(std::filesystem::exists(home + "/.cache/pip"));

  // Without the redirection the interpreter writes beside the sources.
  (void)shell("env -u PYTHONPYCACHEPREFIX env/bin/python -c 'import own'");
  EXPECT_TRUE(std::filesystem::exists(project + "/__pycache__"));
}

}  // namespace
}  // namespace cupel::test
