#include "common/async/clock.hpp"
#include "common/core/json.hpp"
#include "coordinator/http/api.hpp"
#include "coordinator/http/views.hpp"
#include "coordinator/http/whole_result.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

namespace cupel::coordinator::http {
namespace {

namespace asio = boost::asio;
using cupel::http::problem;
using cupel::http::Request;
using cupel::http::Response;
using cupel::http::RouteOptions;

std::optional<Stream> parse_stream(std::string_view text) {
  if (text.empty() || text == "stdout") return Stream::out;
  if (text == "stderr") return Stream::err;
  return parse_name<Stream>(text);
}

/// How long a request waits for more of a log.
constexpr Duration kFollowWait = std::chrono::seconds(25);

std::optional<std::uint64_t> byte_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

class ArtifactSink final : public cupel::http::UploadSink {
 public:
  ArtifactSink(std::unique_ptr<fs::ArtifactStore::Upload> upload, Digest digest, ReadPool& pool)
      : upload_(std::move(upload)), digest_(digest), pool_(pool) {}

  asio::awaitable<Result<void>> write(std::string piece) override {
    co_return upload_->write(piece);
  }

  asio::awaitable<Response> finish() override {
    // Syncing half a gigabyte takes seconds: not on the loop.
    std::function<Result<std::uint64_t>(StoreReader&)> end = [upload = upload_](StoreReader&) {
      return upload->finish();
    };
    const auto bytes = co_await pool_.run(std::move(end));
    if (!bytes) co_return problem(bytes.error());
    co_return json_response(201, {{"digest", "sha256:" + digest_.hex()}, {"bytes", *bytes}});
  }

 private:
  std::shared_ptr<fs::ArtifactStore::Upload> upload_;
  Digest digest_;
  ReadPool& pool_;
};

Response log_bytes(std::variant<std::string, cupel::http::RangedBody, cupel::http::FileBody,
                                std::shared_ptr<cupel::http::EventStream>>
                       body) {
  Response response;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(body);
  return response;
}

/// The check may never have run, or have written nothing to this stream.
Error log_missing(const TaskResult& result, CheckKind check, const std::string& name,
                  Stream stream) {
  std::string ran;
  for (const CheckRecord& one : result.checks) {
    const std::string called(one.name.empty() ? cupel::name(one.check) : one.name);
    if (one.check == check && one.name == name) {
      return {.code = Errc::not_found,
              .what = "check " + called + " wrote nothing to " +
                      (stream == Stream::out ? "stdout" : "stderr") + ", or it was not kept",
              .detail = {},
              .hint = "output.keep_logs of the campaign says which output is kept"};
    }
    ran += (ran.empty() ? "" : ", ") + called;
  }
  return {.code = Errc::not_found,
          .what = "there was no check " + (name.empty() ? std::string(cupel::name(check)) : name),
          .detail = ran.empty() ? "the task ran none" : "the task ran " + ran,
          .hint = {}};
}

}  // namespace

void Api::install_tasks(cupel::http::Server& server) {
  const RouteOptions read{.scope = "read"};
  server.route(
      "GET", "/api/v1/tasks/{t}", [this](Request r) { return show_task(std::move(r)); }, read);
  server.route(
      "GET", "/api/v1/tasks/{t}/why", [this](Request r) { return why_task(std::move(r)); }, read);
  server.route(
      "GET", "/api/v1/units/{u}/why", [this](Request r) { return why_unit(std::move(r)); }, read);
  server.route(
      "GET", "/api/v1/campaigns/{c}/why", [this](Request r) { return why_campaign(std::move(r)); },
      read);
  server.route(
      "GET", "/api/v1/tasks/{t}/log", [this](Request r) { return log(std::move(r)); }, read);
  server.route_upload(
      "POST", "/api/v1/artifacts", [this](const Request& r) { return upload(r); },
      kArtifactBytesMax, RouteOptions{.scope = "submit"});
}

Api::Answer Api::show_task(Request request) {
  const auto id = id_param<TaskId>(request, "t");
  if (!id) co_return problem(id.error());
  using Shown = std::pair<TaskView, nlohmann::json>;
  std::function<Result<Shown>(StoreReader&)> read =
      [id = *id, &artifacts = parts_.artifacts](StoreReader& reader) -> Result<Shown> {
    auto view = reader.task(id);
    if (!view) return view.error();
    nlohmann::json record = whole_result(view->result, artifacts);
    return Shown(std::move(*view), std::move(record));
  };
  auto shown = co_await parts_.readers.run(std::move(read));
  if (!shown) co_return problem(shown.error());
  const auto explanation = co_await parts_.control.explain(*id);
  std::optional<std::string> why;
  if (explanation) why = sentence(*explanation);
  co_return json_response(200, task_view(shown->first, why, std::move(shown->second)));
}

Api::Answer Api::why_task(Request request) {
  const auto id = id_param<TaskId>(request, "t");
  if (!id) co_return problem(id.error());
  if (const auto open = co_await parts_.control.explain(*id))
    co_return json_response(200, explanation_view(*open));
  std::function<Result<TaskView>(StoreReader&)> read = [id = *id](StoreReader& reader) {
    return reader.task(id);
  };
  const auto view = co_await parts_.readers.run(std::move(read));
  if (!view) co_return problem(view.error());
  const TaskRow& task = view->task;
  co_return json_response(
      200, over_view(task.id.text(), task.unit, task.campaign, std::string(name(task.state))));
}

Api::Answer Api::why_unit(Request request) {
  const auto id = id_param<UnitId>(request, "u");
  if (!id) co_return problem(id.error());
  if (const auto open = co_await parts_.control.explain(*id))
    co_return json_response(200, explanation_view(*open));
  std::function<Result<UnitRow>(StoreReader&)> read = [id = *id](StoreReader& reader) {
    return reader.unit(id);
  };
  const auto unit = co_await parts_.readers.run(std::move(read));
  if (!unit) co_return problem(unit.error());
  co_return json_response(200,
                          over_view({}, unit->id, unit->campaign,
                                    unit->verdict ? std::string(name(*unit->verdict)) : "open"));
}

Api::Answer Api::why_campaign(Request request) {
  const auto id = id_param<CampaignId>(request, "c");
  if (!id) co_return problem(id.error());
  std::function<Result<CampaignSummary>(StoreReader&)> read = [id = *id](StoreReader& reader) {
    return reader.campaign(id);
  };
  const auto summary = co_await parts_.readers.run(std::move(read));
  if (!summary) co_return problem(summary.error());
  auto open = co_await parts_.control.explain(*id);
  if (!open) {
    open.emplace();
    open->campaign = *id;
  }
  co_return json_response(200, campaign_explanation_view(*open, name(summary->campaign.state)));
}

Api::Answer Api::log(Request request) {
  const auto id = id_param<TaskId>(request, "t");
  if (!id) co_return problem(id.error());
  const std::string check_text(request.argument("check"));
  const auto check = check_text.empty() ? CheckKind::test : parse_name<CheckKind>(check_text);
  const auto stream = parse_stream(request.argument("stream"));
  if (!check || !stream) {
    co_return problem({.code = Errc::bad_value,
                       .what = "there is no such log",
                       .detail = {},
                       .hint = "check=list|build|vet|test|scan|custom and stream=stdout|stderr"});
  }
  if (request.argument("wait") == "1") {
    const auto from = byte_number(request.argument("from"));
    if (!from) {
      co_return problem({.code = Errc::bad_value,
                         .what = "from must be the number of a byte",
                         .detail = {},
                         .hint = {}});
    }
    co_return co_await follow_log(*id, *check, *stream, *from);
  }
  std::function<Result<TaskView>(StoreReader&)> read = [id = *id](StoreReader& reader) {
    return reader.task(id);
  };
  const auto view = co_await parts_.readers.run(std::move(read));
  if (!view) co_return problem(view.error());
  if (const auto result = result_from_json(kept_json(view->result)); result) {
    const std::string name(request.argument("name"));
    for (const LogRef& ref : result->logs) {
      if (ref.check != *check || ref.stream != *stream || (!name.empty() && ref.name != name))
        continue;
      if (!parts_.artifacts.size(ref.artifact)) break;
      Response response = log_bytes(cupel::http::FileBody{parts_.artifacts.path(ref.artifact)});
      response.headers.emplace_back("X-Cupel-Log-State", ref.truncated ? "truncated" : "complete");
      co_return response;
    }
    co_return problem(log_missing(*result, *check, name, *stream));
  }
  auto live = parts_.live_logs.read(*id, *check, *stream);
  Response response =
      log_bytes(cupel::http::RangedBody{live ? std::move(live->bytes) : std::string()});
  response.headers.emplace_back("X-Cupel-Log-State",
                                view->task.state == TaskState::leased ? "running" : "waiting");
  // The oldest bytes of a long log are gone from memory: where the first one here stands.
  response.headers.emplace_back("X-Cupel-Log-Offset", std::to_string(live ? live->offset : 0));
  co_return response;
}

Api::Answer Api::follow_log(TaskId task, CheckKind check, Stream stream, std::uint64_t from) {
  const TimePoint until = async::monotonic_now() + kFollowWait;
  for (;;) {
    const std::uint64_t changes = log_watch_.changes();
    const auto live = parts_.live_logs.read(task, check, stream);
    if (live && live->offset + live->bytes.size() > from) {
      const std::uint64_t first = std::max(from, live->offset);
      Response response = log_bytes(live->bytes.substr(first - live->offset));
      response.headers.emplace_back("X-Cupel-Log-State", "running");
      response.headers.emplace_back("X-Cupel-Log-Offset", std::to_string(first));
      co_return response;
    }
    std::function<Result<TaskView>(StoreReader&)> read = [task](StoreReader& reader) {
      return reader.task(task);
    };
    const auto view = co_await parts_.readers.run(std::move(read));
    if (!view) co_return problem(view.error());
    const TaskState state = view->task.state;
    const bool open =
        state == TaskState::leased || state == TaskState::queued || state == TaskState::blocked;
    if (!open || async::monotonic_now() >= until) {
      Response response = log_bytes(std::string());
      response.headers.emplace_back("X-Cupel-Log-State", !open                        ? "ended"
                                                         : state == TaskState::leased ? "running"
                                                                                      : "waiting");
      response.headers.emplace_back("X-Cupel-Log-Offset", std::to_string(from));
      co_return response;
    }
    co_await log_watch_.changed(changes, until);
  }
}

Result<std::unique_ptr<cupel::http::UploadSink>> Api::upload(const Request& request) {
  const auto digest = Digest::parse(request.header("x-cupel-digest"));
  if (!digest) {
    return Error{.code = Errc::bad_value,
                 .what = "X-Cupel-Digest must be sha256: and 64 hex digits",
                 .detail = {},
                 .hint = {}};
  }
  auto opened = parts_.artifacts.upload(*digest);
  if (!opened) return opened.error();
  return std::unique_ptr<cupel::http::UploadSink>(
      std::make_unique<ArtifactSink>(std::move(*opened), *digest, parts_.readers));
}

}  // namespace cupel::coordinator::http
