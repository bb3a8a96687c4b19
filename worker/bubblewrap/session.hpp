/// One run on its way from launch to the last process's end. Internal to worker/bubblewrap.
#pragma once

#include "worker/bubblewrap/bubblewrap_runs.hpp"
#include "worker/run/run_marks.hpp"
#include "worker/run/run_output.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cupel::worker {

class BubblewrapSession : public std::enable_shared_from_this<BubblewrapSession> {
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
  /// Ends the run early; the first reason wins.
  void ask(EndedBy reason);
  [[nodiscard]] RunReport take_report() { return std::move(report_); }
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
  [[nodiscard]] boost::asio::awaitable<void> watch_mounts();
  [[nodiscard]] boost::asio::awaitable<void> supervise();
  [[nodiscard]] boost::asio::awaitable<void> force_end();
  [[nodiscard]] boost::asio::awaitable<void> clean_up();
  [[nodiscard]] boost::asio::awaitable<void> sleep_until(TimePoint time);
  void spawn(boost::asio::awaitable<void> task);
  void wake() { wake_.cancel(); }
  void fail(Error error);
  void note(const Error& error);
  void judge();
  void judge_without_trailer();

  Host host_;
  RunRequest request_;
  std::string run_id_;
  std::string nonce_;
  RunMarks marks_;
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
  boost::asio::steady_timer wake_;
  boost::asio::steady_timer next_look_;  ///< At the mounts.
  RunReport report_;

  TimePoint started_at_{};
  std::size_t children_ = 0;
  int streams_open_ = 0;
  bool running_ = false;
  std::optional<EndedBy> asked_;
  bool closing_ = false;  ///< Nothing watches any more.
  bool unremoved_ = false;
};

}  // namespace cupel::worker
