#include "tests/integration/engines/own_engine.hpp"

#include "common/fs/files.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace cupel::test {

namespace {

constexpr const char* kScript = CUPEL_SOURCE_DIR "/tests/integration/engines/own_engine";

struct Ends {
  fs::Fd reading;
  fs::Fd writing;
};

Ends make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  return {fs::Fd(ends[0]), fs::Fd(ends[1])};
}

std::string read_to_end(const fs::Fd& pipe) {
  std::string all;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t n = ::read(pipe.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return all;
    all.append(piece.data(), static_cast<std::size_t>(n));
    if (all.ends_with("ready\n")) return all;
  }
}

}  // namespace

Result<OwnEngine> OwnEngine::start(const std::string& kind, const std::string& runtime) {
  // Short: a unix socket's path has 107 bytes. ops/uninstall knows the folder.
  const std::string dir = "/var/lib/cupel-own-engines/" + kind + "-" + fs::random_hex(4);
  std::vector<std::string> words = {kScript, kind, dir};
  if (!runtime.empty()) words.push_back(runtime);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Ends lifeline = make_pipe();
  Ends said = make_pipe();
  const pid_t script = ::fork();
  if (script == 0) {
    ::dup2(lifeline.reading.get(), STDIN_FILENO);
    ::dup2(said.writing.get(), STDOUT_FILENO);
    ::dup2(said.writing.get(), STDERR_FILENO);
    // A terminal's interrupt is for the test, which then ends the engine.
    ::setsid();
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  said.writing = {};
  OwnEngine engine(script, std::move(lifeline.writing), dir + "/engine.sock");
  const std::string words_of_script = read_to_end(said.reading);
  if (words_of_script.ends_with("ready\n")) return engine;
  return Error{.code = Errc::process_failed,
               .what = "no " + kind + " of our own",
               .detail = capped_detail(words_of_script),
               .hint = "'ops/engines' installs what it needs"};
}

OwnEngine::~OwnEngine() {
  if (script_ < 0) return;
  lifeline_ = {};
  while (::waitpid(script_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace cupel::test
