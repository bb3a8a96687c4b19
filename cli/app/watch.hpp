/// Following a campaign to its end, and what is printed and written then.
#pragma once

#include "cli/app/console.hpp"
#include "cli/app/interrupts.hpp"
#include "cli/app/request.hpp"
#include "cli/core/report_data.hpp"
#include "common/httpclient/client.hpp"

#include <functional>
#include <string>

namespace cupel::cli {

enum class WatchEnd : unsigned char { finished, interrupted, terminated, timed_out };

/// Follows the events with progress until the campaign has finished. `look_after` is called when
/// one of the interrupts' watched descriptors fired. Errors: those of the client and of
/// `look_after`.
[[nodiscard]] Result<WatchEnd> watch_campaign(httpclient::Client& client,
                                              const std::string& campaign, Console& console,
                                              Interrupts& interrupts,
                                              const std::function<Result<void>()>& look_after = {});

/// The table of verdicts, the sums, the report files; returns the exit code by the gate. `earlier`:
/// results that the campaign's are merged into.
[[nodiscard]] int conclude(httpclient::Client& client, const std::string& campaign,
                           const Request& request, Console& console,
                           const ReportData* earlier = nullptr);

}  // namespace cupel::cli
