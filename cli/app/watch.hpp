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

/// What a command says that stopped following.
[[nodiscard]] int code_of_end(WatchEnd end);

/// Cancels campaigns that an earlier, killed local run left unfinished: they would take slots.
[[nodiscard]] Result<void> cancel_leftovers(httpclient::Client& client, Console& console);

/// Cancels, and gives running tasks a moment to end, so that the report says what was reached: for
/// a coordinator that ends with this command.
void cancel_local(httpclient::Client& client, const std::string& campaign, Console& console,
                  Interrupts& interrupts);

/// The table of verdicts, the sums, the report files; returns the exit code by the gate. `earlier`:
/// results that the campaign's are merged into.
[[nodiscard]] int conclude(httpclient::Client& client, const std::string& campaign,
                           const Request& request, Console& console,
                           const ReportData* earlier = nullptr);

}  // namespace cupel::cli
