#include "coordinator/http/api.hpp"
#include "coordinator/http/views.hpp"

#include <algorithm>
#include <utility>

namespace cupel::coordinator::http {
namespace {

using cupel::http::problem;
using cupel::http::Request;
using cupel::http::RouteOptions;
using nlohmann::json;

}  // namespace

void Api::install_fleet(cupel::http::Server& server) {
  const RouteOptions operate{.scope = "operate"};
  server.route(
      "GET", "/api/v1/workers", [this](Request r) { return list_workers(std::move(r)); },
      RouteOptions{.scope = "read"});
  server.route(
      "POST", "/api/v1/workers/{w}/drain", [this](Request r) { return drain(std::move(r), true); },
      operate);
  server.route(
      "POST", "/api/v1/workers/{w}/undrain",
      [this](Request r) { return drain(std::move(r), false); }, operate);
}

Api::Answer Api::list_workers(Request) {
  const auto workers = co_await parts_.control.workers();
  json body = {{"workers", json::array()}};
  for (const WorkerView& worker : workers) body["workers"].push_back(worker_view(worker));
  co_return json_response(200, body);
}

Api::Answer Api::drain(Request request, bool on) {
  // People may name a worker by its name as well.
  const std::string text(request.param("w"));
  const auto workers = co_await parts_.control.workers();
  const auto named = std::ranges::find_if(workers, [&](const WorkerView& worker) {
    return worker.id.text() == text || worker.name == text;
  });
  if (named == workers.end()) {
    co_return problem({.code = Errc::not_found,
                       .what = "worker '" + text + "' is not known here",
                       .detail = {},
                       .hint = {}});
  }
  const WorkerId id = named->id;
  const auto done = co_await parts_.control.drain(id, on);
  if (!done) co_return problem(done.error());
  const auto after = co_await parts_.control.workers();
  const auto worker = std::ranges::find(after, id, &WorkerView::id);
  if (worker == after.end()) co_return json_response(200, json::object());
  co_return json_response(200, worker_view(*worker));
}

}  // namespace cupel::coordinator::http
