#include "common/core/json.hpp"
#include "coordinator/http/api.hpp"
#include "coordinator/http/views.hpp"

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

}  // namespace

void Api::install_tasks(cupel::http::Server& server) {
  const RouteOptions read{.scope = "read"};
  server.route(
      "GET", "/api/v1/tasks/{t}", [this](Request r) { return show_task(std::move(r)); }, read);
  server.route(
      "GET", "/api/v1/tasks/{t}/log", [this](Request r) { return log(std::move(r)); }, read);
  server.route_upload(
      "POST", "/api/v1/artifacts", [this](const Request& r) { return upload(r); },
      kArtifactBytesMax, RouteOptions{.scope = "submit"});
}

Api::Answer Api::show_task(Request request) {
  const auto id = id_param<TaskId>(request, "t");
  if (!id) co_return problem(id.error());
  std::function<Result<TaskView>(StoreReader&)> read = [id = *id](StoreReader& reader) {
    return reader.task(id);
  };
  const auto view = co_await parts_.readers.run(std::move(read));
  if (!view) co_return problem(view.error());
  const auto why = co_await parts_.control.why(*id);
  co_return json_response(200, task_view(*view, why));
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
    co_return problem(
        {.code = Errc::not_found, .what = "this log was not kept", .detail = {}, .hint = {}});
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
