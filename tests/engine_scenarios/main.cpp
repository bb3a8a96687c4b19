// engine_scenarios DIR [NAME...] [--jobs N] [--slower N]; ops/engine-scenarios builds and runs it.
#include "tests/engine_scenarios/runner.hpp"

#include <charconv>
#include <iostream>
#include <string_view>

int main(int argc, char** argv) {
  cupel::scenarios::RunnerOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if ((argument == "--jobs" || argument == "--slower") && i + 1 < argc) {
      const std::string_view text = argv[++i];
      unsigned number = 0;
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
      if (parsed.ptr == text.data() + text.size() && number > 0 && number <= 64) {
        if (argument == "--jobs") options.jobs = number;
        if (argument == "--slower") options.slower = number;
        continue;
      }
    } else if (!argument.starts_with("-") && options.directory.empty()) {
      options.directory = argument;
      continue;
    } else if (!argument.starts_with("-")) {
      options.names.emplace_back(argument);
      continue;
    }
    options.directory.clear();
    break;
  }
  if (options.directory.empty()) {
    std::cerr << "usage: engine_scenarios DIR [NAME...] [--jobs N] [--slower N]\n";
    return cupel::scenarios::kExitBroken;
  }
  return cupel::scenarios::run_directory(options, std::cout, std::cerr);
}
