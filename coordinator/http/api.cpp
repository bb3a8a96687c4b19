#include "coordinator/http/api.hpp"

#include "common/campaign/schema.hpp"
#include "common/core/limits.hpp"
#include "common/core/version.hpp"
#include "coordinator/http/views.hpp"

namespace cupel::coordinator::http {
namespace {

using cupel::http::Request;
using cupel::http::Response;
using cupel::http::RouteOptions;
using cupel::http::text_response;

constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

}  // namespace

void Api::install(cupel::http::Server& server) {
  server.route_sync("GET", "/-/healthy", [](const Request&) {
    return text_response(200, std::string(kPlainText), "healthy\n");
  });
  server.route_sync("GET", "/-/ready", [this](const Request&) -> Response {
    const std::string why = parts_.not_ready_why();
    if (why.empty()) return text_response(200, std::string(kPlainText), "ready\n");
    return cupel::http::problem({.code = Errc::not_ready, .what = why, .detail = {}, .hint = {}});
  });
  server.route("GET", "/metrics", [this](Request r) { return metrics(std::move(r)); });
  server.route_sync(
      "GET", "/api/v1/version",
      [](const Request&) {
        return json_response(200, {{"version", kVersion},
                                   {"protocol_min", kProtocolVersionMin},
                                   {"protocol_max", kProtocolVersionMax}});
      },
      RouteOptions{.scope = "read"});
  server.route_sync(
      "GET", "/api/v1/schemas/campaign.json",
      [](const Request&) {
        return text_response(200, "application/schema+json", campaign::json_schema());
      },
      RouteOptions{.scope = "read"});
  install_submissions(server);
  install_campaigns(server);
  install_tasks(server);
  install_fleet(server);
  install_letters(server);
  install_changes(server);
}

Api::Answer Api::metrics(Request) {
  std::string text = co_await parts_.metrics();
  co_return text_response(200, "text/plain; version=0.0.4; charset=utf-8", std::move(text));
}

}  // namespace cupel::coordinator::http
