// What a command of the workspace scope must not reach, tried from inside.
#include "common/fs/files.hpp"
#include "tests/integration/workspace/workspace.hpp"

#include <gmock/gmock.h>

#include <arpa/inet.h>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <pty.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace cupel::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class WorkspaceAttackTest : public WorkspaceTest {};

/// Listens until the end of the scope; whoever may connect can.
class Listener {
 public:
  explicit Listener(const std::string& path, bool abstract = false)
      : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path + (abstract ? 1 : 0), sizeof address.sun_path - 2);
    const std::size_t length =
        abstract ? offsetof(sockaddr_un, sun_path) + 1 + path.size() : sizeof address;
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address),
                     static_cast<socklen_t>(length)),
              0)
        << path << std::strerror(errno);
    EXPECT_EQ(::listen(fd_.get(), 8), 0);
  }

 private:
  fs::Fd fd_;
};

std::string connect_to(const std::string& name) {
  return "import socket\ns = socket.socket(socket.AF_UNIX)\ntry:\n  s.connect(" + name +
         ")\n  print('connected')\nexcept OSError as e:\n  print('refused', e.errno)\n";
}

TEST_F(WorkspaceAttackTest, TokensOfTheHomeAreNotThere) {
  const Outcome seen = shell("cat ~/.netrc; ls -A ~; env");

  EXPECT_THAT(seen.out, Not(HasSubstr("token-of-mine")));
  EXPECT_THAT(seen.out, Not(HasSubstr("of-the-caller")));
  EXPECT_THAT(seen.out, HasSubstr("project\n"));

  const Outcome named = shell("cat ~/.gitconfig && ! echo x >> ~/.gitconfig && ls -A ~",
                              [](auto& wanted) { wanted.allow_home = {".gitconfig"}; });
  EXPECT_EQ(named.report.exit_code, 0) << named.err;
  EXPECT_THAT(named.out, HasSubstr("Somebody"));
  EXPECT_THAT(named.out, Not(HasSubstr(".netrc")));
}

TEST_F(WorkspaceAttackTest, NothingBesidesTheProjectCanBeWritten) {
  const Outcome seen = shell(
      "for d in / /usr /etc /opt /usr/local/bin /dev \"$HOME/..\"; do touch \"$d/cupel-was-here\" "
      "2>/dev/null && echo \"wrote $d\"; done; touch mine /tmp/t ~/t \"$TMPDIR/t\" && echo own");

  EXPECT_EQ(seen.out, "own\n");
  EXPECT_FALSE(std::filesystem::exists("/usr/cupel-was-here"));
  EXPECT_TRUE(std::filesystem::exists(project + "/mine"));
  EXPECT_FALSE(std::filesystem::exists("/tmp/t"));
  EXPECT_FALSE(std::filesystem::exists(home + "/t"));
}

TEST_F(WorkspaceAttackTest, GitRunsNothingThatTheCommandWrote) {
  std::filesystem::create_directories(scratch + "/before");
  const auto before = files_of(project + "/.git");

  const Outcome seen = shell(
      "echo evil > .git/hooks/pre-commit && echo 'wrote a hook'\n"
      "echo evil >> .git/config && echo 'wrote the configuration'\n"
      "rm -rf .git/hooks && mkdir .git/hooks && echo 'replaced the hooks'\n"
      "echo evil > .git/config.worktree && echo 'wrote config.worktree'\n"
      "mv .git moved && echo 'moved .git'\n"
      "mv .git/config .git/old && echo 'moved the configuration'\n"
      "mkdir -p elsewhere && echo ../elsewhere > .git/commondir\n"
      "touch .git/index && echo 'wrote the index'");

  EXPECT_EQ(seen.out, "wrote the index\n");
  ASSERT_EQ(seen.report.removed.size(), 1U);
  EXPECT_EQ(seen.report.removed.front(), project + "/.git/commondir");
  auto after = files_of(project + "/.git");
  after.erase("index");
  EXPECT_EQ(after, before);
}

TEST_F(WorkspaceAttackTest, HostSocketsAnswerNobody) {
  // As short as sun_path asks for.
  const std::string folder = "/tmp/cupel-" + fs::random_hex(4);
  std::filesystem::create_directories(folder);
  const Listener in_tmp(folder + "/s");
  const std::string link = project + "/near";
  std::filesystem::create_directory_symlink(project, folder + "/p");
  const Listener in_project(folder + "/p/s");

  const Outcome tmp = python(connect_to("'" + folder + "/s'"));
  const Outcome own = python(connect_to("'s'"));

  EXPECT_THAT(tmp.out, HasSubstr("refused"));
  EXPECT_THAT(own.out, HasSubstr("refused"));
  std::filesystem::remove_all(folder);
  // The control: such a socket does answer where nothing is covered.
  const Outcome made_inside =
      python("import socket\na = socket.socket(socket.AF_UNIX)\na.bind('/tmp/x')\na.listen()\n" +
             connect_to("'/tmp/x'"));
  EXPECT_THAT(made_inside.out, HasSubstr("connected"));
}

TEST_F(WorkspaceAttackTest, AbstractSocketsAreClosedAlsoWithTheNetwork) {
  const std::string name = "cupel-test-" + fs::random_hex(6);
  const Listener listener(name, true);

  const Outcome without = python(connect_to("'\\0" + name + "'"));
  const Outcome with =
      python(connect_to("'\\0" + name + "'"), [](auto& wanted) { wanted.network = true; });

  EXPECT_THAT(without.out, HasSubstr("refused"));
  bool promised = false;
  for (const auto& one : with.report.guarantees) {
    if (one.name == "abstract_sockets") promised = one.state == sandbox::Guarantee::State::enforced;
  }
  EXPECT_THAT(with.out, HasSubstr(promised ? "refused" : "connected"));
}

TEST_F(WorkspaceAttackTest, TheHostsLoopbackIsOutOfReachWithoutTheNetwork) {
  const fs::Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(server.get(), 8), 0);
  ASSERT_EQ(::getsockname(server.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  const std::string program =
      "import socket\ntry:\n  socket.create_connection(('127.0.0.1', " +
      std::to_string(ntohs(address.sin_port)) +
      "), 5)\n  print('connected')\nexcept OSError as e:\n  print('refused', e.errno)\n";

  EXPECT_THAT(python(program).out, HasSubstr("refused"));
  EXPECT_THAT(python(program, [](auto& wanted) { wanted.network = true; }).out,
              HasSubstr("connected"));
}

TEST_F(WorkspaceAttackTest, NothingIsTypedIntoTheTerminal) {
  int master = -1;
  int slave = -1;
  ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  const fs::Fd master_fd(master);
  const fs::Fd slave_fd(slave);
  in = slave;

  // The second request differs in its upper half only, which the kernel doesn't look at.
  const Outcome seen = python(
      "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
      "for request in (0x5412, 0x100005412, 0x541c):\n"
      "  ok = libc.syscall(16, 0, ctypes.c_ulong(request), b'x')\n"
      "  print(ok, ctypes.get_errno())\n");

  EXPECT_EQ(seen.out, "-1 1\n-1 1\n-1 1\n");
}

TEST_F(WorkspaceAttackTest, TheKernelGivesNoMoreThanTheListAllows) {
  const Outcome seen = shell(
      "grep -E '^(CapEff|CapPrm|NoNewPrivs|Seccomp):' /proc/self/status\n"
      "unshare -U true 2>/dev/null && echo namespaces\n"
      "mount -t tmpfs none /tmp 2>/dev/null && echo mounted\n"
      "cat /etc/shadow 2>/dev/null | grep -c . ");

  EXPECT_THAT(seen.out, HasSubstr("CapPrm:\t0000000000000000"));
  EXPECT_THAT(seen.out, HasSubstr("CapEff:\t0000000000000000"));
  EXPECT_THAT(seen.out, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(seen.out, HasSubstr("Seccomp:\t2"));
  EXPECT_THAT(seen.out, Not(HasSubstr("namespaces")));
  EXPECT_THAT(seen.out, Not(HasSubstr("mounted")));
  EXPECT_THAT(seen.out, ::testing::EndsWith("\n0\n"));
}

TEST_F(WorkspaceAttackTest, OtherProcessesAreNeitherSeenNorReached) {
  const Outcome seen = shell("ls /proc | grep -c '^[0-9]'; kill -0 " + std::to_string(::getpid()) +
                             " 2>/dev/null && echo reached");
  EXPECT_LE(std::stoi(seen.out), 6);
  EXPECT_THAT(seen.out, Not(HasSubstr("reached")));
}

}  // namespace
}  // namespace cupel::test
