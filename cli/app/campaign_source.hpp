/// A campaign file on its way to the coordinator: read, checked, its local folders packed and
/// uploaded.
#pragma once

#include "cli/app/console.hpp"
#include "common/campaign/parse.hpp"
#include "common/httpclient/client.hpp"

#include <string>

namespace cupel::cli {

/// `file` as given; "-" is standard input. Errors: not_found, io_error, too_large. What is wrong
/// inside the file is in the diagnostics.
[[nodiscard]] Result<campaign::ParsedCampaign> load_campaign(const std::string& file);

/// Replaces every LocalPath by the pack that was uploaded, or by the refusal that packing gave.
/// `file` is where relative paths count from.
[[nodiscard]] Result<void> upload_paths(campaign::Campaign& campaign, const std::string& file,
                                        httpclient::Client& client, Console& console);

}  // namespace cupel::cli
