/// What commands that ask a coordinator share.
#pragma once

#include "cli/app/console.hpp"
#include "cli/app/interrupts.hpp"
#include "cli/app/request.hpp"
#include "common/httpclient/client.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

namespace cupel::cli {

/// With --local a coordinator without workers is started, so that results of local runs can be
/// read. Returns the command's exit code.
[[nodiscard]] int with_client(const Request& request, Console& console,
                              const std::function<int(httpclient::Client&, Interrupts&)>& body);

/// As every command prints JSON for people: indented by one, bytes that are no UTF-8 replaced.
[[nodiscard]] std::string dumped(const nlohmann::json& value);

/// Units whose name, repository or module is `subject`; else those whose name contains it.
[[nodiscard]] std::vector<const nlohmann::json*> matching(
    const std::vector<nlohmann::json>& results, const std::string& subject);

/// The only one of matching(); not_found names all where there are several.
[[nodiscard]] Result<const nlohmann::json*> only_match(const std::vector<nlohmann::json>& results,
                                                       const std::string& subject);

}  // namespace cupel::cli
