// What the coordinator asks of a worker in quarantine: does its engine run a container?
#include "worker/app/attempt.hpp"
#include "worker/run/mount_probe.hpp"

#include <boost/asio/awaitable.hpp>

namespace cupel::worker {

namespace asio = boost::asio;

// The whole way of a run, with a container of the execute profile that must see a fresh marker.
asio::awaitable<TaskResult> TaskRunner::prove(AttemptPtr attempt) {
  TaskResult result = answer(*attempt, Outcome::passing, Reason::none, {});
  const auto failed = [&result](Reason reason, std::string message) {
    result.ending = Ending::interrupted;
    result.outcome = Outcome::inconclusive;
    result.reason = reason;
    result.message = std::move(message);
  };
  const auto images = parts_.images();
  if (images.empty()) {
    failed(Reason::engine, "the engine holds no toolchain image");
    co_return result;
  }
  ProbeRequest request;
  request.image = images.front().engine_id;
  request.roots = {parts_.options.data_dir};
  request.socket_path = parts_.options.engine_socket;
  request.token = attempt->lease.token;
  const auto proved = co_await probe_mounts(parts_.runs, std::move(request));
  parts_.metrics.mount_probe(proved.has_value());
  if (!proved) failed(Reason::engine, proved.error().what);
  co_return result;
}

}  // namespace cupel::worker
