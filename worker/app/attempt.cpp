#include "worker/app/attempt.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace cupel::worker {
namespace {

decltype(SourcePolicy::share) sharing(DownloadFiller* downloads) {
  if (downloads == nullptr) return {};
  return [downloads](const std::string& modcache, std::shared_ptr<void> keep) {
    downloads->take(modcache, std::move(keep));
  };
}

}  // namespace

const images::Available* newest(const std::vector<images::Available>& all) {
  return all.empty() ? nullptr : &*std::ranges::max_element(all, [](const auto& a, const auto& b) {
    const auto key = [](const images::Available& image) {
      return std::pair(images::GoVersion::parse(image.go_version), image.has_cc);
    };
    return key(a) < key(b);
  });
}

AcquireContext context_of(const RunnerParts& parts, RunPort& runs, const Lease& lease,
                          TimePoint deadline, const images::Available& image) {
  return AcquireContext{.runs = runs,
                        .files = parts.files,
                        .workspaces = parts.workspaces,
                        .policy = {.allow_local = parts.options.allow_local_sources,
                                   .allowed = parts.options.allowed_sources,
                                   .git_credentials_file = parts.options.git_credentials_file,
                                   .fixture_proxy = parts.options.fixture_proxy,
                                   .downloads = parts.downloads == nullptr
                                                    ? std::string()
                                                    : parts.downloads->cache().mount().string(),
                                   .netrc_file = parts.options.netrc_file,
                                   .share = sharing(parts.downloads)},
                        .campaign = lease.spec.campaign,
                        .repository = lease.spec.repository,
                        .unit = lease.spec.unit,
                        .task = lease.spec.id,
                        .token = lease.token,
                        .task_deadline = deadline,
                        .settings = lease.spec.settings,
                        .image = image.engine_id,
                        .image_go_version = image.go_version};
}

void stop_with(TaskResult& result, AcquireStopped stopped) {
  switch (stopped.kind) {
    case AcquireStopped::Kind::refusal:
      result.reason = stopped.refusal.reason;
      result.outcome = class_of(stopped.refusal.reason);
      result.message = std::move(stopped.refusal.message);
      result.findings = std::move(stopped.refusal.findings);
      break;
    case AcquireStopped::Kind::interrupted:
      result.ending = Ending::interrupted;
      result.reason = Reason::engine;
      result.message = std::move(stopped.message);
      break;
    case AcquireStopped::Kind::lost:
      result.ending = Ending::lost_workspace;
      result.reason = Reason::engine;
      result.message = std::move(stopped.message);
      break;
  }
}

CheckLog as_check_log(AcquireLog log, std::string name) {
  CheckLog check;
  check.check = CheckKind::custom;
  check.name = std::move(name);
  check.out = {
      .bytes = std::move(log.out), .total = 0, .truncated = log.truncated, .complete = true};
  check.err = {
      .bytes = std::move(log.err), .total = 0, .truncated = log.truncated, .complete = true};
  return check;
}

}  // namespace cupel::worker
