#include "worker/scan/build_tool.hpp"

#include "common/fs/beneath.hpp"
#include "worker/acquire/go_run.hpp"
#include "worker/core/go/command_error.hpp"
#include "worker/core/scan/build_info.hpp"
#include "worker/run/offload.hpp"
#include "worker/scan/scan_store.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <utility>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kWordsMax = 2000;
constexpr std::uint64_t kToolMemoryBytes = 2ULL << 30;
constexpr std::uint64_t kToolTmpBytes = 1ULL << 30;

/// The program's name as `go install` gives it: the package's last element.
std::string program_of(const ToolPin& pin) {
  return pin.package.substr(pin.package.rfind('/') + 1);
}

AcquireStopped refused(Reason reason, const std::string& what) {
  const FindingKind kind =
      reason == Reason::checksum_mismatch ? FindingKind::security : FindingKind::scan_error;
  return stopped_by(refusal(reason, kind, std::string(name(reason)) + ": " + what));
}

/// A container wrote the file: nothing about it is trusted but its bytes.
Result<std::string> read_program(const std::string& directory, const std::string& program) {
  const auto root = fs::open_dir(directory);
  if (!root) return root.error();
  const auto file = fs::open_beneath(*root, program, O_RDONLY | O_NONBLOCK);
  if (!file) return file.error();
  return fs::read_all(*file, kScannerBytesMax, program);
}

std::variant<BuiltTool, AcquireStopped> judge_program(Result<std::string> bytes,
                                                      const ToolBuild& build) {
  if (!bytes) return refused(Reason::scan_failed, "no program was built: " + bytes.error().what);
  const auto info = scan::read_build_info(*bytes);
  if (!info) return refused(Reason::scan_failed, info.error().what);
  const std::string why = scan::why_not_pinned(*info, build.pin, build.go_version);
  if (!why.empty()) {
    const bool sum = info->sum != build.pin.sum;
    return refused(sum ? Reason::checksum_mismatch : Reason::scan_failed,
                   build.pin.package + "@" + build.pin.version + ": " + why);
  }
  return BuiltTool{.bytes = *std::move(bytes), .go_version = info->go_version, .log = {}};
}

}  // namespace

RunRequest tool_request(const ToolBuild& build) {
  RunRequest request;
  request.profile = Profile::tool;
  request.campaign = build.campaign;
  request.task = build.task;
  request.token = build.token;
  request.task_deadline = build.task_deadline;
  request.command = {"go", "install", "-trimpath", build.pin.package + "@" + build.pin.version};
  request.image = build.image;
  request.mounts.modcache = build.modcache;
  request.mounts.gocache = build.gocache;
  request.mounts.tools = build.tools;
  request.limits = build.limits;
  request.limits.memory_bytes = std::max(request.limits.memory_bytes, kToolMemoryBytes);
  request.limits.tmp_bytes = std::max(request.limits.tmp_bytes, kToolTmpBytes);
  request.limit = kToolLimit;
  request.check = CheckKind::build;
  return request;
}

Reason tool_failure(std::string_view words) {
  if (const auto known = go::classify_command_error(words)) {
    if (known->reason == Reason::checksum_mismatch) return known->reason;
  }
  static constexpr std::array<std::string_view, 12> kNetwork = {
      "dial tcp",         "no such host",       "connection refused", "network is unreachable",
      "connection reset", "i/o timeout",        "TLS handshake",      "x509: ",
      "Client.Timeout",   "server misbehaving", "proxyconnect",       ": 50"};
  const bool network = std::ranges::any_of(
      kNetwork, [&](std::string_view word) { return words.find(word) != std::string_view::npos; });
  return network ? Reason::upstream : Reason::scan_failed;
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): outlive the call
asio::awaitable<std::variant<BuiltTool, AcquireStopped>> build_tool(
    RunPort& runs, asio::thread_pool& files, ToolBuild build, std::shared_ptr<CancelToken> cancel) {
  const RunReport report = co_await runs.run(tool_request(build), std::move(cancel), {});
  if (auto stopped = unproven(report)) co_return *std::move(stopped);
  if (report.exit_code != 0) {
    const std::string words = report.err.bytes.substr(0, kWordsMax);
    co_return refused(tool_failure(report.err.bytes),
                      "go install " + build.pin.package + "@" + build.pin.version + ": " + words);
  }
  auto read = [directory = build.tools, program = program_of(build.pin)] {
    return read_program(directory, program);
  };
  Result<std::string> bytes = co_await offload(files, std::move(read));
  auto judged = judge_program(std::move(bytes), build);
  if (auto* built = std::get_if<BuiltTool>(&judged)) {
    built->log = {.out = report.out.bytes, .err = report.err.bytes, .truncated = false};
  }
  co_return judged;
}

}  // namespace cupel::worker
