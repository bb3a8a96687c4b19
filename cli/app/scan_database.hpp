/// The vulnerability database that a campaign names: taken, checked and uploaded before it is
/// submitted.
#pragma once

#include "cli/app/console.hpp"
#include "common/campaign/campaign.hpp"
#include "common/core/error.hpp"
#include "common/httpclient/client.hpp"

#include <filesystem>

namespace cupel::cli {

/// Fills the plan's snapshot, or its problem when there is none to be had (said on the console; the
/// campaign goes on, its scans are inconclusive). Nothing to do for a plan that names no database.
/// `base`: what a relative path is relative to. Errors: those of the upload.
[[nodiscard]] Result<void> upload_database(campaign::ScanPlan& scan,
                                           const std::filesystem::path& base,
                                           httpclient::Client& client, Console& console);

}  // namespace cupel::cli
