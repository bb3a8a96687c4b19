/// Asynchronous client of a Docker-compatible engine over its unix socket. One connection a call;
/// each call has a budget of its own that starts with the call and covers connect, write and read.
///
/// Errors of every call: engine_timeout (the effect is unknown), engine_unreachable, engine_refused
/// (a status that the call can't accept; detail holds the engine's words), engine_protocol,
/// cancelled (the caller's coroutine was cancelled). Nothing throws for what an engine can do.
/// A call that can be repeated (all but create, attach and wait) is made a second time when its
/// connection ended before the first byte of an answer.
///
/// Thread rule: all calls of one client on one thread (the executor's). Calls may overlap. The
/// client outlives its calls.
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"
#include "common/docker/budgets.hpp"
#include "common/engine/answers.hpp"
#include "common/engine/log_frames.hpp"
#include "common/engine/networks.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::docker {

using engine::ContainerState;
using engine::ContainerSummary;
using engine::Created;
using engine::EngineInfo;
using engine::EngineVersion;
using engine::ImageFacts;
using engine::TransferProgress;
using engine::WaitAnswer;

template <typename T>
using Awaitable = boost::asio::awaitable<T>;

enum class CallOutcome : std::uint8_t { ok, refused, timeout, unreachable, protocol, cancelled };
[[nodiscard]] std::string_view name(CallOutcome outcome);

/// For metrics: `call` is one of a closed list (ping, version, info, create, attach, start, wait,
/// kill, logs, inspect, remove, list, image_inspect, image_list, image_import, image_pull,
/// image_tag, image_remove, network_create, network_inspect, network_list, network_remove).
struct CallObservation {
  std::string_view call;
  CallOutcome outcome = CallOutcome::ok;
  Duration elapsed{};
};

struct ClientOptions {
  std::string socket_path = "/var/run/docker.sock";
  EngineBudgets budgets = {};
  /// Short calls under way at once; further ones queue inside their own budget. Waits, attachments
  /// and image transfers don't count, so that they never hold up a kill.
  std::size_t calls_max = 16;
  /// Before a call that failed for the moment is made again, inside its own budget; doubles.
  Duration retry_pause = std::chrono::milliseconds(500);
  std::function<void(const CallObservation&)> observer = {};
};

/// The socket to use: DOCKER_HOST when it is unix://..., else the first existing of the usual
/// places. Errors: bad_config for another scheme, engine_unreachable when there is none.
[[nodiscard]] Result<std::string> find_socket(
    const std::map<std::string, std::string>& environment);

/// A container's standard streams over one upgraded connection. When it is closed or dies, the
/// container reads end of file. Move-only; used by one writer and one reader at a time.
class Attachment {
 public:
  Attachment();
  Attachment(Attachment&&) noexcept;
  Attachment& operator=(Attachment&&) noexcept;
  ~Attachment();

  /// Writes to the container's stdin. Errors: engine_timeout, engine_unreachable, cancelled.
  [[nodiscard]] Awaitable<Result<void>> send(std::string bytes, Duration budget);
  /// Next multiplexed bytes of stdout and stderr, at most 64 KiB; empty at the end of the streams.
  /// No clock of its own: ends with the container, close() or a cancellation.
  [[nodiscard]] Awaitable<Result<std::string>> read();
  /// Ends everything at once; a pending read returns.
  void close();

 private:
  friend class Client;
  struct State;
  explicit Attachment(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// How `logs` ended.
struct LogEnd {
  bool complete = false;            ///< The engine ended the stream, between two frames.
  bool stopped = false;             ///< The reader had enough (bytes_max).
  std::optional<Error> error = {};  ///< What arrived before is kept by the sink all the same.
};

/// Bytes for an import, pull-style: an empty piece ends them.
using ByteSource = std::function<Awaitable<Result<std::string>>()>;
using ProgressSink = std::function<void(const TransferProgress&)>;

struct ImportRequest {
  std::string repository;  ///< Local name of the new image.
  std::string tag;
  std::vector<std::string> changes;  ///< "LABEL a=b", "ENV A=b", "CMD [...]"
  std::string message;
};

class Client {
 public:
  Client(boost::asio::any_io_executor executor, ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] const ClientOptions& options() const;

  [[nodiscard]] Awaitable<Result<void>> ping();
  /// Asks for the version and fixes the API version of all later calls. Before it, the minimum is
  /// used. Errors also: unsafe_sandbox when the engine is older than kApiMin.
  [[nodiscard]] Awaitable<Result<EngineVersion>> negotiate();
  [[nodiscard]] Awaitable<Result<EngineInfo>> info();

  /// `body` is the JSON of worker/core/engine/container_spec.
  /// Errors also: image_missing, already_exists (the name).
  [[nodiscard]] Awaitable<Result<Created>> create(std::string container_name, std::string body);
  /// stdin, stdout and stderr; before start, so that nothing is missed.
  [[nodiscard]] Awaitable<Result<Attachment>> attach(std::string container);
  [[nodiscard]] Awaitable<Result<void>> start(std::string container);
  /// Until the container is not running. Two clocks: budgets.wait_head for the head, `body_limit`
  /// for the body. A container that already ended answers at once. A connection that ends before
  /// its answer is whole is engine_unreachable, a whole answer without an exit code is
  /// engine_protocol.
  [[nodiscard]] Awaitable<Result<WaitAnswer>> wait(std::string container, Duration body_limit);
  /// SIGKILL by default; a container that doesn't run counts as killed.
  [[nodiscard]] Awaitable<Result<void>> kill(std::string container, std::string signal = "KILL");
  /// The stored output. `sink` gets the pieces as they arrive, so that a timeout loses nothing that
  /// was read. Stops after `bytes_max` payload bytes. Budget: logs + 1 s per 10 MiB of bytes_max.
  [[nodiscard]] Awaitable<LogEnd> logs(std::string container, std::uint64_t bytes_max,
                                       engine::LogFrames::Sink sink);
  /// Errors also: not_found.
  [[nodiscard]] Awaitable<Result<ContainerState>> inspect(std::string container);
  /// Whether a created container has this path; works before its start and runs nothing.
  [[nodiscard]] Awaitable<Result<bool>> has_path(std::string container, std::string path);
  /// With its volumes; returns once it is gone (or never was). A removal that is under way is
  /// waited for, a failure of the engine (5xx) is tried again twice; all inside one budget. Errors
  /// also: conflict when it runs and `force` is false.
  [[nodiscard]] Awaitable<Result<void>> remove(std::string container, bool force = true);
  /// All states. `labels`: "key" or "key=value", all must match.
  [[nodiscard]] Awaitable<Result<std::vector<ContainerSummary>>> list(
      std::vector<std::string> labels);

  /// `image`: id, tag or digest reference. Errors also: image_missing.
  [[nodiscard]] Awaitable<Result<ImageFacts>> image_inspect(std::string image);
  /// Facts of a list are short: environment and volumes are empty there.
  [[nodiscard]] Awaitable<Result<std::vector<ImageFacts>>> image_list(
      std::vector<std::string> labels);
  /// A flat tar of a root file system becomes an image. Returns its id.
  [[nodiscard]] Awaitable<Result<std::string>> image_import(ImportRequest request, ByteSource tar,
                                                            ProgressSink progress = {});
  /// By digest only: "repository@sha256:...". Runs never call this.
  [[nodiscard]] Awaitable<Result<void>> image_pull(std::string reference,
                                                   ProgressSink progress = {});
  [[nodiscard]] Awaitable<Result<void>> image_tag(std::string image, std::string repository,
                                                  std::string tag);
  /// Missing is success. Errors also: conflict (in use).
  [[nodiscard]] Awaitable<Result<void>> image_remove(std::string image);

  /// Errors also: already_exists (the name), engine_refused where the engine has no addresses left.
  [[nodiscard]] Awaitable<Result<void>> network_create(engine::InternalNetwork network);
  /// By name or id. Errors also: not_found.
  [[nodiscard]] Awaitable<Result<engine::NetworkFacts>> network_inspect(std::string network);
  /// With all these labels. `containers` is not set.
  [[nodiscard]] Awaitable<Result<std::vector<engine::NetworkFacts>>> network_list(
      std::vector<std::string> labels);
  /// One that isn't there counts as removed. Errors also: engine_refused while containers use it.
  [[nodiscard]] Awaitable<Result<void>> network_remove(std::string network);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace cupel::docker
