/// Workers and campaigns as tables for people.
#pragma once

#include "cli/core/report_data.hpp"
#include "common/core/error.hpp"

#include <optional>
#include <span>
#include <string>

namespace cupel::cli {

/// `workers`: as GET /api/v1/workers lists them.
[[nodiscard]] std::string worker_table(const json& workers, std::size_t columns);
/// What is out of the ordinary about one: drain, quarantine, why it rests.
[[nodiscard]] std::string worker_note(const json& worker);
/// What an order was answered with, in a line.
[[nodiscard]] std::string ordered_worker(const json& worker, bool undrain);
/// The `labels` of an order from words key=value: a worker needs all of them. Errors: usage.
[[nodiscard]] Result<json> labels_from(std::span<const std::string> words);
/// `campaigns`: as GET /api/v1/campaigns lists them.
[[nodiscard]] std::string campaign_table(const json& campaigns, std::size_t columns);

/// `letters`: as GET /api/v1/deadletters lists them.
[[nodiscard]] std::string letter_table(const json& letters, std::size_t columns);
/// `explanation`: as GET /api/v1/tasks/{t}/why answers.
[[nodiscard]] std::string explanation_text(const json& explanation);
/// `explanation`: as GET /api/v1/campaigns/{c}/why answers.
[[nodiscard]] std::string campaign_explanation_text(const json& explanation);
/// One line for a campaign of which nothing runs; nothing where something does or where nothing
/// waits.
[[nodiscard]] std::optional<std::string> standstill(const json& explanation);

}  // namespace cupel::cli
