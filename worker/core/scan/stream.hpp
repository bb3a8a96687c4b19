/// The JSON stream of govulncheck, read so that only a complete and consistent one says anything:
/// an empty, cut, foreign or contradictory stream is never "no findings". Pure.
#pragma once

#include "common/core/scan.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::scan {

/// What the stream must say about itself, as the run was set up.
struct Expected {
  std::string scanner_version;  ///< "v1.9.0"
  std::string database_url;     ///< "file:///vulndb"
  std::string database_time;    ///< As index/db.json of the snapshot says.
  std::string go_version;       ///< "go1.26.8"
};

struct ScannedModule {
  std::string path;
  std::string version;  ///< Empty for the main module and for one replaced by a folder.
  friend bool operator==(const ScannedModule&, const ScannedModule&) = default;
};

struct StreamReport {
  /// Why there is no answer: one line; empty for a conclusive scan. Everything below is empty then.
  std::string problem;
  /// database_id is not in the stream: the caller adds it.
  ScanFacts facts;
  std::vector<ScannedModule> modules;    ///< Those of the loaded packages, and the main module.
  std::vector<Vulnerability> withdrawn;  ///< Found, but the database took the advisory back.
  [[nodiscard]] bool conclusive() const { return problem.empty(); }
};

inline constexpr std::size_t kVulnerabilitiesMax = 2000;  ///< More: no answer.
inline constexpr std::size_t kMessagesMax = 500'000;
inline constexpr std::size_t kMessageBytesMax = 8UL << 20;
inline constexpr int kNestingMax = 64;

/// `text`: the whole standard output of a run that ended with exit code 0; whether it is whole is
/// the caller's question.
[[nodiscard]] StreamReport read_stream(std::string_view text, const Expected& expected);

/// One line of foreign text: control characters become spaces, at most `characters_max`.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t characters_max);

}  // namespace cupel::worker::scan
