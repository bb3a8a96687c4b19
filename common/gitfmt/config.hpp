/// Git's configuration format, and what in it can make git run a program. Pure.
#pragma once

#include "common/core/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::gitfmt {

/// One setting. Section and key are lower case; the subsection is as written.
struct ConfigEntry {
  std::string section;
  std::string subsection;
  std::string key;
  std::string value;      ///< Unquoted; empty for a key without '='.
  bool has_value = true;  ///< False for a bare key, which git reads as true.
  std::int32_t line = 0;
  /// "remote.origin.url"
  [[nodiscard]] std::string name() const;
};

/// Errors: bad_value with the line, for what git itself would not read; too_large over 1 MiB.
[[nodiscard]] Result<std::vector<ConfigEntry>> parse_config(std::string_view text);

/// True for settings with which git runs a program, reads other configuration, or fetches through a
/// helper that does. Settings that every tool writes and that run nothing by themselves (hooksPath,
/// aliases, named credential helpers, the standard filters of Git LFS) are not among them.
[[nodiscard]] bool can_execute(const ConfigEntry& entry);

/// True for a URL that may not be fetched for somebody: another transport than https, ssh and git,
/// a local path or file:, a helper ("ext::"), or text that a command line would take for an option.
/// A relative path ("../sub") stays with the repository's own host and is trusted.
[[nodiscard]] bool is_untrusted_submodule_url(std::string_view url);

}  // namespace cupel::gitfmt
