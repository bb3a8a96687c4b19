/// Completion scripts of shells.
#pragma once

#include <map>
#include <string>

namespace cupel::cli {

/// The words that may follow a chain of commands ("key", "key trust"; "" = the first word):
/// sub-commands and flags, with blanks between them.
using CommandWords = std::map<std::string, std::string>;

/// `shell`: bash, zsh or fish.
[[nodiscard]] std::string completion_of(const std::string& shell, const CommandWords& words);

}  // namespace cupel::cli
