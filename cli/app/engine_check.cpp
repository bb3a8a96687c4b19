#include "cli/app/engine_check.hpp"

#include "cli/app/local_fleet.hpp"
#include "cli/image/commands.hpp"
#include "common/bubblewrap/image_store.hpp"
#include "common/bubblewrap/machine.hpp"
#include "common/config/config.hpp"
#include "common/docker/client.hpp"
#include "common/images/builtin.hpp"
#include "common/images/select.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace cupel::cli {
namespace {

boost::asio::awaitable<Result<EngineAnswer>> ask(docker::Client& client) {
  const auto version = co_await client.negotiate();
  if (!version) co_return version.error();
  const auto info = co_await client.info();
  if (!info) co_return info.error();
  const auto listed = co_await client.image_list({});
  if (!listed) co_return listed.error();
  std::vector<images::EngineImage> all;
  for (const engine::ImageFacts& facts : *listed) {
    all.push_back({.id = facts.id,
                   .repo_digests = facts.digests,
                   .labels = {facts.labels.begin(), facts.labels.end()}});
  }
  co_return EngineAnswer{.version = version->version,
                         .api = version->api.text(),
                         .confinement = engine::confinement_of(*info),
                         .engine = *version,
                         .info = *info,
                         .images = images::match_images(images::builtin_table(), all).size()};
}

}  // namespace

Result<std::string> engine_socket(const std::string& named) {
  if (!named.empty()) return named;
  return docker::find_socket(config::process_environment());
}

std::string bubblewrap_images(const std::string& named) {
  // A worker needs it absolute.
  return std::filesystem::absolute(named.empty() ? unpacked_images(state_home())
                                                 : std::filesystem::path(named))
      .string();
}

Result<EngineAnswer> ask_bubblewrap(const std::string& image_dir) {
  const auto machine = bubblewrap::look_at_machine();
  if (!machine) return machine.error();
  const auto here =
      images::match_images(images::builtin_table(), bubblewrap::list_images(image_dir));
  return EngineAnswer{.version = machine->program,
                      .api = machine->run_as ? "user " + std::to_string(machine->run_as->uid)
                                             : std::string("the worker's own user"),
                      .confinement = {},
                      .engine = {},
                      .info = {},
                      .images = here.size()};
}

Result<EngineAnswer> ask_engine(const std::string& socket) {
  docker::ClientOptions options;
  options.socket_path = socket;
  boost::asio::io_context io(1);
  docker::Client client(io.get_executor(), options);
  std::optional<Result<EngineAnswer>> answer;
  std::exception_ptr thrown;
  boost::asio::co_spawn(io, ask(client),
                        [&](std::exception_ptr failure, Result<EngineAnswer> result) {
                          thrown = std::move(failure);
                          if (!thrown) answer = std::move(result);
                        });
  io.run();
  if (thrown) std::rethrow_exception(thrown);
  return *std::move(answer);
}

}  // namespace cupel::cli
