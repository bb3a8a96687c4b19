// From a campaign file to a campaign: checked, stored as a plan, or submitted.
#include "common/campaign/parse.hpp"
#include "common/core/limits.hpp"
#include "coordinator/http/api.hpp"
#include "coordinator/http/views.hpp"

#include <utility>

namespace cupel::coordinator::http {
namespace {

namespace asio = boost::asio;
using cupel::http::problem;
using cupel::http::problem_with_status;
using cupel::http::ProblemItem;
using cupel::http::Request;
using cupel::http::Response;
using cupel::http::RouteOptions;
using nlohmann::json;

constexpr std::size_t kIdempotencyKeyBytesMax = 200;

struct Parsed {
  campaign::ParsedCampaign result;
  std::string document;
};

bool looks_like_json(std::string_view body) {
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && body[first] == '{';
}

Response diagnostics_problem(const std::vector<campaign::Diagnostic>& diagnostics) {
  std::vector<ProblemItem> items;
  for (const auto& diagnostic : diagnostics) {
    std::string message = diagnostic.message;
    if (!diagnostic.hint.empty()) message += " (" + diagnostic.hint + ")";
    items.push_back({diagnostic.line, diagnostic.column, std::move(message), diagnostic.code});
  }
  const Errc code = diagnostics.empty() ? Errc::bad_value : diagnostics.front().code;
  const std::string count =
      diagnostics.size() == 1 ? "1 error" : std::to_string(diagnostics.size()) + " errors";
  return problem_with_status(
      400, {.code = code, .what = "the campaign file has " + count, .detail = {}, .hint = {}},
      items);
}

/// What only the client can resolve, and what must have been uploaded before.
std::vector<ProblemItem> unusable_sources(const campaign::Campaign& campaign,
                                          const fs::ArtifactStore& artifacts) {
  std::vector<ProblemItem> items;
  for (const campaign::RepositoryEntry& entry : campaign.repositories) {
    if (const auto* path = std::get_if<campaign::LocalPath>(&entry.source)) {
      items.push_back(
          {entry.place.line, entry.place.column,
           "'" + path->path + "' is a folder of the client's machine: submit it with 'cupel run'",
           Errc::bad_value});
    }
    if (const auto* bundle = std::get_if<BundleSource>(&entry.source);
        bundle && !artifacts.touch(bundle->artifact)) {
      items.push_back({entry.place.line, entry.place.column,
                       "the bundle of '" + bundle->name + "' (sha256:" + bundle->artifact.hex() +
                           ") has not been uploaded",
                       Errc::not_found});
    }
  }
  for (const campaign::LocalReplacement& one : campaign.local_replacements) {
    items.push_back(
        {one.place.line, one.place.column,
         "'" + one.with.path + "' is a folder of the client's machine: submit it with 'cupel run'",
         Errc::bad_value});
  }
  const campaign::ScanPlan& scan = campaign.scan;
  if (scan.enabled && !scan.settled() && !scan.database.empty()) {
    items.push_back({scan.place.line, scan.place.column,
                     "the vulnerability database '" + scan.database +
                         "' is for the client to take: submit the campaign with 'cupel run'",
                     Errc::bad_value});
  }
  if (!scan.settled() && scan.database.empty()) {
    items.push_back({scan.place.line, scan.place.column,
                     "the campaign scans, and neither it nor this coordinator names a "
                     "vulnerability database (validate.scan.database, or the setting vulndb)",
                     Errc::bad_value});
  }
  if (scan.snapshot && !artifacts.size(scan.snapshot->artifact)) {
    items.push_back({scan.place.line, scan.place.column,
                     "the vulnerability database (sha256:" + scan.snapshot->artifact.hex() +
                         ") has not been uploaded",
                     Errc::not_found});
  }
  if (const auto* replace = std::get_if<Replace>(&campaign.change)) {
    for (const Replacement& one : replace->modules) {
      const auto* bundle = std::get_if<BundleSource>(&one.with);
      if (bundle == nullptr || artifacts.size(bundle->artifact)) continue;
      items.push_back({0, 0,
                       "the candidate of " + one.module + " (sha256:" + bundle->artifact.hex() +
                           ") has not been uploaded",
                       Errc::not_found});
    }
  }
  return items;
}

json repositories_view(const campaign::Campaign& campaign) {
  json list = json::array();
  for (const campaign::RepositoryEntry& entry : campaign.repositories) {
    const char* kind = "git";
    if (std::holds_alternative<BundleSource>(entry.source)) kind = "bundle";
    if (std::holds_alternative<ModuleSource>(entry.source)) kind = "module";
    if (std::holds_alternative<campaign::RefusedSource>(entry.source)) kind = "refused";
    list.push_back({{"name", campaign::entry_name(entry)}, {"source", kind}});
  }
  return list;
}

std::string owner_of(const campaign::Campaign& campaign, const Request& request) {
  return campaign.owner.empty() ? request.principal.name : campaign.owner;
}

json submitted(CampaignId id, const std::string& name, const std::string& digest) {
  return {{"id", id.text()}, {"name", name}, {"digest", digest}};
}

Response key_reused() {
  return problem_with_status(422, {.code = Errc::conflict,
                                   .what = "this idempotency key was used for another campaign",
                                   .detail = {},
                                   .hint = "use a new key for another content"});
}

}  // namespace

void Api::install_submissions(cupel::http::Server& server) {
  const RouteOptions read{.scope = "read"};
  const RouteOptions check_file{.scope = "read", .body_bytes_max = kCampaignFileBytesMax};
  const RouteOptions submit_file{.scope = "submit", .body_bytes_max = kCampaignFileBytesMax};
  server.route(
      "POST", "/api/v1/campaigns:check", [this](Request r) { return check(std::move(r)); },
      check_file);
  server.route(
      "POST", "/api/v1/plans", [this](Request r) { return make_plan(std::move(r)); }, submit_file);
  server.route(
      "GET", "/api/v1/plans/{p}", [this](Request r) { return show_plan(std::move(r)); }, read);
  server.route(
      "POST", "/api/v1/campaigns", [this](Request r) { return submit(std::move(r)); }, submit_file);
}

asio::awaitable<Api::Given> Api::read_campaign(std::string body) {
  // Megabytes of YAML take a while: not on the loop that answers health checks.
  std::function<Result<Parsed>(StoreReader&)> parse =
      [body = std::move(body), database = parts_.database](StoreReader&) -> Result<Parsed> {
    Parsed parsed;
    parsed.result = looks_like_json(body) ? campaign::parse_json(body)
                                          : campaign::parse_yaml(body, "campaign.yaml");
    if (parsed.result && database != nullptr && database->configured()) {
      campaign::ScanPlan& scan = parsed.result.campaign->scan;
      if (!scan.settled() && scan.database.empty()) {
        if (auto filled = database->fill(scan); !filled) return filled.error();
      }
    }
    if (parsed.result) parsed.document = campaign::to_canonical_json(*parsed.result.campaign);
    return parsed;
  };
  auto parsed = co_await parts_.readers.run(std::move(parse));
  Given given;
  if (!parsed) {
    given.refused = problem(parsed.error());
  } else if (!parsed->result) {
    given.refused = diagnostics_problem(parsed->result.diagnostics);
  } else if (const auto items = unusable_sources(*parsed->result.campaign, parts_.artifacts);
             !items.empty()) {
    given.refused =
        problem_with_status(400,
                            {.code = items.front().code,
                             .what = "the campaign names sources that can't be used here",
                             .detail = {},
                             .hint = {}},
                            items);
  } else {
    given.campaign = std::move(parsed->result.campaign);
    given.document = std::move(parsed->document);
  }
  co_return given;
}

Api::Answer Api::check(Request request) {
  Given given = co_await read_campaign(std::move(request.body));
  if (given.refused) co_return std::move(*given.refused);
  co_return json_response(200, {{"ok", true},
                                {"name", given.campaign->name},
                                {"repositories", given.campaign->repositories.size()},
                                {"digest", sha256(given.document).hex()}});
}

Api::Answer Api::make_plan(Request request) {
  Given given = co_await read_campaign(std::move(request.body));
  if (given.refused) co_return std::move(*given.refused);
  json plan = {{"digest", sha256(given.document).hex()},
               {"campaign", kept_json(given.document)},
               {"repositories", repositories_view(*given.campaign)},
               // Units are known after the acquire tasks only: at least one execute each.
               {"tasks",
                {{"acquire", given.campaign->repositories.size()},
                 {"execute", given.campaign->repositories.size()}}}};
  const std::string text = plan.dump(-1, ' ', false, json::error_handler_t::replace);
  const auto id = parts_.plans.put(text);
  if (!id) co_return problem(id.error());
  plan["id"] = *id;
  co_return json_response(201, plan);
}

Api::Answer Api::show_plan(Request request) {
  const auto text = parts_.plans.get(request.param("p"));
  if (!text) co_return problem(text.error());
  json plan = kept_json(*text);
  plan["id"] = request.param("p");
  co_return json_response(200, plan);
}

Api::Answer Api::submit(Request request) {
  const std::string key(request.header("idempotency-key"));
  if (key.size() > kIdempotencyKeyBytesMax) {
    co_return problem({.code = Errc::bad_value,
                       .what = "the idempotency key is too long",
                       .detail = {},
                       .hint = {}});
  }
  std::string body = std::move(request.body);
  if (looks_like_json(body) && body.size() < 256) {
    const json reference = kept_json(body);
    if (reference.is_object() && reference.size() == 1 && reference.contains("plan") &&
        reference["plan"].is_string()) {
      const auto text = parts_.plans.get(reference["plan"].get<std::string>());
      if (!text) co_return problem(text.error());
      body = kept_json(*text)["campaign"].dump();
    }
  }
  Given given = co_await read_campaign(std::move(body));
  if (given.refused) co_return std::move(*given.refused);
  const std::string name = given.campaign->name;
  const std::string digest = sha256(given.document).hex();

  if (!key.empty()) {
    std::function<Result<std::optional<CampaignSummary>>(StoreReader&)> look =
        [owner = owner_of(*given.campaign, request),
         key](StoreReader& reader) -> Result<std::optional<CampaignSummary>> {
      const auto known = reader.find_idempotent(owner, key);
      if (!known) return known.error();
      if (!*known) return std::optional<CampaignSummary>();
      auto summary = reader.campaign(**known);
      if (!summary) return summary.error();
      return std::optional<CampaignSummary>(std::move(*summary));
    };
    const auto known = co_await parts_.readers.run(std::move(look));
    if (!known) co_return problem(known.error());
    if (*known) {
      const CampaignRow& row = (*known)->campaign;
      co_return row.digest == digest ? json_response(200, submitted(row.id, row.name, row.digest))
                                     : key_reused();
    }
  }
  SubmitCampaign event;
  event.campaign = std::move(*given.campaign);
  event.document = std::move(given.document);
  event.owner = request.principal.name;
  event.idempotency_key = key;
  const auto done = co_await parts_.control.submit(std::move(event));
  if (!done) co_return problem(done.error());
  if (!done->repeated) co_return json_response(201, submitted(done->campaign, name, digest));
  // Two requests with one key at the same time: the machine took the first.
  const auto first = co_await find(done->campaign);
  if (!first) co_return problem(first.error());
  if (first->campaign.digest != digest) co_return key_reused();
  co_return json_response(200, submitted(done->campaign, name, digest));
}

}  // namespace cupel::coordinator::http
