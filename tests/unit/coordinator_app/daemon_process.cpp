#include "tests/unit/coordinator_app/daemon_process.hpp"

#include <array>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::coordinator {

namespace {

std::vector<std::string> coordinator_arguments(const std::filesystem::path& dir,
                                               const std::vector<std::string>& extra) {
  std::vector<std::string> arguments = {"--data-dir=" + (dir / "data").string(),
                                        "--listen=127.0.0.1:0",
                                        "--control=tcp://127.0.0.1:0",
                                        "--bulk=tcp://127.0.0.1:0",
                                        "--trusted-keys=" + (dir / "trusted").string(),
                                        "--ready-file=" + (dir / "ready.json").string(),
                                        "--heartbeat-ms=200",
                                        "--lease-ms=2000",
                                        "--backoff-ms=0"};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return arguments;
}

}  // namespace

DaemonProcess::DaemonProcess(std::filesystem::path dir, const std::vector<std::string>& extra)
    : DaemonProcess(dir, "cupel-coordinator", coordinator_arguments(dir, extra)) {}

DaemonProcess::DaemonProcess(std::filesystem::path dir, const std::string& program,
                             const std::vector<std::string>& arguments)
    : dir_(std::move(dir)) {
  std::vector<std::string> all = {CUPEL_BINARY_DIR "/bin/" + program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : all) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::array<int, 2> log_pipe{};
  if (::pipe2(log_pipe.data(), O_CLOEXEC) != 0) std::abort();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(log_pipe[1], STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(log_pipe[1]);
  reader_ = std::thread([this, fd = log_pipe[0]] { read_log(fd); });
}

DaemonProcess::~DaemonProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  reader_.join();
}

void DaemonProcess::read_log(int fd) {
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t n = ::read(fd, piece.data(), piece.size());
    const std::lock_guard lock(mutex_);
    if (n > 0) log_.append(piece.data(), static_cast<std::size_t>(n));
    log_ended_ = n <= 0;
    changed_.notify_all();
    if (n <= 0) break;
  }
  ::close(fd);
}

bool DaemonProcess::wait_for_log(const std::string& text) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return log_ended_ || log_.find(text) != std::string::npos; });
  return log_.find(text) != std::string::npos;
}

bool DaemonProcess::wait_until_ready() {
  if (!wait_for_log(" ready: ")) return false;
  std::ifstream file(dir_ / "ready.json");
  ready_ = nlohmann::json::parse(file, nullptr, false);
  return ready_.is_object();
}

void DaemonProcess::signal(int number) const {
  ::kill(pid_, number);
}

int DaemonProcess::wait_for_end() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string DaemonProcess::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

std::string DaemonProcess::token() const {
  std::ifstream file(dir_ / "data" / "token");
  std::string token;
  file >> token;
  return token;
}

}  // namespace cupel::coordinator
