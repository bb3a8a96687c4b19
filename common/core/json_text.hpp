/// JSON written straight into a string, for what is written often and never looked at as a value:
/// the store's records and the bodies of events. Same members and words as json.hpp, in the order
/// of their declaration.
///
/// Bytes that are no UTF-8 are replaced.
#pragma once

#include "common/core/task.hpp"

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace cupel {

/// One object on one line, member by member. The keys are the caller's own: they are written as
/// they are.
class JsonLine {
 public:
  JsonLine() { line_.reserve(kUsualBytes); }
  JsonLine& text(std::string_view key, std::string_view value);
  JsonLine& number(std::string_view key, std::integral auto value) {
    begin(key);
    line_ += std::to_string(value);
    return *this;
  }
  JsonLine& number(std::string_view key, double value);  ///< Must be finite.
  /// The object; this one is empty afterwards.
  [[nodiscard]] std::string take();

 private:
  static constexpr std::size_t kUsualBytes = 256;
  void begin(std::string_view key);
  std::string line_ = "{";
};

[[nodiscard]] std::string json_text(const Source& value);
[[nodiscard]] std::string json_text(const UnitInfo& value);
/// Without the settings, which are the campaign's.
[[nodiscard]] std::string json_text_without_settings(const TaskSpec& value);
[[nodiscard]] std::string json_text(const TaskResult& value);

}  // namespace cupel
