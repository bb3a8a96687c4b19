/// What a daemon's log says that its starter must tell. Pure.
#pragma once

#include "common/core/error.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cupel::cli {

struct Trouble {
  std::string text;       ///< With the lines that belong to it; without time and level.
  bool is_error = false;  ///< Else a warning, after which a daemon goes on.
};

/// The newest warning, error or critical entry of a log in its text form.
[[nodiscard]] std::optional<Trouble> newest_trouble(std::string_view log);

/// The first CUP-nnnn that the text names, where the registry knows it.
[[nodiscard]] std::optional<Errc> code_named_in(std::string_view text);

}  // namespace cupel::cli
