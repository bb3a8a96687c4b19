/// One line of `go test -json` or `go build -json`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cupel::worker::go {

/// The fields that Cupel uses; unknown fields and actions are ignored (rule P3).
struct TestEvent {
  std::string action;
  std::string package;
  std::string test;
  std::string output;
  std::string import_path;  ///< Build events only.
  std::string failed_build;
  bool has_test = false;  ///< The Test field is there, be it empty.
};

/// Nothing for a line that is no JSON object. Bytes that are no UTF-8 are replaced (rule P2);
/// nesting deeper than 32 is no event.
[[nodiscard]] std::optional<TestEvent> parse_event(std::string_view line);

}  // namespace cupel::worker::go
