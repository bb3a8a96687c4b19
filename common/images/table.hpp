/// The toolchains that Cupel knows: one entry per minor version of Go, edited by hand and never
/// resolved at run time (ops/toolchains.json, compiled in).
#pragma once

#include "common/core/error.hpp"
#include "common/core/scan.hpp"
#include "common/images/go_version.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cupel::images {

/// An image of a registry, by digest.
struct RegistryImage {
  std::string name;    ///< Repository name without a registry host, such as "golang".
  std::string tag;     ///< What the digest was when it was written down; for people.
  std::string digest;  ///< "sha256:..." of the manifest list. Empty: no such form of the entry.
};

/// The official toolchain as the module proxy serves it.
struct ToolchainModule {
  std::string path;
  std::string version;
  std::string h1;          ///< "h1:..." as in go.sum.
  std::string zip_sha256;  ///< Hex digest of the zip itself.
};

struct ImageEntry {
  std::string minor;  ///< "1.26"
  std::string go;     ///< "1.26.8": what the assembled form contains.
  RegistryImage registry;
  ToolchainModule toolchain;
  /// The newest scanner that this toolchain can build; an empty version: none.
  ToolPin scanner = {};
};

/// Ascending by minor, without doubles.
struct Table {
  std::vector<ImageEntry> entries;

  /// By minor ("1.26") or by full version ("1.26.8"); null where there is none.
  [[nodiscard]] const ImageEntry* find(std::string_view version) const;
};

/// Errors: bad_value with the entry and the member.
[[nodiscard]] Result<Table> parse_table(std::string_view text);

/// The table of this build.
[[nodiscard]] const Table& builtin_table();

}  // namespace cupel::images
