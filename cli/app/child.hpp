/// A child process of ours that never outlives us.
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cupel::cli {

/// How a process ended.
struct Ended {
  int exit_code = -1;  ///< -1: by a signal.
  int signal = 0;
  [[nodiscard]] std::string text() const;  ///< "exit code 2", "signal 9".
};

class Child {
 public:
  /// Starts `program` with its output in `log_file` (made anew, 0600), no standard input, a process
  /// group of its own (so that the terminal's Ctrl-C reaches only us) and the kernel's promise to
  /// kill it when this process dies. Errors: not_found, io_error.
  [[nodiscard]] static Result<Child> start(const std::filesystem::path& program,
                                           const std::vector<std::string>& arguments,
                                           const std::filesystem::path& log_file);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// Kills and reaps what still runs.
  ~Child();

  /// Readable once the process has ended.
  [[nodiscard]] int fd() const { return pidfd_; }
  void signal(int number) const;
  /// Nothing while it runs.
  [[nodiscard]] std::optional<Ended> ended();
  /// Waits at most this long, or until `other_fd` is readable.
  [[nodiscard]] std::optional<Ended> wait(Duration limit, int other_fd = -1);
  [[nodiscard]] const std::filesystem::path& log_file() const { return log_file_; }

 private:
  Child(pid_t pid, int pidfd, std::filesystem::path log_file);

  pid_t pid_ = -1;
  int pidfd_ = -1;
  std::optional<Ended> ended_;
  std::filesystem::path log_file_;
};

/// The last lines of a file, for an error's detail.
[[nodiscard]] std::string tail_of(const std::filesystem::path& file, std::size_t lines);

}  // namespace cupel::cli
