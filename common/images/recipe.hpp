/// How a toolchain image is assembled from a Debian base and the official toolchain, as far as it
/// can be said without touching anything.
#pragma once

#include "common/core/digest.hpp"
#include "common/images/table.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::images {

/// Raised whenever the same base and toolchain would give another image.
inline constexpr unsigned kRecipeVersion = 1;

/// "sha256:..." over base archive, toolchain sum and recipe version.
[[nodiscard]] std::string assembled_identity(const Digest& base_archive,
                                             std::string_view toolchain_h1);

/// Debian packages of the base, beside the essential ones.
[[nodiscard]] std::vector<std::string> base_packages(bool with_cc);

/// "cupel/go:1.26-cc", "cupel/go:1.26-nocc": a name for people, never what a run is created with.
[[nodiscard]] std::pair<std::string, std::string> repository_and_tag(const ImageEntry& entry,
                                                                     bool with_cc);

/// Environment and labels (identity and base among them) that the import applies, in the engine's
/// own notation ("ENV A=b", "LABEL a=b").
[[nodiscard]] std::vector<std::string> import_changes(const ImageEntry& entry, bool with_cc,
                                                      const Digest& base_archive);

/// The mode a file of the toolchain's zip gets ("bin/go" -> 0755). Zips of modules carry no modes.
[[nodiscard]] unsigned toolchain_mode(std::string_view name);

/// One file of a module zip, for `module_zip_h1`.
struct ZipFile {
  std::string name;  ///< As in the zip: "module@version/path".
  Digest sha256;
};

/// "h1:..." as the checksum database and go.sum write it.
[[nodiscard]] std::string module_zip_h1(std::vector<ZipFile> files);

/// A go command's GOPROXY without `direct` and `off`, separators kept. Empty when nothing is left.
[[nodiscard]] std::string proxies_only(std::string_view goproxy);

}  // namespace cupel::images
