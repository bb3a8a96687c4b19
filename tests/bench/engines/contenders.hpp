/// The engines that are compared: each carries out the worker's runs with the same toolchain, in
/// directories of its own.
#pragma once

#include "common/docker/client.hpp"
#include "tests/integration/engines/own_engine.hpp"
#include "worker/bubblewrap/bubblewrap_runs.hpp"
#include "worker/run/run_executor.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cupel::bench {

/// Where everything happens. Outlives the contenders.
struct Ground {
  boost::asio::io_context& loop;  ///< Run by whoever waits: see wait_for().
  boost::asio::thread_pool& files;
  std::string socket;  ///< Of this machine's engine.
  std::string wrapper;
  std::filesystem::path dir;
};

/// Runs a coroutine to its end.
template <typename T>
T wait_for(boost::asio::io_context& loop, boost::asio::awaitable<T> task) {
  std::exception_ptr failure;
  std::optional<T> value;
  boost::asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error, T result) {
    failure = std::move(error);
    value.emplace(std::move(result));
  });
  loop.restart();
  while (!value && loop.run_one() > 0) {
  }
  if (failure) std::rethrow_exception(failure);
  return *std::move(value);
}

struct Contender {
  std::string name;
  std::string version;  ///< As a worker's evidence has it.
  std::string image;
  worker::RunMounts mounts;
  worker::RunPort* port = nullptr;
  worker::ProfileContext context = {};
  worker::ImageTraits traits = {};  ///< Of an engine with containers.

  std::optional<test::OwnEngine> own = {};
  std::unique_ptr<docker::Client> engine = {};
  std::unique_ptr<worker::RunExecutor> executor = {};
  std::unique_ptr<worker::BubblewrapRuns> sandboxes = {};
};

/// docker, podman, runsc, bubblewrap. Errors say what is missing.
[[nodiscard]] Result<Contender> make_contender(const std::string& name, const Ground& ground);
inline constexpr std::string_view kContenders[] = {"docker", "bubblewrap", "podman", "runsc"};

}  // namespace cupel::bench
