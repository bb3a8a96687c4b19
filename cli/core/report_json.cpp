#include "cli/core/change_report.hpp"
#include "cli/core/groups.hpp"
#include "cli/core/reports.hpp"
#include "common/core/version.hpp"

#include <algorithm>

namespace cupel::cli {
namespace {

json totals_of(const ReportData& data) {
  json verdicts = json::object();
  for (const auto& [verdict, count] : count_verdicts(data.results)) verdicts[verdict] = count;
  const auto failed = std::ranges::count_if(data.results, has_failed);
  return {{"units", data.results.size()}, {"failed", failed}, {"verdicts", std::move(verdicts)}};
}

json groups_of(const ReportData& data) {
  json groups = json::array();
  for (const Group& group : group_failures(data.results)) {
    groups.push_back({{"id", group.id},
                      {"kind", group.kind},
                      {"message", group.message},
                      {"count", group.units.size()},
                      {"signature", group.signature},
                      {"units", group.units},
                      {"excerpt", group.excerpt},
                      {"example", group.example}});
  }
  return groups;
}

/// What the change brought, and how much of it is noise; a plain validation may have a sample, too.
void add_changes(json& report, const ReportData& data) {
  if (has_change(data) || noise_of(data).sample.pairs > 0) report["changes"] = changes_json(data);
}

std::string dumped(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::optional<ReportFormat> parse_report_format(std::string_view word) {
  if (word == "json") return ReportFormat::json;
  if (word == "ndjson") return ReportFormat::ndjson;
  if (word == "markdown") return ReportFormat::markdown;
  if (word == "junit") return ReportFormat::junit;
  return std::nullopt;
}

std::string report_json(const ReportData& data) {
  json results = json::array();
  for (const json* unit : in_reading_order(data.results)) results.push_back(*unit);
  json report = {{"v", 1},
                 {"cupel", std::string(kVersion)},
                 {"campaign", data.campaign},
                 {"digest", text_of(data.campaign, "digest")},
                 {"totals", totals_of(data)},
                 {"groups", groups_of(data)},
                 {"results", std::move(results)}};
  add_changes(report, data);
  return dumped(report, 1) + "\n";
}

std::string report_ndjson(const ReportData& data) {
  json head = {
      {"v", 1}, {"type", "campaign"}, {"campaign", data.campaign}, {"totals", totals_of(data)}};
  add_changes(head, data);
  std::string out = dumped(head, -1) + "\n";
  for (const json* unit : in_reading_order(data.results)) {
    out += dumped({{"v", 1},
                   {"type", "unit"},
                   {"campaign", text_of(data.campaign, "id")},
                   {"unit", *unit}},
                  -1) +
           "\n";
  }
  return out;
}

std::string write_report(const ReportData& data, ReportFormat format, std::size_t bytes_max) {
  switch (format) {
    case ReportFormat::json: return report_json(data);
    case ReportFormat::ndjson: return report_ndjson(data);
    case ReportFormat::markdown: return report_markdown(data, bytes_max);
    case ReportFormat::junit: return report_junit(data);
  }
  return "";
}

}  // namespace cupel::cli
