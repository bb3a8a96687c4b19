// What there is to read of campaigns, and orders for those that run.
#include "coordinator/http/api.hpp"
#include "coordinator/http/views.hpp"
#include "coordinator/http/whole_result.hpp"

#include <charconv>
#include <utility>

namespace cupel::coordinator::http {
namespace {

namespace asio = boost::asio;
using cupel::http::problem;
using cupel::http::Request;
using cupel::http::Response;
using cupel::http::RouteOptions;
using nlohmann::json;

constexpr std::size_t kPageBytesMax = 8UL << 20;

/// Units as one page of JSON. A unit may have thousands of findings, so a page also ends by size;
/// the next one begins behind the last unit of this one.
std::string results_page(const std::vector<UnitResult>& units, std::uint32_t limit,
                         const fs::ArtifactStore& artifacts) {
  std::string page = "{\"results\":[";
  std::size_t count = 0;
  for (const UnitResult& unit : units) {
    if (count > 0 && page.size() >= kPageBytesMax) break;
    const json view = unit_view(unit, whole_result(unit.result, artifacts));
    page += (count++ == 0 ? "" : ",") + view.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  page += "]";
  if (count < units.size() || count == limit)
    page += ",\"next_page_token\":\"" + units[count - 1].unit.id.text() + "\"";
  return page + "}\n";
}

}  // namespace

void Api::install_campaigns(cupel::http::Server& server) {
  const RouteOptions read{.scope = "read"};
  server.route(
      "GET", "/api/v1/campaigns", [this](Request r) { return list_campaigns(std::move(r)); }, read);
  server.route(
      "GET", "/api/v1/campaigns/{c}", [this](Request r) { return show_campaign(std::move(r)); },
      read);
  server.route(
      "GET", "/api/v1/campaigns/{c}/document",
      [this](Request r) { return show_document(std::move(r)); }, read);
  server.route(
      "GET", "/api/v1/campaigns/{c}/results", [this](Request r) { return results(std::move(r)); },
      read);
  server.route_sync(
      "GET", "/api/v1/campaigns/{c}/events", [this](const Request& r) { return events(r); }, read);
  server.route_sync("GET", "/api/v1/events", [this](const Request& r) { return events(r); }, read);
  server.route(
      "POST", "/api/v1/campaigns/{c}/cancel", [this](Request r) { return cancel(std::move(r)); },
      RouteOptions{.scope = "submit"});
  server.route(
      "POST", "/api/v1/campaigns/{c}/pause",
      [this](Request r) { return pause(std::move(r), true); }, RouteOptions{.scope = "submit"});
  server.route(
      "POST", "/api/v1/campaigns/{c}/resume",
      [this](Request r) { return pause(std::move(r), false); }, RouteOptions{.scope = "submit"});
}

Api::Answer Api::list_campaigns(Request request) {
  const auto limit = page_limit(request);
  if (!limit) co_return problem(limit.error());
  std::optional<CampaignState> state;
  if (const std::string_view word = request.argument("state"); !word.empty()) {
    state = parse_campaign_state(word);
    if (!state) {
      co_return problem({.code = Errc::bad_value,
                         .what = "'" + std::string(word) + "' is no state of a campaign",
                         .detail = {},
                         .hint = "running, paused, finished or cancelled"});
    }
  }
  const Page page{*limit, std::string(request.argument("page_token"))};
  std::function<Result<std::vector<CampaignSummary>>(StoreReader&)> read =
      [page, state](StoreReader& reader) { return reader.campaigns(page, state); };
  const auto list = co_await parts_.readers.run(std::move(read));
  if (!list) co_return problem(list.error());
  json body = {{"campaigns", json::array()}};
  for (const CampaignSummary& one : *list) body["campaigns"].push_back(summary_view(one));
  if (list->size() == *limit) body["next_page_token"] = list->back().campaign.id.text();
  co_return json_response(200, body);
}

asio::awaitable<Result<CampaignSummary>> Api::find(CampaignId id) {
  std::function<Result<CampaignSummary>(StoreReader&)> read = [id](StoreReader& reader) {
    return reader.campaign(id);
  };
  co_return co_await parts_.readers.run(std::move(read));
}

Api::Answer Api::summary(CampaignId id) {
  const auto found = co_await find(id);
  if (!found) co_return problem(found.error());
  co_return json_response(200, summary_view(*found));
}

Api::Answer Api::show_campaign(Request request) {
  const auto id = id_param<CampaignId>(request, "c");
  if (!id) co_return problem(id.error());
  co_return co_await summary(*id);
}

Api::Answer Api::show_document(Request request) {
  const auto id = id_param<CampaignId>(request, "c");
  if (!id) co_return problem(id.error());
  const auto found = co_await find(*id);
  if (!found) co_return problem(found.error());
  co_return cupel::http::text_response(200, "application/json", found->campaign.document);
}

Api::Answer Api::results(Request request) {
  const auto id = id_param<CampaignId>(request, "c");
  if (!id) co_return problem(id.error());
  const auto limit = page_limit(request);
  if (!limit) co_return problem(limit.error());
  std::optional<Verdict> verdict;
  if (const std::string_view word = request.argument("verdict"); !word.empty()) {
    verdict = parse_name<Verdict>(word);
    if (!verdict) {
      co_return problem({.code = Errc::bad_value,
                         .what = "'" + std::string(word) + "' is no verdict",
                         .detail = {},
                         .hint = {}});
    }
  }
  UnitId after;
  if (const std::string_view token = request.argument("page_token"); !token.empty()) {
    const auto parsed = UnitId::parse(token);
    if (!parsed) {
      co_return problem({.code = Errc::bad_value,
                         .what = "the page token is not one of ours",
                         .detail = {},
                         .hint = {}});
    }
    after = *parsed;
  }
  // The bodies are large and parsed on the way: on a reader thread as well.
  std::function<Result<std::string>(StoreReader&)> read =
      [id = *id, after, limit = *limit, verdict,
       &artifacts = parts_.artifacts](StoreReader& reader) -> Result<std::string> {
    if (const auto known = reader.campaign(id); !known) return known.error();
    const auto list = reader.results(id, after, limit, verdict);
    if (!list) return list.error();
    return results_page(*list, limit, artifacts);
  };
  const auto body = co_await parts_.readers.run(std::move(read));
  if (!body) co_return problem(body.error());
  co_return cupel::http::text_response(200, "application/json", *body);
}

Response Api::events(const Request& request) {
  std::optional<CampaignId> campaign;
  if (!request.param("c").empty()) {
    const auto id = id_param<CampaignId>(request, "c");
    if (!id) return problem(id.error());
    campaign = *id;
  }
  // Without a number: a campaign's stream tells its whole story, the fleet's starts now.
  std::uint64_t after = campaign ? 0 : parts_.events.last_event();
  const std::string_view given = request.header("last-event-id").empty()
                                     ? request.argument("after")
                                     : request.header("last-event-id");
  if (!given.empty()) {
    const auto [end, ec] = std::from_chars(given.data(), given.data() + given.size(), after);
    if (ec != std::errc() || end != given.data() + given.size()) {
      return problem({.code = Errc::bad_value,
                      .what = "Last-Event-ID is no event number",
                      .detail = {},
                      .hint = {}});
    }
  }
  Response response;
  response.body = parts_.events.subscribe(after, campaign);
  return response;
}

Api::Answer Api::cancel(Request request) {
  const auto id = id_param<CampaignId>(request, "c");
  if (!id) co_return problem(id.error());
  const auto known = co_await find(*id);
  if (!known) co_return problem(known.error());
  const auto done = co_await parts_.control.cancel(*id);
  if (!done && known->campaign.finished.us == 0) co_return problem(done.error());
  co_return co_await summary(*id);
}

Api::Answer Api::pause(Request request, bool paused) {
  const auto id = id_param<CampaignId>(request, "c");
  if (!id) co_return problem(id.error());
  const auto known = co_await find(*id);
  if (!known) co_return problem(known.error());
  const auto done = co_await parts_.control.pause(*id, paused);
  if (!done && known->campaign.finished.us != 0) {
    co_return problem({.code = Errc::conflict,
                       .what = "campaign " + id->text() + " is " +
                               std::string(name(known->campaign.state)) + " already",
                       .detail = {},
                       .hint = {}});
  }
  if (!done) co_return problem(done.error());
  co_return co_await summary(*id);
}

}  // namespace cupel::coordinator::http
