#pragma once

#include <nlohmann/json.hpp>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace cupel::coordinator {

/// A real daemon as a child process; killed at the end when it still runs.
class DaemonProcess {
 public:
  /// cupel-coordinator with its data, ready file and trust list in `dir`.
  explicit DaemonProcess(std::filesystem::path dir, const std::vector<std::string>& extra = {});
  /// Another program of the build; it writes `dir`/ready.json before it logs " ready: ".
  DaemonProcess(std::filesystem::path dir, const std::string& program,
                const std::vector<std::string>& arguments);
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  /// Waits until the log says that it is ready; false when it ended before.
  bool wait_until_ready();
  /// Waits for a piece of the log; false when the process ended without it.
  bool wait_for_log(const std::string& text);
  void signal(int number) const;
  /// Exit code, or minus the signal.
  int wait_for_end();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::string log() const;
  [[nodiscard]] const nlohmann::json& ready() const { return ready_; }
  [[nodiscard]] std::string token() const;

 private:
  void read_log(int fd);

  std::filesystem::path dir_;
  nlohmann::json ready_;
  pid_t pid_ = -1;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string log_;
  bool log_ended_ = false;
  std::thread reader_;
};

}  // namespace cupel::coordinator
