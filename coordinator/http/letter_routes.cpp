#include "common/campaign/parse.hpp"
#include "coordinator/http/api.hpp"
#include "coordinator/http/views.hpp"

#include <utility>

namespace cupel::coordinator::http {
namespace {

using cupel::http::problem;
using cupel::http::Request;
using cupel::http::RouteOptions;
using nlohmann::json;

/// Everything that the machine needs to ask again. Errors: not_found, bad_value, those of the
/// store.
Result<ReplayDeadLetter> replay_of(StoreReader& reader, TaskId task) {
  auto view = reader.dead_letter(task);
  if (!view) return view.error();
  auto summary = reader.campaign(view->letter.campaign);
  if (!summary) return summary.error();
  auto asked = campaign::from_canonical_json(summary->campaign.document);
  if (!asked) return asked.error();
  ReplayDeadLetter event;
  event.letter = std::move(view->letter);
  event.repository = std::move(view->repository);
  event.units = std::move(view->units);
  event.campaign = std::move(summary->campaign);
  event.asked = std::move(*asked);
  event.verdicts = std::move(summary->verdicts);
  return event;
}

}  // namespace

void Api::install_letters(cupel::http::Server& server) {
  const RouteOptions read{.scope = "read"};
  const RouteOptions submit{.scope = "submit"};
  server.route(
      "GET", "/api/v1/deadletters", [this](Request r) { return list_letters(std::move(r)); }, read);
  server.route(
      "GET", "/api/v1/deadletters/{t}", [this](Request r) { return show_letter(std::move(r)); },
      read);
  server.route(
      "POST", "/api/v1/deadletters/{t}/replay",
      [this](Request r) { return replay_letter(std::move(r)); }, submit);
  server.route(
      "POST", "/api/v1/deadletters/{t}/drop",
      [this](Request r) { return drop_letter(std::move(r)); }, submit);
}

Api::Answer Api::list_letters(Request request) {
  const auto limit = page_limit(request);
  if (!limit) co_return problem(limit.error());
  std::optional<DeadLetterState> state = DeadLetterState::open;
  if (const std::string_view word = request.argument("state"); word == "all") {
    state.reset();
  } else if (!word.empty()) {
    state = parse_dead_letter_state(word);
    if (!state) {
      co_return problem({.code = Errc::bad_value,
                         .what = "'" + std::string(word) + "' is no state of a dead letter",
                         .detail = {},
                         .hint = "open, replayed, dropped or all"});
    }
  }
  std::optional<CampaignId> campaign;
  if (const std::string_view text = request.argument("campaign"); !text.empty()) {
    campaign = CampaignId::parse(text);
    if (!campaign) {
      co_return problem({.code = Errc::bad_value,
                         .what = "'" + std::string(text) + "' is no campaign",
                         .detail = {},
                         .hint = {}});
    }
  }
  const Page page{*limit, std::string(request.argument("page_token"))};
  std::function<Result<std::vector<DeadLetterView>>(StoreReader&)> read =
      [campaign, state, page](StoreReader& reader) -> Result<std::vector<DeadLetterView>> {
    if (campaign) {
      if (const auto known = reader.campaign(*campaign); !known) return known.error();
    }
    return reader.dead_letters(campaign, state, page);
  };
  const auto list = co_await parts_.readers.run(std::move(read));
  if (!list) co_return problem(list.error());
  json body = {{"deadletters", json::array()}};
  for (const DeadLetterView& one : *list) body["deadletters"].push_back(dead_letter_view(one));
  if (list->size() == *limit) body["next_page_token"] = list->back().letter.task.text();
  co_return json_response(200, body);
}

Api::Answer Api::letter(TaskId task) {
  std::function<Result<DeadLetterView>(StoreReader&)> read = [task](StoreReader& reader) {
    return reader.dead_letter(task);
  };
  const auto view = co_await parts_.readers.run(std::move(read));
  if (!view) co_return problem(view.error());
  co_return json_response(200, dead_letter_view(*view));
}

Api::Answer Api::show_letter(Request request) {
  const auto id = id_param<TaskId>(request, "t");
  if (!id) co_return problem(id.error());
  co_return co_await letter(*id);
}

Api::Answer Api::replay_letter(Request request) {
  const auto id = id_param<TaskId>(request, "t");
  if (!id) co_return problem(id.error());
  // The campaign's document can be large: parsed on a reader thread.
  std::function<Result<ReplayDeadLetter>(StoreReader&)> read = [id = *id](StoreReader& reader) {
    return replay_of(reader, id);
  };
  auto event = co_await parts_.readers.run(std::move(read));
  if (!event) co_return problem(event.error());
  const auto done = co_await parts_.control.replay(std::move(*event));
  if (!done) co_return problem(done.error());
  co_return co_await letter(*id);
}

Api::Answer Api::drop_letter(Request request) {
  const auto id = id_param<TaskId>(request, "t");
  if (!id) co_return problem(id.error());
  std::function<Result<DeadLetterView>(StoreReader&)> read = [id = *id](StoreReader& reader) {
    return reader.dead_letter(id);
  };
  const auto view = co_await parts_.readers.run(std::move(read));
  if (!view) co_return problem(view.error());
  const auto done = co_await parts_.control.drop(DropDeadLetter{0, view->letter});
  if (!done) co_return problem(done.error());
  co_return co_await letter(*id);
}

}  // namespace cupel::coordinator::http
