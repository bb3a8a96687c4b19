/// What the engine was asked, and whether that is what was expected. Pure.
#pragma once

#include "tests/engine_scenarios/scenario.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cupel::scenarios {

struct RecordedCall {
  std::string method;
  std::string path;     ///< Without the version and the query.
  std::string version;  ///< "1.41"; empty for a path without one.
  std::map<std::string, std::string> query;
  std::string body;

  [[nodiscard]] std::string text() const;
};

/// From a request line's target. Percent-encoding of the query is undone.
[[nodiscard]] RecordedCall recorded_call(std::string method, std::string_view target);

[[nodiscard]] bool matches(const CallPattern& pattern, const RecordedCall& call);

/// Why the calls differ from the expected ones; nothing when they don't.
[[nodiscard]] std::optional<std::string> differs(const std::vector<ExpectedGroup>& expected,
                                                 const std::vector<RecordedCall>& calls);

/// Why a fact isn't what is wanted; nothing when it is.
[[nodiscard]] std::optional<std::string> differs(const std::string& name, const Wanted& wanted,
                                                 const std::string& value);

/// For messages: control bytes escaped, at most 200 bytes.
[[nodiscard]] std::string shown(std::string_view text);

}  // namespace cupel::scenarios
