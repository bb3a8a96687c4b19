/// The commands of `cupel` with their options and help.
#pragma once

#include "cli/app/request.hpp"

namespace CLI {
class App;
}

namespace cupel::cli {

/// `request` is written when `app` parses a line, and outlives it.
void add_commands(CLI::App& app, Request& request);

}  // namespace cupel::cli
