/// Report writers: what the API says about a campaign as one text. Pure; equal input gives equal
/// bytes.
#pragma once

#include "cli/core/report_data.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::cli {

enum class ReportFormat : unsigned char { json, ndjson, markdown, junit };
[[nodiscard]] std::optional<ReportFormat> parse_report_format(std::string_view word);

/// {v, cupel, campaign, totals, groups, results}; totals.verdicts sum to totals.units.
[[nodiscard]] std::string report_json(const ReportData& data);
/// One line for the campaign, then one for each unit: {v, type, ...}.
[[nodiscard]] std::string report_ndjson(const ReportData& data);
/// Sums, groups, then units; at most `bytes_max` bytes: whole sections and rows are left out with a
/// count, never the middle of a table row. 0 = no limit.
[[nodiscard]] std::string report_markdown(const ReportData& data, std::size_t bytes_max);
/// A test suite for each unit, one case for its verdict and one for each conclusive finding. Output
/// at most 64 KiB a case. Well-formed whatever the units printed.
[[nodiscard]] std::string report_junit(const ReportData& data);

[[nodiscard]] std::string write_report(const ReportData& data, ReportFormat format,
                                       std::size_t bytes_max);

/// Text for an XML document: what XML can't hold is replaced, what it could misread is escaped.
[[nodiscard]] std::string xml_text(std::string_view text);

}  // namespace cupel::cli
