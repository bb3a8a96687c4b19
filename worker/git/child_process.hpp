/// A child process with bounded output, a deadline, a watch and cancellation; its whole process
/// group dies with it.
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"
#include "worker/ports/run_port.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cupel::worker {

struct ChildSpec {
  std::vector<std::string> argv;         ///< argv[0] is an absolute path.
  std::vector<std::string> environment;  ///< "NAME=value"; nothing else is inherited.
  std::filesystem::path directory;
  std::size_t out_bytes_max = 1 << 20;    ///< More than this kills the child.
  std::size_t err_bytes_max = 64 * 1024;  ///< The head is kept, the rest is dropped.
  Duration limit = std::chrono::minutes(10);
  /// Asked several times a second on the run loop; true kills the child (ChildEnd::watched).
  std::function<bool()> watch;
};

enum class ChildEnd : std::uint8_t { itself, limit, cancelled, watched, output };

struct ChildResult {
  ChildEnd ended_by = ChildEnd::itself;
  int exit_code = -1;  ///< -1 when a signal ended it.
  int signal = 0;
  std::string out;
  std::string err;
};

/// Errors: process_failed when it could not be started. Never left running: the coroutine returns
/// only after the process was reaped. Thread rule: a single-threaded io_context.
[[nodiscard]] boost::asio::awaitable<Result<ChildResult>> run_child(
    ChildSpec spec, std::shared_ptr<CancelToken> cancel);

}  // namespace cupel::worker
