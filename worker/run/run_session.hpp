/// One run on its way from create to remove. Internal to worker/run.
#pragma once

#include "common/docker/client.hpp"
#include "worker/core/engine/container_spec.hpp"
#include "worker/run/run_executor.hpp"
#include "worker/run/run_output.hpp"
#include "worker/run/session_base.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/thread_pool.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cupel::worker {

class RunSession final : public SessionBase {
 public:
  struct Host {
    boost::asio::any_io_executor executor;
    docker::Client* engine = nullptr;
    boost::asio::thread_pool* files = nullptr;
    const ExecutorOptions* options = nullptr;
  };

  RunSession(Host host, RunRequest request, RunIdentity identity, OutputSink output);

  /// The whole run. Never throws; shields itself by never being cancelled (ask() is the way).
  [[nodiscard]] boost::asio::awaitable<void> drive(ImageTraits image);
  /// The container may still be there: for the reaper.
  [[nodiscard]] bool parked() const { return parked_; }
  /// The answer of the create was lost, and the engine has been asked for what it made: whatever
  /// that was is removed or parked, and nothing was started.
  [[nodiscard]] bool create_lost() const { return create_lost_; }

 private:
  using Step = boost::asio::awaitable<bool>;

  [[nodiscard]] Step prepare(const ImageTraits& image);
  [[nodiscard]] Step create(std::string spec);
  [[nodiscard]] Step begin();
  [[nodiscard]] boost::asio::awaitable<void> read_output();
  [[nodiscard]] Step find_lost();
  [[nodiscard]] boost::asio::awaitable<void> wait_for_end();
  [[nodiscard]] boost::asio::awaitable<void> look_for_end();
  [[nodiscard]] Step ask_state();
  [[nodiscard]] boost::asio::awaitable<void> read_stored();
  [[nodiscard]] boost::asio::awaitable<void> supervise();
  [[nodiscard]] boost::asio::awaitable<void> order_end();
  [[nodiscard]] boost::asio::awaitable<void> force_end();
  [[nodiscard]] boost::asio::awaitable<void> collect();
  [[nodiscard]] boost::asio::awaitable<void> clean_up();
  void take_end(std::int32_t exit_code);
  [[nodiscard]] bool waiting() const { return !ended_ && !wait_error_ && !closing_; }
  void judge();

  Host host_;
  RunIdentity identity_;
  OutputSink sink_;
  std::string orders_;
  std::string spec_;
  std::string container_;
  docker::Attachment attachment_;
  std::unique_ptr<RunOutput> output_;
  boost::asio::cancellation_signal stop_waits_;
  boost::asio::cancellation_signal stop_looks_;

  bool output_ended_ = false;
  bool ended_ = false;  ///< The engine says that the container doesn't run.
  std::optional<Error> wait_error_;
  bool ordered_ = false;
  bool parked_ = false;
  bool create_lost_ = false;
};

}  // namespace cupel::worker
