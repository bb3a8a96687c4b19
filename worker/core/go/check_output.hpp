/// What a custom check's output says, by the parser that its campaign names. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::go {

/// One problem that a tool reported.
struct Reported {
  std::string file;  ///< As the tool named it.
  std::int32_t line = 0;
  std::int32_t column = 0;
  std::string rule;     ///< The tool's name of the rule; empty where it has none.
  std::string message;  ///< One line.
  bool remark = false;  ///< The tool itself calls it no problem (SARIF levels none and note).
};

struct CheckOutput {
  std::vector<Reported> all;  ///< At most kReportedMax.
  bool truncated = false;     ///< There were more.
};

inline constexpr std::size_t kReportedMax = 5000;

/// "FILE:LINE:COL: MESSAGE" and "FILE:LINE: MESSAGE", one a line; a rule in brackets at the end or
/// in parentheses, as linters print it, is taken apart. Other lines say nothing.
[[nodiscard]] CheckOutput read_lines(std::string_view text);

/// SARIF 2.1.0: one document. Results that are suppressed or absent are left out. Nothing for what
/// is no such document.
[[nodiscard]] std::optional<CheckOutput> read_sarif(std::string_view text);

}  // namespace cupel::worker::go
