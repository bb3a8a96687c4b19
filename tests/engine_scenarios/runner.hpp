/// A directory of scenarios: read, played in parallel, told line by line.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace cupel::scenarios {

struct RunnerOptions {
  std::string directory;
  std::vector<std::string> names = {};  ///< File names without their ending; empty = all.
  std::size_t jobs = 8;                 ///< Scenarios at once: they wait most of their time.
  unsigned slower = 1;                  ///< Every time of every file is that many times as long.
};

inline constexpr int kExitDiffers = 1;
inline constexpr int kExitBroken = 2;

/// 0, kExitDiffers, or kExitBroken (a file that can't be read, an unknown name, no file at all):
/// then nothing is played.
[[nodiscard]] int run_directory(const RunnerOptions& options, std::ostream& out, std::ostream& err);

}  // namespace cupel::scenarios
