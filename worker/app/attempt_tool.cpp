// A tool, built from its pin and uploaded.
#include "common/fs/files.hpp"
#include "common/images/table.hpp"
#include "worker/app/attempt.hpp"
#include "worker/scan/build_tool.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <sys/stat.h>
#include <utility>

namespace cupel::worker {

namespace asio = boost::asio;

namespace {

constexpr mode_t kForContainer = 0777;  // below a parent that only we enter

Result<std::string> new_writable(Workspaces& workspaces, std::string_view what) {
  auto directory = workspaces.new_directory(what);
  if (directory && ::chmod(directory->c_str(), kForContainer) != 0) {
    return Error{.code = Errc::io_error, .what = "chmod " + *directory, .detail = {}, .hint = {}};
  }
  return directory;
}

}  // namespace

asio::awaitable<TaskResult> TaskRunner::build_tool(AttemptPtr attempt, BuildTool work) {
  const TaskSpec& spec = attempt->lease.spec;
  TaskResult result = answer(*attempt, Outcome::passing, Reason::none, {});
  const auto selected =
      images::select(images::builtin_table(), parts_.images(), {}, work.image, false);
  if (!selected || !selected->found()) {
    result.ending = Ending::interrupted;
    result.reason = Reason::image_missing;
    result.message = selected ? selected->message : selected.error().text();
    co_return result;
  }
  const images::Available image = selected->image;
  result.evidence.image = image.identity;
  result.evidence.go_version = image.go_version;

  std::array<std::string, 3> directories;
  const std::array<std::string_view, 3> names = {"modcache", "gocache", "tools"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto made = new_writable(parts_.workspaces, names.at(i));
    if (!made) {
      result.ending = Ending::interrupted;
      result.reason = Reason::engine;
      result.message = made.error().text();
      break;
    }
    directories.at(i) = *std::move(made);
  }
  if (result.ending == Ending::completed) {
    ToolBuild build{.campaign = spec.campaign,
                    .task = spec.id,
                    .token = attempt->lease.token,
                    .task_deadline = attempt->deadline,
                    .pin = work.tool,
                    .image = image.engine_id,
                    .go_version = image.go_version,
                    .limits = spec.settings.limits,
                    .modcache = directories[0],
                    .gocache = directories[1],
                    .tools = directories[2]};
    auto ended =
        co_await worker::build_tool(attempt->runs, parts_.files, std::move(build), attempt->cancel);
    if (auto* stopped = std::get_if<AcquireStopped>(&ended)) {
      stop_with(result, std::move(*stopped));
    } else {
      co_await keep_tool(attempt, std::move(work), std::move(std::get<BuiltTool>(ended)), &result);
    }
  }
  for (const std::string& directory : directories) {
    if (!directory.empty()) co_await discard(image.engine_id, directory);
  }
  co_return result;
}

asio::awaitable<void> TaskRunner::keep_tool(AttemptPtr attempt, BuildTool work, BuiltTool built,
                                            TaskResult* result) {
  ToolFacts facts;
  facts.tool = std::move(work.tool);
  facts.image = result->evidence.image;
  facts.go_version = built.go_version;
  facts.binary = sha256(built.bytes);
  facts.bytes = built.bytes.size();
  auto uploaded = co_await asio::co_spawn(
      parts_.bulk.executor(),
      parts_.bulk.upload(attempt->key(), facts.binary, std::move(built.bytes), kUploadLimit),
      asio::use_awaitable);
  if (!uploaded) {
    result->ending = Ending::interrupted;
    result->reason = Reason::engine;
    result->message = "the tool was built but not taken: " + uploaded.error().what;
    co_return;
  }
  result->tool = std::move(facts);
  std::vector<CheckLog> logs;
  logs.push_back(as_check_log(std::move(built.log), "tool"));
  co_await upload_logs(attempt, std::move(logs), result);
}

}  // namespace cupel::worker
