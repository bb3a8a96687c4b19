/// What reports say about campaigns that compare two sides: patches, and how many false regressions
/// to expect.
#pragma once

#include "cli/core/report_data.hpp"
#include "common/core/noise.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cupel::cli {

/// True for a campaign with a change, by its document; without one by its results.
[[nodiscard]] bool has_change(const ReportData& data);

struct PatchCounts {
  std::size_t ready = 0;
  std::size_t withheld = 0;
  std::map<std::string, std::size_t> codes;  ///< Why they are withheld; a patch may have several.
};
[[nodiscard]] PatchCounts count_patches(const std::vector<json>& results);

struct Noise {
  AaSample sample;
  std::uint64_t units = 0;      ///< Whose two sides were compared.
  std::uint64_t regressed = 0;  ///< Of them.
  Expectation expectation;
};
[[nodiscard]] Noise noise_of(const ReportData& data);
/// One or two sentences about it; without compared units only what the sample says.
[[nodiscard]] std::string noise_sentence(const Noise& noise);

/// `changes` of the JSON report.
[[nodiscard]] json changes_json(const ReportData& data);
/// The section of the Markdown report; empty for a campaign without a change or an A/A sample.
[[nodiscard]] std::string changes_markdown(const ReportData& data);
/// "example.com/lib v1.0.0 -> v1.1.0; patch ready": what was done in a unit, and what became of its
/// patch. Empty where nothing was.
[[nodiscard]] std::string change_note(const json& unit);
/// "fails in 4 of 4 runs after, 0 of 4 before" for an entry of `introduced` and its like.
[[nodiscard]] std::string hits_text(const json& item);

}  // namespace cupel::cli
