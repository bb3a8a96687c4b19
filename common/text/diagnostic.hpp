/// One fault of a file that a person wrote: where it is, what it is, and what would be right.
#pragma once

#include "common/core/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cupel::text {

struct Diagnostic {
  std::string file;
  int line = 0;    ///< 1-based; 0 = the file as a whole.
  int column = 0;  ///< 1-based, in bytes.
  Errc code = Errc::bad_value;
  std::string message;  ///< Starts with the path of the key, such as "sandbox.limits.memory: ...".
  std::string hint;     ///< "did you mean ..."; may be empty.

  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;

  /// "campaign.yaml:14:12: message (CUP-1012)" and the hint on a line of its own, indented by two.
  [[nodiscard]] std::string text() const;
};

/// The word of `words` that `wrong` was probably meant to be; empty where none is near.
[[nodiscard]] std::string nearest_word(std::string_view wrong,
                                       const std::vector<std::string>& words);

/// All diagnostics as lines and a closing "2 errors". Ends with a newline.
[[nodiscard]] std::string render(const std::vector<Diagnostic>& diagnostics);

}  // namespace cupel::text
