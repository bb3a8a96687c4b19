/// What the Go linker wrote into a program about itself (the section .go.buildinfo), read from the
/// bytes of the file without running anything. Pure.
#pragma once

#include "common/core/error.hpp"
#include "common/core/scan.hpp"

#include <map>
#include <string>
#include <string_view>

namespace cupel::worker::scan {

struct BuildInfo {
  std::string go_version;  ///< "go1.26.8"
  std::string package;     ///< Of the main package.
  std::string module;      ///< Of the main module, with version and sum as built.
  std::string version;
  std::string sum;
  bool replaced = false;  ///< The main module or a dependency was put in place by a replace line.
  std::map<std::string, std::string>
      settings;  ///< "-trimpath" -> "true", "CGO_ENABLED" -> "0", ...
};

/// 64-bit little-endian ELF of Go 1.18 or later. Every offset is checked. Errors: bad_value.
[[nodiscard]] Result<BuildInfo> read_build_info(std::string_view file);

/// Why this is not the tool of the pin, built as the tool profile builds: another package, module,
/// version, sum or Go version, something replaced, not -trimpath, with cgo, for another system.
/// Empty when it is. `go_version` is the image's, such as "1.26.8".
[[nodiscard]] std::string why_not_pinned(const BuildInfo& info, const ToolPin& pin,
                                         std::string_view go_version);

}  // namespace cupel::worker::scan
