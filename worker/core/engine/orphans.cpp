#include "worker/core/engine/orphans.hpp"

#include "worker/core/engine/container_spec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace cupel::worker {

namespace {

using Labels = std::map<std::string, std::string>;

std::string_view label_of(const Labels& labels, std::string_view key) {
  const auto it = labels.find(std::string(key));
  return it == labels.end() ? std::string_view() : std::string_view(it->second);
}

std::optional<std::int64_t> deadline_of(const Labels& labels) {
  const std::string_view text = label_of(labels, label::kDeadline);
  std::int64_t seconds = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return seconds;
}

std::optional<OrphanReason> judge(const Labels& labels, const ReaperView& view) {
  if (label_of(labels, label::kFleet) != view.fleet.text()) return std::nullopt;
  const auto worker = WorkerId::parse(label_of(labels, label::kWorker));
  const std::string run(label_of(labels, label::kRun));
  const auto deadline = deadline_of(labels);
  if (!worker || run.empty() || !deadline) return std::nullopt;
  const std::int64_t now_s = view.now.us / 1'000'000;
  const std::int64_t grace_s = std::chrono::duration_cast<std::chrono::seconds>(view.grace).count();
  if (*worker == view.worker) {
    if (!view.live_runs.contains(run)) return OrphanReason::own_not_live;
    if (now_s > *deadline) return OrphanReason::own_past_deadline;
    return std::nullopt;
  }
  // Another worker ends its own runs well before this; one that is past it is not there any more.
  if (now_s > *deadline + grace_s) return OrphanReason::other_past_deadline;
  return std::nullopt;
}

}  // namespace

std::string_view name(OrphanReason reason) {
  static constexpr std::array<std::string_view, 3> kNames = {"own_not_live", "own_past_deadline",
                                                             "other_past_deadline"};
  return kNames.at(static_cast<std::size_t>(reason));
}

std::vector<Orphan> find_orphans(const std::vector<engine::ContainerSummary>& containers,
                                 const ReaperView& view) {
  std::vector<Orphan> orphans;
  std::vector<const engine::ContainerSummary*> by_age;
  by_age.reserve(containers.size());
  for (const engine::ContainerSummary& container : containers) by_age.push_back(&container);
  std::ranges::sort(by_age, {}, [](const engine::ContainerSummary* one) {
    return std::pair(one->created_s, std::string_view(one->id));
  });
  for (const engine::ContainerSummary* const container : by_age) {
    const auto reason = judge(container->labels, view);
    if (!reason) continue;
    orphans.push_back({.container_id = container->id,
                       .run_id = std::string(label_of(container->labels, label::kRun)),
                       .state = container->state,
                       .reason = *reason});
  }
  return orphans;
}

bool may_run(std::string_view state) {
  return state != "created" && state != "exited" && state != "dead";
}

bool still_orphan(const std::map<std::string, std::string>& labels, const ReaperView& view) {
  return judge(labels, view).has_value();
}

}  // namespace cupel::worker
