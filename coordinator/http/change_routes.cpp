// Patches and flakes: what a campaign with a change leaves behind.
#include "common/core/json.hpp"
#include "common/fs/files.hpp"
#include "coordinator/core/compare/mail.hpp"
#include "coordinator/http/api.hpp"
#include "coordinator/http/views.hpp"

#include <utility>

namespace cupel::coordinator::http {
namespace {

using cupel::http::problem;
using cupel::http::Request;
using cupel::http::RouteOptions;
using nlohmann::json;

constexpr std::uint32_t kPage = 200;
constexpr std::size_t kDiffBytesMax = 64UL * 1024 * 1024;

json member(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? json() : *found;
}

Error nothing(std::string what) {
  return {.code = Errc::not_found, .what = std::move(what), .detail = {}, .hint = {}};
}

/// One entry of the manifest.
json patch_entry(const UnitResult& unit, std::size_t number) {
  const json view = unit_view(unit, kept_json(unit.result));
  const json patch = member(view["comparison"], "patch");
  const json change = member(view["comparison"], "change");
  const std::string state = patch.is_object() ? patch.value("state", "none") : "none";
  json entry = {{"unit", view["id"]},
                {"repository", view["repository"]},
                {"dir", view["dir"]},
                {"module", view["module"]},
                {"commit", view["commit"]},
                {"tree", view["tree"]},
                {"verdict", view["verdict"]},
                {"message", view["message"]},
                {"state", state},
                {"codes", member(patch, "codes")},
                {"gates", member(change, "gates")},
                {"diff", member(change, "patch")}};
  if (state == "ready") {
    entry["file"] = compare::patch_file_name(
        number, unit.repository.name,
        view["dir"].is_string() ? view["dir"].get<std::string>() : std::string());
  }
  return entry;
}

json flake_view(const FlakeRow& flake) {
  return {{"repository", flake.repository},
          {"module", flake.module},
          {"key", flake.key},
          {"signature", flake.signature},
          {"hits", flake.hits},
          {"runs", flake.runs},
          {"times", flake.times},
          {"campaign", flake.campaign.text()},
          {"first", to_rfc3339(flake.first)},
          {"last", to_rfc3339(flake.last)}};
}

/// The unit, if it is this campaign's.
Result<UnitResult> find_unit(StoreReader& reader, CampaignId campaign, UnitId id) {
  if (const auto known = reader.campaign(campaign); !known) return known.error();
  const auto list = reader.results(campaign, UnitId{id.value - 1}, 1, std::nullopt);
  if (!list) return list.error();
  if (list->empty() || list->front().unit.id != id) return nothing("unit " + id.text());
  return list->front();
}

}  // namespace

void Api::install_changes(cupel::http::Server& server) {
  const RouteOptions read{.scope = "read"};
  server.route(
      "GET", "/api/v1/campaigns/{c}/patches", [this](Request r) { return patches(std::move(r)); },
      read);
  server.route(
      "GET", "/api/v1/campaigns/{c}/patches/{u}", [this](Request r) { return patch(std::move(r)); },
      read);
  server.route("GET", "/api/v1/flakes", [this](Request r) { return flakes(std::move(r)); }, read);
}

Api::Answer Api::patches(Request request) {
  const auto id = id_param<CampaignId>(request, "c");
  if (!id) co_return problem(id.error());
  std::function<Result<std::string>(StoreReader&)> read =
      [id = *id](StoreReader& reader) -> Result<std::string> {
    const auto known = reader.campaign(id);
    if (!known) return known.error();
    json body = {{"v", 1},
                 {"campaign", id.text()},
                 {"name", known->campaign.name},
                 {"digest", known->campaign.digest},
                 {"patches", json::array()}};
    json counts = {{"ready", 0}, {"withheld", 0}, {"none", 0}};
    UnitId after;
    for (std::size_t number = 1;;) {
      const auto list = reader.results(id, after, kPage, std::nullopt);
      if (!list) return list.error();
      for (const UnitResult& unit : *list) {
        json entry = patch_entry(unit, number++);
        json& count = counts[entry["state"].get<std::string>()];
        count = count.get<std::uint64_t>() + 1;
        body["patches"].push_back(std::move(entry));
        after = unit.unit.id;
      }
      if (list->size() < kPage) break;
    }
    body["counts"] = std::move(counts);
    return body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  };
  const auto body = co_await parts_.readers.run(std::move(read));
  if (!body) co_return problem(body.error());
  co_return cupel::http::text_response(200, "application/json", *body);
}

Api::Answer Api::patch(Request request) {
  const auto campaign = id_param<CampaignId>(request, "c");
  if (!campaign) co_return problem(campaign.error());
  const auto id = id_param<UnitId>(request, "u");
  if (!id) co_return problem(id.error());
  std::function<Result<std::string>(StoreReader&)> read =
      [this, campaign = *campaign, id = *id](StoreReader& reader) -> Result<std::string> {
    const auto unit = find_unit(reader, campaign, id);
    if (!unit) return unit.error();
    const json view = unit_view(*unit, kept_json(unit->result));
    const json diff = member(member(view["comparison"], "change"), "patch");
    const auto digest =
        diff.is_string() ? Digest::parse(diff.get<std::string>()) : std::optional<Digest>();
    if (!digest || !parts_.artifacts.size(*digest)) {
      return nothing("unit " + id.text() + " has no patch");
    }
    const auto known = reader.campaign(campaign);
    if (!known) return known.error();
    auto text = cupel::fs::read_file(parts_.artifacts.path(*digest), kDiffBytesMax);
    if (!text) return text.error();
    return compare::patch_mail(
        compare::describe_patch(view, kept_json(known->campaign.document), *std::move(text)));
  };
  const auto mail = co_await parts_.readers.run(std::move(read));
  if (!mail) co_return problem(mail.error());
  co_return cupel::http::text_response(200, "application/mbox", *mail);
}

Api::Answer Api::flakes(Request request) {
  const auto limit = page_limit(request);
  if (!limit) co_return problem(limit.error());
  const Page page{*limit, std::string(request.argument("page_token"))};
  std::function<Result<std::vector<FlakeRow>>(StoreReader&)> read =
      [page, repository = std::string(request.argument("repository"))](StoreReader& reader) {
        return reader.flakes(repository, page);
      };
  const auto list = co_await parts_.readers.run(std::move(read));
  if (!list) co_return problem(list.error());
  json body = {{"flakes", json::array()}};
  for (const FlakeRow& flake : *list) body["flakes"].push_back(flake_view(flake));
  if (list->size() == *limit) {
    body["next_page_token"] = std::to_string(list->back().last.us) + "-" + list->back().name;
  }
  co_return json_response(200, body);
}

}  // namespace cupel::coordinator::http
