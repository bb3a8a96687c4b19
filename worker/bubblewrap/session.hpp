/// One run on its way from launch to the last process's end. Internal to worker/bubblewrap.
#pragma once

#include "worker/bubblewrap/bubblewrap_runs.hpp"
#include "worker/run/run_output.hpp"
#include "worker/run/session_base.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cupel::worker {

class BubblewrapSession final : public SessionBase {
 public:
  struct Host {
    boost::asio::any_io_executor executor;
    boost::asio::thread_pool* files = nullptr;
    const BubblewrapHost* machine = nullptr;
    const BubblewrapOptions* options = nullptr;
  };

  BubblewrapSession(Host host, RunRequest request, std::string run_id, OutputSink output);

  /// The whole run. Never throws; shields itself by never being cancelled (ask() is the way).
  [[nodiscard]] boost::asio::awaitable<void> drive();
  /// What is left of it, when its budget was spent before it was gone.
  [[nodiscard]] std::optional<RunCgroup> take_rest() { return std::move(rest_); }
  [[nodiscard]] bool unremoved() const { return unremoved_; }

 private:
  using Step = boost::asio::awaitable<bool>;
  using Pipe = boost::asio::posix::stream_descriptor;

  [[nodiscard]] Step prepare();
  [[nodiscard]] bool launch();
  [[nodiscard]] boost::asio::awaitable<void> send(std::string bytes);
  [[nodiscard]] boost::asio::awaitable<void> read_output(Pipe& pipe, Stream stream);
  [[nodiscard]] boost::asio::awaitable<void> wait_for_end();
  [[nodiscard]] boost::asio::awaitable<void> supervise();
  [[nodiscard]] boost::asio::awaitable<void> force_end();
  [[nodiscard]] boost::asio::awaitable<void> clean_up();
  void judge();
  void judge_without_trailer();

  Host host_;
  std::string run_id_;
  std::string orders_;
  bubblewrap::LaunchRequest launch_;
  RunCgroup cgroup_;
  std::optional<RunCgroup> rest_;
  bubblewrap::Launched launched_;
  RunOutput output_;
  /// A socket, since a pipe that nobody reads would send us a signal.
  boost::asio::local::stream_protocol::socket in_;
  Pipe out_;
  Pipe err_;
  Pipe end_;  ///< The process itself, as a descriptor.

  int streams_open_ = 0;
  bool running_ = false;
  bool unremoved_ = false;
};

}  // namespace cupel::worker
