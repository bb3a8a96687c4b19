/// What a daemon's log says that its starter must tell. Pure.
#pragma once

#include "common/core/error.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cupel::cli {

/// The newest warning, error or critical entry of a log in its text form, with the lines that
/// belong to it; time and level are left out.
[[nodiscard]] std::optional<std::string> newest_trouble(std::string_view log);

/// The first CUP-nnnn that the text names, where the registry knows it.
[[nodiscard]] std::optional<Errc> code_named_in(std::string_view text);

}  // namespace cupel::cli
