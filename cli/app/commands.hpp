/// The verbs. Each prints and returns the exit code.
#pragma once

#include "cli/app/console.hpp"
#include "cli/app/interrupts.hpp"
#include "cli/app/request.hpp"
#include "common/httpclient/client.hpp"

#include <string>

namespace cupel::cli {

[[nodiscard]] int run_init(const Request& request, Console& console);
[[nodiscard]] int run_check(const Request& request, Console& console);
[[nodiscard]] int run_plan(const Request& request, Console& console);
[[nodiscard]] int run_campaign(const Request& request, Console& console);
[[nodiscard]] int run_watch(const Request& request, Console& console);
[[nodiscard]] int run_results(const Request& request, Console& console);
[[nodiscard]] int run_logs(const Request& request, Console& console);
[[nodiscard]] int run_report(const Request& request, Console& console);
[[nodiscard]] int run_patches(const Request& request, Console& console);
[[nodiscard]] int run_reproduce(const Request& request, Console& console);
[[nodiscard]] int run_retry(const Request& request, Console& console);
[[nodiscard]] int run_flakes(const Request& request, Console& console);
[[nodiscard]] int run_campaign_order(const Request& request, Console& console);
[[nodiscard]] int run_worker(const Request& request, Console& console);
[[nodiscard]] int run_why(const Request& request, Console& console);
[[nodiscard]] int run_deadletter(const Request& request, Console& console);
[[nodiscard]] int run_keys(const Request& request, Console& console);
[[nodiscard]] int run_doctor(const Request& request, Console& console);
[[nodiscard]] int run_config(const Request& request, Console& console);
[[nodiscard]] int run_image(const Request& request);
[[nodiscard]] int run_sandbox(const Request& request);
[[nodiscard]] int run_help(const Request& request, Console& console);

/// Prints the error and gives its exit code.
[[nodiscard]] int fail(Console& console, const Error& error);

}  // namespace cupel::cli
