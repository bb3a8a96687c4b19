/// What the task pipelines need of the sandbox: run one thing. Implemented by worker/run over an
/// engine, and by fakes in tests.
#pragma once

#include "worker/core/engine/run.hpp"

#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>

namespace cupel::worker {

/// Cancels what runs for one attempt; shared by the pipeline and the agent. Used on the run loop;
/// any thread may ask cancelled().
class CancelToken {
 public:
  [[nodiscard]] bool cancelled() const { return cancelled_; }
  void cancel() {
    if (cancelled_.exchange(true)) return;
    if (on_cancel_) on_cancel_();
  }
  /// One listener at a time; called at once when already cancelled.
  void listen(std::function<void()> on_cancel) {
    on_cancel_ = std::move(on_cancel);
    if (cancelled_ && on_cancel_) on_cancel_();
  }

 private:
  std::atomic<bool> cancelled_ = false;
  std::function<void()> on_cancel_;
};

/// Receives output while a run goes on (live log). Called on the run loop.
using OutputSink = std::function<void(Stream stream, std::uint64_t offset, std::string_view bytes)>;

class RunPort {
 public:
  RunPort() = default;
  RunPort(const RunPort&) = delete;
  RunPort& operator=(const RunPort&) = delete;
  virtual ~RunPort() = default;

  /// From create to remove. Never throws for what an engine, a container or a cancellation can do:
  /// the report says it. Cleanup happens under its own budgets whatever the caller does; what fails
  /// there is left to the reaper. `cancel` ends the run with EndedBy::cancelled.
  [[nodiscard]] virtual boost::asio::awaitable<RunReport> run(RunRequest request,
                                                              std::shared_ptr<CancelToken> cancel,
                                                              OutputSink output) = 0;
};

}  // namespace cupel::worker
