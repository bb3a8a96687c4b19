// How the healthy engine answers its calls, and what they do to its containers.
#include "tests/engine_scenarios/model.hpp"

#include <boost/asio/co_spawn.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <ctime>

namespace cupel::scenarios {

namespace {

using Json = nlohmann::json;
using Clock = std::chrono::system_clock;

void rethrow(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

std::string time_text(Clock::time_point when) {
  const auto us =
      std::chrono::duration_cast<std::chrono::microseconds>(when.time_since_epoch()).count();
  const std::time_t seconds = us / 1'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::string fraction = std::to_string(us % 1'000'000);
  fraction.insert(0, 6 - fraction.size(), '0');
  return std::string(text.data(), size) + "." + fraction + "Z";
}

Reply refused(unsigned status, const std::string& message) {
  return {status, Model::error_body(message)};
}

Reply json_reply(unsigned status, const Json& json) {
  return {status, json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Json inspected(const Container& one) {
  return {{"Id", one.id},
          {"Name", "/" + one.name},
          {"Created", time_text(one.created)},
          {"State",
           {{"Status", one.state},
            {"Running", one.runs()},
            {"Paused", one.state == "paused"},
            {"OOMKilled", one.oom_killed},
            {"Dead", one.state == "dead"},
            {"ExitCode", one.runs() ? 0 : one.exit_code},
            {"Error", ""},
            {"StartedAt", time_text(one.started)},
            {"FinishedAt", time_text(one.finished)}}},
          {"Image", one.image},
          {"Config", {{"Labels", one.labels}}}};
}

bool has_label(const Container& one, const std::string& wanted) {
  const std::size_t equals = wanted.find('=');
  const auto found = one.labels.find(wanted.substr(0, equals));
  if (found == one.labels.end()) return false;
  return equals == std::string::npos || found->second == wanted.substr(equals + 1);
}

}  // namespace

Reply Model::create(const RecordedCall& call) {
  const Json body = Json::parse(call.body, nullptr, false);
  if (!body.is_object()) return refused(400, "invalid JSON");
  const auto name = call.query.find("name");
  const std::string wanted = name == call.query.end() ? "" : name->second;
  if (!wanted.empty() && find(wanted)) {
    return refused(409, "Conflict. The container name \"/" + wanted +
                            "\" is already in use by container \"" + find(wanted)->id +
                            "\". You have to remove (or rename) that container to be able to "
                            "reuse that name.");
  }
  if (!setup_.image_present)
    return refused(404, "No such image: " + body.value("Image", std::string()));
  auto one = std::make_shared<Container>(executor_, "c" + std::to_string(created_ + 1), wanted);
  one->program = &setup_.programs.at(std::min<std::size_t>(created_, setup_.programs.size() - 1));
  ++created_;
  one->image = body.value("Image", std::string());
  one->created = Clock::now();
  if (const auto labels = body.find("Labels"); labels != body.end() && labels->is_object()) {
    for (const auto& [key, value] : labels->items()) {
      if (value.is_string()) one->labels[key] = value.get<std::string>();
    }
  }
  containers_[one->id] = one;
  return json_reply(201, {{"Id", one->id}, {"Warnings", Json::array()}});
}

Reply Model::start(const ContainerPtr& container) {
  if (container->runs()) return {304, ""};
  container->state = "running";
  container->started = Clock::now();
  boost::asio::co_spawn(executor_, play(container), rethrow);
  container->notify();
  return {204, ""};
}

Reply Model::kill(const ContainerPtr& container) {
  if (!container->runs()) {
    return refused(409, "Cannot kill container: " + container->id + ": Container " + container->id +
                            " is not running");
  }
  if (container->program->dies_by_kill) {
    container->state = "exited";
    container->exit_code = kKilledCode;
    container->finished = Clock::now();
    container->nap.cancel();
    container->notify();
  }
  return {204, ""};
}

Reply Model::remove(const ContainerPtr& container, bool force) {
  if (container->state == "removing") {
    return refused(409, "removal of container " + container->id + " is already in progress");
  }
  if (container->runs()) {
    if (!force) {
      return refused(409, "You cannot remove a running container " + container->id +
                              ". Stop the container before attempting removal or force remove");
    }
    if (!container->program->dies_by_kill) {
      return refused(
          500, "Could not kill running container " + container->id +
                   ", cannot remove - tried to kill container, but did not receive an exit event");
    }
    (void)kill(container);
  }
  drop(container);
  return {204, ""};
}

Reply Model::list(const RecordedCall& call) const {
  std::vector<std::string> wanted;
  if (const auto filters = call.query.find("filters"); filters != call.query.end()) {
    const Json json = Json::parse(filters->second, nullptr, false);
    if (json.is_object() && json.contains("label")) {
      for (const Json& one : json["label"]) {
        if (one.is_string()) wanted.push_back(one.get<std::string>());
      }
    }
  }
  const auto all = call.query.find("all");
  Json answer = Json::array();
  for (const auto& [id, one] : containers_) {
    if ((all == call.query.end() || all->second != "1") && !one->runs()) continue;
    if (!std::ranges::all_of(wanted,
                             [&](const std::string& text) { return has_label(*one, text); }))
      continue;
    answer.push_back({{"Id", one->id},
                      {"Names", Json::array({"/" + one->name})},
                      {"Image", one->image},
                      {"ImageID", one->image},
                      {"Created", unix_seconds(one->created)},
                      {"State", one->state},
                      {"Status", one->state},
                      {"Labels", one->labels}});
  }
  return json_reply(200, answer);
}

Reply Model::image(const std::string& name) const {
  if (!setup_.image_present) return refused(404, "No such image: " + name);
  Json labels = Json::object();
  if (setup_.image_labelled) labels["cupel.image.cc"] = "1";
  return json_reply(
      200, {{"Id", kImage},
            {"RepoTags", Json::array({"example:1"})},
            {"Architecture", "amd64"},
            {"Os", "linux"},
            {"Size", 1000},
            {"Config", {{"Labels", labels}, {"Env", Json::array({"PATH=/usr/bin:/bin"})}}}});
}

std::optional<Reply> Model::refuse_version(const RecordedCall& call) const {
  const auto asked = engine::ApiVersion::parse(call.version);
  if (!asked) return std::nullopt;
  const auto lowest = engine::ApiVersion::parse(setup_.min_api);
  const auto highest = engine::ApiVersion::parse(setup_.api);
  if (lowest && *asked < *lowest) {
    return refused(400, "client version " + call.version +
                            " is too old. Minimum supported API version is " + setup_.min_api +
                            ", please upgrade your client to a newer version");
  }
  if (highest && *asked > *highest) {
    return refused(400, "client version " + call.version +
                            " is too new. Maximum supported API version is " + setup_.api);
  }
  return std::nullopt;
}

Reply Model::of_container(const RecordedCall& call, const ContainerPtr& container) {
  const std::string what =
      call.path.substr(std::min(call.path.size(), call.path.find('/', 12) + 1));
  const bool bare = call.path.find('/', 12) == std::string::npos;
  if (call.method == "DELETE" && bare) {
    const auto force = call.query.find("force");
    return remove(container,
                  force != call.query.end() && (force->second == "1" || force->second == "true"));
  }
  if (call.method == "GET" && what == "json") return json_reply(200, inspected(*container));
  if (call.method == "HEAD" && what == "archive") return {200, ""};
  if (call.method == "GET" && what == "logs") return {200, ""};
  if (call.method == "POST" && what == "start") return start(container);
  if (call.method == "POST" && what == "kill") return kill(container);
  if (call.method == "POST" && what == "wait") return {200, ""};
  if (call.method == "POST" && what == "attach") return {101, ""};
  return refused(404, "page not found");
}

Reply Model::handle(const RecordedCall& call) {
  if (call.path == "/version") {
    return json_reply(
        200, {{"Version", setup_.version},
              {"ApiVersion", setup_.api},
              {"MinAPIVersion", setup_.min_api},
              {"Os", "linux"},
              {"Arch", "amd64"},
              {"KernelVersion", "6.1.0"},
              {"Components",
               Json::array({{{"Name", setup_.name == "podman" ? "Podman Engine" : "Engine"}}})}});
  }
  if (auto refusal = refuse_version(call)) return *refusal;
  if (call.path == "/_ping") return {200, "OK"};
  if (call.path == "/info") {
    return json_reply(200, {{"ID", "engine"},
                            {"Name", "engine"},
                            {"Driver", "overlay2"},
                            {"CgroupVersion", "2"},
                            {"DefaultRuntime", "runc"},
                            {"MemoryLimit", true},
                            {"SwapLimit", true},
                            {"PidsLimit", true},
                            {"CpuCfsQuota", true},
                            {"NCPU", 4},
                            {"MemTotal", 8'000'000'000}});
  }
  if (call.path == "/images/json") {
    Json all = Json::array();
    if (setup_.image_present)
      all.push_back({{"Id", kImage}, {"RepoTags", Json::array({"example:1"})}});
    return json_reply(200, all);
  }
  if (call.method == "GET" && call.path.starts_with("/images/") && call.path.ends_with("/json")) {
    return image(call.path.substr(8, call.path.size() - 13));
  }
  if (call.method == "POST" && call.path == "/containers/create") return create(call);
  if (call.method == "GET" && call.path == "/containers/json") return list(call);
  if (call.path.starts_with("/containers/")) {
    if (const ContainerPtr container = of(call)) return of_container(call, container);
    return refused(404, "No such container: " + call.path.substr(12, call.path.find('/', 12) - 12));
  }
  return refused(404, "page not found");
}

}  // namespace cupel::scenarios
