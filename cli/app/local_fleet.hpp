/// `--local`: a coordinator and workers as children of this process, with keys that are made here,
/// over the same sockets as everywhere. State is kept below one directory, used by one process at a
/// time.
#pragma once

#include "cli/app/child.hpp"
#include "cli/app/console.hpp"
#include "cli/app/interrupts.hpp"
#include "cli/app/request.hpp"
#include "common/fs/files.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cupel::cli {

/// $XDG_STATE_HOME/cupel, or ~/.local/state/cupel.
[[nodiscard]] std::filesystem::path state_home();

class LocalFleet {
 public:
  /// Starts everything and waits until it is ready. Errors: locked, not_found (a program is
  /// missing), process_failed (with the end of its log), cancelled, io_error.
  [[nodiscard]] static Result<std::unique_ptr<LocalFleet>> start(const LocalOptions& options,
                                                                 Console& console,
                                                                 Interrupts& interrupts,
                                                                 bool with_workers);
  LocalFleet(const LocalFleet&) = delete;
  LocalFleet& operator=(const LocalFleet&) = delete;
  /// Kills what still runs.
  ~LocalFleet();

  [[nodiscard]] const std::string& base_url() const { return base_url_; }
  [[nodiscard]] std::filesystem::path token_file() const { return dir_ / "coordinator" / "token"; }
  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }

  /// After the interrupts' descriptor fired: a worker that died is started again (a few times), a
  /// coordinator that died is an error.
  [[nodiscard]] Result<void> look_after();
  /// TERM, and KILL after a limit or at the next Ctrl-C. Afterwards nothing runs.
  void stop();

 private:
  struct Worker {
    std::string name;
    std::filesystem::path dir;
    std::optional<Child> child;
    int restarts = 0;
  };

  LocalFleet(const LocalOptions& options, Console& console, Interrupts& interrupts,
             std::filesystem::path dir, fs::FileLock lock);
  /// Before anything is started: does an engine answer, and does it hold a toolchain image?
  Result<void> check_engine();
  Result<void> prepare();
  Result<void> start_coordinator();
  Result<void> start_worker(Worker& worker);
  Result<void> await_worker(Worker& worker);
  /// Until `file` is there: its content. Ends when `child` ends, at the deadline, or by an
  /// interrupt.
  Result<std::string> await_ready(const std::filesystem::path& file, Child& child,
                                  const std::string& what, Duration limit);
  Result<void> ensure_key(const std::filesystem::path& file, std::string& public_key) const;
  [[nodiscard]] std::filesystem::path program(const std::string& name) const;
  void stop_child(Child& child, const std::string& what, Duration limit);

  LocalOptions options_;
  Console& console_;
  Interrupts& interrupts_;
  std::filesystem::path dir_;
  fs::FileLock lock_;
  std::optional<Child> coordinator_;
  std::vector<Worker> workers_;
  std::string base_url_;
  std::string control_;
  std::string bulk_;
  std::string coordinator_key_;
  bool hurry_ = false;
};

}  // namespace cupel::cli
