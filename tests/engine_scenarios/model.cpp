#include "tests/engine_scenarios/model.hpp"

#include "worker/core/engine/container_spec.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace cupel::scenarios {

namespace {

namespace asio = boost::asio;
using Json = nlohmann::json;
using Clock = std::chrono::system_clock;
namespace label = worker::label;

Clock::time_point before_now(Duration age) {
  return Clock::now() - std::chrono::duration_cast<Clock::duration>(age);
}

}  // namespace

std::int64_t unix_seconds(std::chrono::system_clock::time_point when) {
  return std::chrono::duration_cast<std::chrono::seconds>(when.time_since_epoch()).count();
}

std::string Model::error_body(std::string_view message) {
  return Json{{"message", message}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Model::frame(unsigned stream, std::string_view payload,
                         std::optional<std::uint32_t> length) {
  const std::uint32_t size = length.value_or(static_cast<std::uint32_t>(payload.size()));
  std::string bytes(1, static_cast<char>(stream));
  bytes.append(3, '\0');
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    bytes += static_cast<char>((size >> shift) & 0xFFU);
  return bytes.append(payload);
}

std::string Model::expand(const std::string& text, const ContainerPtr& container) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = text.find("${"); at != std::string::npos; at = text.find("${", done)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string::npos) break;
    out += text.substr(done, at - done);
    const std::string name = text.substr(at + 2, end - at - 2);
    done = end + 1;
    if (!container) continue;
    if (name == "id") out += container->id;
    if (name == "name") out += container->name;
    if (name == "nonce") out += container->nonce;
    if (name == "run") {
      const auto run = container->labels.find(std::string(label::kRun));
      if (run != container->labels.end()) out += run->second;
    }
    if (name == "start")
      out +=
          "\x1e"
          "cupel-start " +
          container->nonce + "\n";
    if (name == "end") {
      out +=
          "\x1e"
          "cupel-end " +
          container->nonce + " end=self exit=" + std::to_string(container->exit_code) +
          " signal=0 out=" + std::to_string(container->out_bytes) +
          " err=" + std::to_string(container->err_bytes) + " oom=0 pids=0 tmp=0 left=0 what=\n";
    }
  }
  return out + text.substr(done);
}

Model::Model(asio::any_io_executor executor, EngineSetup setup, WorkerSetup worker)
    : executor_(std::move(executor)), setup_(std::move(setup)), worker_(worker) {
  for (const OldContainer& old : setup_.containers) {
    if (old.count == 1) {
      add_old(old, {});
      continue;
    }
    for (std::uint64_t i = 1; i <= old.count; ++i) add_old(old, "-" + std::to_string(i));
  }
}

void Model::add_old(const OldContainer& old, const std::string& suffix) {
  auto one = std::make_shared<Container>(executor_, old.id + suffix, old.name + suffix);
  one->image = kImage;
  one->state = old.state;
  one->exit_code = old.exit_code;
  one->created = one->started = one->finished = before_now(old.age);
  one->program = &setup_.programs.back();
  if (old.labelled) {
    const FleetId fleet{static_cast<decltype(FleetId::value)>(old.fleet.value_or(worker_.fleet))};
    const WorkerId worker{
        static_cast<decltype(WorkerId::value)>(old.worker.value_or(worker_.worker))};
    one->labels = {
        {std::string(label::kFleet), fleet.text()},
        {std::string(label::kWorker), worker.text()},
        {std::string(label::kIncarnation),
         std::to_string(old.incarnation.value_or(worker_.incarnation))},
        {std::string(label::kRun), old.run.empty() ? "run-" + one->id : old.run},
        {std::string(label::kDeadline),
         std::to_string(unix_seconds(Clock::now() +
                                     std::chrono::duration_cast<Clock::duration>(old.deadline)))}};
  }
  for (const auto& [key, value] : old.labels) {
    if (value == "none") {
      one->labels.erase(key);
    } else {
      one->labels[key] = value;
    }
  }
  containers_[one->id] = std::move(one);
}

ContainerPtr Model::find(const std::string& id_or_name) const {
  if (const auto found = containers_.find(id_or_name); found != containers_.end())
    return found->second;
  for (const auto& [id, one] : containers_) {
    if (one->name == id_or_name) return one;
  }
  return nullptr;
}

ContainerPtr Model::of(const RecordedCall& call) const {
  constexpr std::string_view kPrefix = "/containers/";
  if (call.path == "/containers/create") {
    const auto name = call.query.find("name");
    return name == call.query.end() ? nullptr : find(name->second);
  }
  if (!call.path.starts_with(kPrefix)) return nullptr;
  const std::string rest = call.path.substr(kPrefix.size());
  return find(rest.substr(0, rest.find('/')));
}

std::size_t Model::running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(containers_, [](const auto& one) { return one.second->runs(); }));
}

void Model::set_versions(const std::string& api, const std::string& min_api) {
  if (!api.empty()) setup_.api = api;
  if (!min_api.empty()) setup_.min_api = min_api;
}

void Model::drop(const ContainerPtr& container) {
  container->gone = true;
  container->state = "removed";
  containers_.erase(container->id);
  container->nap.cancel();
  container->notify();
}

void Model::apply(const ContainerPart& part, const ContainerPtr& self) {
  const ContainerPtr one = part.container == "this" ? self : find(part.container);
  if (!one) return;
  if (part.gone) {
    drop(one);
    return;
  }
  if (part.state) {
    const bool ran = one->runs();
    one->state = *part.state;
    if (one->runs() && !ran) one->started = before_now(part.age.value_or(Duration{}));
    if (!one->runs() && ran) one->finished = Clock::now();
  }
  if (part.exit_code) one->exit_code = *part.exit_code;
  if (part.oom_killed) one->oom_killed = *part.oom_killed;
  one->nap.cancel();
  one->notify();
}

}  // namespace cupel::scenarios
