#include "common/campaign/canonical_parts.hpp"
#include "common/campaign/parse.hpp"
#include "common/core/overloaded.hpp"
#include "common/text/units.hpp"

#include <nlohmann/json.hpp>

#include <chrono>

namespace cupel::campaign {
namespace {

using nlohmann::json;

std::string seconds(std::uint64_t value) {
  return text::format_duration(std::chrono::seconds(static_cast<std::int64_t>(value)));
}

json entry_json(const RepositoryEntry& entry) {
  json out = std::visit(
      Overloaded{[](const GitSource& git) { return json{{"git", git.url}, {"ref", git.ref}}; },
                 [](const ModuleSource& module) {
                   return json{{"module", module.path + "@" + module.version}};
                 },
                 [](const LocalPath& path) { return json{{"path", path.path}, {"ref", path.ref}}; },
                 [](const BundleSource& bundle) {
                   return json{{"bundle", bundle.artifact.hex()},
                               {"commit", bundle.commit},
                               {"name", bundle.name}};
                 },
                 [](const RefusedSource& refused) {
                   return json{{"refused",
                                {{"name", refused.name},
                                 {"reason", std::string(name(refused.reason))},
                                 {"message", refused.message},
                                 {"finding", std::string(name(refused.finding))}}}};
                 }},
      entry.source);
  if (!entry.subdirs.empty()) out["subdirs"] = entry.subdirs;
  if (!entry.upgrade.empty()) out["upgrade"] = targets_json(entry.upgrade);
  return out;
}

json test_json(const TestSettings& test) {
  return {
      {"enabled", test.enabled},  {"timeout", test.timeout_s == 0 ? "0" : seconds(test.timeout_s)},
      {"count", test.count},      {"race", test.race},
      {"short", test.short_mode}, {"shuffle", test.shuffle},
      {"run", test.run},          {"skip", test.skip}};
}

json validate_json(const Campaign& campaign) {
  const ValidationSettings& settings = campaign.settings;
  json checks = json::array();
  for (const CustomCheck& check : settings.custom) {
    checks.push_back({{"name", check.name},
                      {"command", check.command},
                      {"timeout", seconds(check.limit_s)},
                      {"parser", name(check.parser)}});
  }
  return {{"packages", settings.packages},          {"tags", settings.tags},
          {"build", {{"enabled", settings.build}}}, {"vet", {{"enabled", settings.vet}}},
          {"test", test_json(settings.test)},       {"checks", std::move(checks)},
          {"scan", scan_json(campaign.scan)}};
}

json sandbox_json(const ValidationSettings& settings) {
  const RunLimits& limits = settings.limits;
  return {{"image", settings.image},
          {"c_compiler", !settings.image_without_c_compiler},
          {"limits",
           {{"cpus", static_cast<double>(limits.cpu_millis) / 1000},
            {"memory", text::format_size(limits.memory_bytes)},
            {"pids", limits.pids},
            {"tmp", text::format_size(limits.tmp_bytes)},
            {"output", text::format_size(limits.output_bytes)}}},
          {"build_cache", name(settings.build_cache)},
          {"egress", settings.require_enforced_egress ? "enforced" : "any"},
          {"timeouts",
           {{"acquire", seconds(settings.acquire_limit_s)},
            {"check", settings.check_limit_s == 0 ? "0" : seconds(settings.check_limit_s)}}},
          {"private", {{"goprivate", settings.go_private}, {"gonosumdb", settings.go_nosumdb}}}};
}

std::string_view keep_logs_name(KeepLogs keep) {
  switch (keep) {
    case KeepLogs::all: return "all";
    case KeepLogs::failed: return "failed";
    case KeepLogs::none: return "none";
  }
  return "all";
}

}  // namespace

std::string to_canonical_json(const Campaign& campaign) {
  json repositories = json::array();
  for (const RepositoryEntry& entry : campaign.repositories)
    repositories.push_back(entry_json(entry));
  json fail_on = json::array();
  for (const Verdict verdict : campaign.fail_on) fail_on.push_back(std::string(name(verdict)));
  const json document = {
      {"apiVersion", "cupel/v1"},
      {"kind", "Campaign"},
      {"name", campaign.name},
      {"description", campaign.description},
      {"owner", campaign.owner},
      {"labels", json(campaign.labels)},
      {"priority", campaign.priority},
      {"repositories", std::move(repositories)},
      {"change", change_json(campaign)},
      {"confirm", {{"runs", campaign.confirm.runs}, {"need", campaign.confirm.need}}},
      {"baseline", {{"mode", baseline_name(campaign.baseline)}}},
      {"aa", campaign.aa},
      {"validate", validate_json(campaign)},
      {"sandbox", sandbox_json(campaign.settings)},
      {"strategy",
       {{"max_parallel", campaign.max_parallel},
        {"retries",
         {{"infra_error", campaign.retries_infra}, {"timeout", campaign.retries_timeout}}},
        {"deadline", seconds(campaign.deadline_s)}}},
      {"gate",
       {{"fail_on", std::move(fail_on)},
        {"max_inconclusive_ratio", campaign.max_inconclusive_ratio}}},
      {"output", {{"keep_logs", keep_logs_name(campaign.keep_logs)}}}};
  // Object keys are sorted by the library; foreign bytes were checked as UTF-8 when they came in.
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

Digest digest_of(const Campaign& campaign) {
  return sha256(to_canonical_json(campaign));
}

std::string entry_name(const RepositoryEntry& entry) {
  return std::visit(Overloaded{[](const LocalPath& path) {
                                 return path.ref.empty() ? path.path : path.path + "@" + path.ref;
                               },
                               [](const RefusedSource& refused) { return refused.name; },
                               [](const auto& source) { return source_name(Source(source)); }},
                    entry.source);
}

}  // namespace cupel::campaign
