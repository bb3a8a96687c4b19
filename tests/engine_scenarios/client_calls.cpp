#include "tests/engine_scenarios/client_calls.hpp"

#include "common/engine/log_frames.hpp"
#include "tests/engine_scenarios/model.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>

namespace cupel::scenarios {

namespace {

namespace asio = boost::asio;

template <typename T>
std::optional<Error> error_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional<Error>(result.error());
}

asio::awaitable<Facts> call_version(docker::Client* client) {
  Facts facts;
  const auto version = co_await client->negotiate();
  add_error(facts, error_of(version));
  if (!version) co_return facts;
  facts["api"] = version->api.text();
  facts["name"] = version->name;
  facts["engine_version"] = version->version;
  co_return facts;
}

asio::awaitable<Facts> call_info(docker::Client* client) {
  Facts facts;
  const auto info = co_await client->info();
  add_error(facts, error_of(info));
  if (!info) co_return facts;
  facts["id"] = info->id;
  facts["cgroup_version"] = info->cgroup_version;
  facts["memory_limit"] = flag_text(info->memory_limit);
  facts["pids_limit"] = flag_text(info->pids_limit);
  co_return facts;
}

asio::awaitable<Facts> call_create(docker::Client* client, CallStep call) {
  Facts facts;
  const auto created =
      co_await client->create(call.container, std::string("{\"Image\":\"") + kImage + "\"}");
  add_error(facts, error_of(created));
  if (!created) co_return facts;
  facts["id"] = created->id;
  std::string& warnings = facts["warnings"];
  for (const std::string& warning : created->warnings) warnings += warning + "\n";
  co_return facts;
}

asio::awaitable<Facts> call_attach(docker::Client* client, CallStep call) {
  Facts facts;
  auto attached = co_await client->attach(call.container);
  add_error(facts, error_of(attached));
  if (!attached) co_return facts;
  engine::LogFrames frames([&facts](Stream stream, std::string_view bytes) {
    facts[stream == Stream::out ? "stdout" : "stderr"].append(bytes);
  });
  asio::steady_timer limit(co_await asio::this_coro::executor,
                           std::chrono::ceil<std::chrono::steady_clock::duration>(call.limit));
  docker::Attachment* const open = &*attached;
  limit.async_wait([open](const boost::system::error_code& ec) {
    if (!ec) open->close();
  });
  facts["stdout"].clear();
  facts["stderr"].clear();
  while (true) {
    const auto piece = co_await attached->read();
    if (!piece || piece->empty()) break;
    frames.feed(*piece);
  }
  limit.cancel();
  facts["malformed"] = flag_text(frames.malformed() || frames.mid_frame());
  co_return facts;
}

asio::awaitable<Facts> call_logs(docker::Client* client, CallStep call) {
  Facts facts;
  facts["stdout"].clear();
  facts["stderr"].clear();
  const docker::LogEnd end = co_await client->logs(
      call.container, call.bytes_max, [&facts](Stream stream, std::string_view bytes) {
        facts[stream == Stream::out ? "stdout" : "stderr"].append(bytes);
      });
  add_error(facts, end.error);
  facts["complete"] = flag_text(end.complete);
  facts["stopped"] = flag_text(end.stopped);
  co_return facts;
}

asio::awaitable<Facts> call_inspect(docker::Client* client, CallStep call) {
  Facts facts;
  const auto state = co_await client->inspect(call.container);
  add_error(facts, error_of(state));
  if (!state) co_return facts;
  facts["status"] = state->status;
  facts["running"] = flag_text(state->running);
  facts["exit_code"] = std::to_string(state->exit_code);
  facts["oom_killed"] = flag_text(state->oom_killed);
  co_return facts;
}

asio::awaitable<Facts> call_list(docker::Client* client, CallStep call) {
  Facts facts;
  std::vector<std::string> labels;
  if (!call.labels.empty()) labels.push_back(call.labels);
  const auto listed = co_await client->list(labels);
  add_error(facts, error_of(listed));
  if (!listed) co_return facts;
  facts["count"] = std::to_string(listed->size());
  std::string& ids = facts["ids"];
  for (const docker::ContainerSummary& one : *listed) ids += (ids.empty() ? "" : " ") + one.id;
  co_return facts;
}

asio::awaitable<Facts> call_image(docker::Client* client, bool all) {
  Facts facts;
  if (all) {
    const auto listed = co_await client->image_list({});
    add_error(facts, error_of(listed));
    if (listed) facts["count"] = std::to_string(listed->size());
    co_return facts;
  }
  const auto image = co_await client->image_inspect(kImage);
  add_error(facts, error_of(image));
  if (image) facts["id"] = image->id;
  co_return facts;
}

/// Calls whose answer is no more than that they worked.
asio::awaitable<Result<void>> plain_call(docker::Client* client, CallStep call) {
  if (call.name == "ping") co_return co_await client->ping();
  if (call.name == "start") co_return co_await client->start(call.container);
  if (call.name == "kill") co_return co_await client->kill(call.container, call.signal);
  co_return co_await client->remove(call.container, call.force);
}

}  // namespace

asio::awaitable<Facts> make_call(docker::Client* client, CallStep call) {
  if (call.name == "version") co_return co_await call_version(client);
  if (call.name == "info") co_return co_await call_info(client);
  if (call.name == "create") co_return co_await call_create(client, std::move(call));
  if (call.name == "attach") co_return co_await call_attach(client, std::move(call));
  if (call.name == "logs") co_return co_await call_logs(client, std::move(call));
  if (call.name == "inspect") co_return co_await call_inspect(client, std::move(call));
  if (call.name == "list") co_return co_await call_list(client, std::move(call));
  if (call.name == "image_inspect" || call.name == "image_list") {
    co_return co_await call_image(client, call.name == "image_list");
  }
  Facts facts;
  if (call.name == "wait") {
    const auto answer = co_await client->wait(call.container, call.limit);
    add_error(facts, error_of(answer));
    if (answer) facts["exit_code"] = std::to_string(answer->exit_code);
  } else if (call.name == "has_path") {
    const auto present = co_await client->has_path(call.container, call.path);
    add_error(facts, error_of(present));
    if (present) facts["present"] = flag_text(*present);
  } else {
    add_error(facts, error_of(co_await plain_call(client, std::move(call))));
  }
  co_return facts;
}

}  // namespace cupel::scenarios
