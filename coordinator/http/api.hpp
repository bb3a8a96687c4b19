/// The coordinator's HTTP API (docs/api.md) on a common/http server.
#pragma once

#include "common/campaign/campaign.hpp"
#include "common/http/server.hpp"
#include "coordinator/fs/artifact_store.hpp"
#include "coordinator/fs/live_logs.hpp"
#include "coordinator/fs/plan_store.hpp"
#include "coordinator/fs/scan_database.hpp"
#include "coordinator/http/control_port.hpp"
#include "coordinator/http/event_hub.hpp"
#include "coordinator/http/log_watch.hpp"
#include "coordinator/http/read_pool.hpp"

#include <functional>
#include <string>

namespace cupel::coordinator::http {

/// Everything the API rests on; all of it outlives the server.
struct ApiParts {
  boost::asio::io_context& loop;  ///< The HTTP loop.
  ControlPort& control;
  ReadPool& readers;
  EventHub& events;
  fs::ArtifactStore& artifacts;
  fs::LiveLogs& live_logs;
  fs::PlanStore& plans;
  fs::ScanDatabase* database = nullptr;  ///< Null: none, as if not configured.
  std::function<boost::asio::awaitable<std::string>()> metrics;  ///< Text of /metrics.
  std::function<std::string()> not_ready_why;                    ///< Empty = ready.
};

/// One object for the server's life. Its handlers run on the HTTP loop.
class Api {
 public:
  explicit Api(ApiParts parts) : parts_(std::move(parts)), log_watch_(parts_.loop) {}
  void install(cupel::http::Server& server);
  /// Some live log has grown, or a task with one has ended. Thread-safe.
  void logs_changed() { log_watch_.notify(); }

 private:
  using Answer = boost::asio::awaitable<cupel::http::Response>;
  using Request = cupel::http::Request;

  Answer metrics(Request request);
  void install_submissions(cupel::http::Server& server);
  void install_campaigns(cupel::http::Server& server);
  void install_tasks(cupel::http::Server& server);
  void install_fleet(cupel::http::Server& server);
  void install_letters(cupel::http::Server& server);
  void install_changes(cupel::http::Server& server);

  Answer check(Request request);
  Answer make_plan(Request request);
  Answer show_plan(Request request);
  Answer submit(Request request);
  Answer list_campaigns(Request request);
  Answer show_campaign(Request request);
  Answer show_document(Request request);
  Answer results(Request request);
  Answer cancel(Request request);
  Answer pause(Request request, bool paused);
  cupel::http::Response events(const Request& request);

  Answer show_task(Request request);
  Answer why_task(Request request);
  Answer why_unit(Request request);
  Answer why_campaign(Request request);
  Answer log(Request request);
  Answer follow_log(TaskId task, CheckKind check, Stream stream, std::uint64_t from);
  Result<std::unique_ptr<cupel::http::UploadSink>> upload(const Request& request);

  Answer patches(Request request);
  Answer patch(Request request);
  Answer flakes(Request request);

  Answer list_letters(Request request);
  Answer show_letter(Request request);
  Answer replay_letter(Request request);
  Answer drop_letter(Request request);
  Answer letter(TaskId task);

  Answer list_workers(Request request);
  Answer order_worker(Request request, WorkerOrder what);
  Answer order_workers(Request request, WorkerOrder what);

  /// Either a campaign that may be submitted, or the answer that says why not.
  struct Given {
    std::optional<campaign::Campaign> campaign;
    std::string document;
    std::optional<cupel::http::Response> refused;
  };
  boost::asio::awaitable<Given> read_campaign(std::string body);
  Answer summary(CampaignId id);
  boost::asio::awaitable<Result<CampaignSummary>> find(CampaignId id);

  ApiParts parts_;
  LogWatch log_watch_;
};

/// "c-..." of the request's parameter; not_found when it is none.
template <typename Identifier>
Result<Identifier> id_param(const cupel::http::Request& request, const std::string& name) {
  const std::string_view text = request.param(name);
  const auto id = Identifier::parse(text);
  if (id) return *id;
  return Error{.code = Errc::not_found,
               .what = "'" + std::string(text) + "' is not known here",
               .detail = {},
               .hint = {}};
}

}  // namespace cupel::coordinator::http
