/// What /proc says of processes.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::tests {

/// Command lines, each word ended by a zero byte, of the processes in whose command `part` stands.
inline std::vector<std::string> command_lines_with(std::string_view part) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    // A process may end between the opening of its file and the reading, at which an iterator over
    // the stream would throw.
    std::ostringstream words;
    words << std::ifstream(entry.path() / "cmdline").rdbuf();
    if (words.view().find(part) != std::string_view::npos) found.push_back(words.str());
  }
  return found;
}

}  // namespace cupel::tests
