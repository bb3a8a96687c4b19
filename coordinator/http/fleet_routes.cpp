#include "coordinator/http/api.hpp"
#include "coordinator/http/views.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace cupel::coordinator::http {
namespace {

using cupel::http::problem;
using cupel::http::Request;
using cupel::http::RouteOptions;
using nlohmann::json;

constexpr std::int64_t kDeadlineMaxS = 30LL * 24 * 3600;
constexpr std::size_t kWhyBytesMax = 1000;
constexpr std::size_t kLabelsMax = 16;

struct Verb {
  const char* name;
  WorkerOrder order;
};
constexpr std::array kVerbs = {
    Verb{"drain", WorkerOrder::drain}, Verb{"undrain", WorkerOrder::undrain},
    Verb{"quarantine", WorkerOrder::quarantine}, Verb{"release", WorkerOrder::release}};

Error bad(std::string what) {
  return {.code = Errc::bad_value, .what = std::move(what), .detail = {}, .hint = {}};
}

Result<void> read_labels(const json& given, OrderWorkers& order) {
  if (!given.is_object() || given.empty() || given.size() > kLabelsMax)
    return bad("labels must be an object with 1 to " + std::to_string(kLabelsMax) + " texts");
  for (const auto& [key, value] : given.items()) {
    if (!value.is_string()) return bad("the label '" + key + "' must be a text");
    order.labels[key] = value.get<std::string>();
  }
  return {};
}

Result<void> read_member(const std::string& key, const json& value, OrderWorkers& order) {
  if (key == "labels" && !order.worker) return read_labels(value, order);
  if (key == "deadline_s" && order.order == WorkerOrder::drain) {
    const bool fits = value.is_number_integer() && value.get<std::int64_t>() >= 1 &&
                      value.get<std::int64_t>() <= kDeadlineMaxS;
    if (!fits) return bad("deadline_s must be seconds, from 1 to " + std::to_string(kDeadlineMaxS));
    order.deadline_ms = static_cast<std::uint32_t>(value.get<std::int64_t>() * 1000);
    return {};
  }
  if (key == "why" && order.order == WorkerOrder::quarantine) {
    if (!value.is_string() || value.get<std::string>().size() > kWhyBytesMax)
      return bad("why must be a text of at most " + std::to_string(kWhyBytesMax) + " bytes");
    order.why = value.get<std::string>();
    return {};
  }
  if (key == "probe" && order.order == WorkerOrder::release) {
    if (!value.is_boolean()) return bad("probe must be true or false");
    order.probe = value.get<bool>();
    return {};
  }
  return Error{.code = Errc::unknown_key,
               .what = "'" + key + "' means nothing here",
               .detail = {},
               .hint = {}};
}

/// The request's body, which may be empty, as members of the order.
Result<void> read_order(const std::string& body, OrderWorkers& order) {
  if (body.find_first_not_of(" \t\r\n") == std::string::npos) return {};
  const json given = kept_json(body);
  if (!given.is_object()) return bad("the body must be a JSON object");
  for (const auto& [key, value] : given.items()) {
    if (auto read = read_member(key, value, order); !read) return read;
  }
  return {};
}

}  // namespace

void Api::install_fleet(cupel::http::Server& server) {
  const RouteOptions operate{.scope = "operate"};
  server.route(
      "GET", "/api/v1/workers", [this](Request r) { return list_workers(std::move(r)); },
      RouteOptions{.scope = "read"});
  for (const Verb& verb : kVerbs) {
    server.route(
        "POST", "/api/v1/workers/{w}/" + std::string(verb.name),
        [this, order = verb.order](Request r) { return order_worker(std::move(r), order); },
        operate);
    server.route(
        "POST", "/api/v1/workers:" + std::string(verb.name),
        [this, order = verb.order](Request r) { return order_workers(std::move(r), order); },
        operate);
  }
}

Api::Answer Api::list_workers(Request) {
  const auto workers = co_await parts_.control.workers();
  json body = {{"workers", json::array()}};
  for (const WorkerView& worker : workers) body["workers"].push_back(worker_view(worker));
  co_return json_response(200, body);
}

Api::Answer Api::order_worker(Request request, WorkerOrder what) {
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
  OrderWorkers order;
  order.order = what;
  order.worker = named->id;
  if (const auto read = read_order(request.body, order); !read) co_return problem(read.error());
  const WorkerId id = named->id;
  const auto done = co_await parts_.control.order(std::move(order));
  if (!done) co_return problem(done.error());
  const auto after = co_await parts_.control.workers();
  const auto worker = std::ranges::find(after, id, &WorkerView::id);
  if (worker == after.end()) co_return json_response(200, json::object());
  co_return json_response(200, worker_view(*worker));
}

Api::Answer Api::order_workers(Request request, WorkerOrder what) {
  OrderWorkers order;
  order.order = what;
  if (const auto read = read_order(request.body, order); !read) co_return problem(read.error());
  if (order.labels.empty()) co_return problem(bad("name the workers by 'labels'"));
  const auto done = co_await parts_.control.order(std::move(order));
  if (!done) co_return problem(done.error());
  const auto after = co_await parts_.control.workers();
  json body = {{"workers", json::array()}};
  for (const WorkerView& worker : after) {
    if (std::ranges::find(done->workers, worker.id) != done->workers.end())
      body["workers"].push_back(worker_view(worker));
  }
  co_return json_response(200, body);
}

}  // namespace cupel::coordinator::http
