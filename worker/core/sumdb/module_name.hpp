/// Names of modules and versions as the file layout of a module proxy writes them: an upper case
/// letter is "!" and the lower case one. Pure. Source: golang.org/x/mod/module.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::worker::sumdb {

struct ModuleVersion {
  std::string path;     ///< "github.com/BurntSushi/toml"
  std::string version;  ///< "v1.3.2": a full version in canonical form, nothing else.
  friend auto operator<=>(const ModuleVersion&, const ModuleVersion&) = default;
  [[nodiscard]] std::string text() const { return path + "@" + version; }
};

/// From the folder above "@v" and the name of a file without its ending, both escaped. Nothing for
/// what can't be a module that is fetched, and for queries such as a branch or "v1".
[[nodiscard]] std::optional<ModuleVersion> parse_escaped(std::string_view folder,
                                                         std::string_view version);

/// A path that the go command would fetch: clean, relative, a host before the first slash.
[[nodiscard]] bool is_module_path(std::string_view path);
/// "v1.2.3", "v1.2.3-pre.1", "v2.0.0+incompatible", pseudo-versions.
[[nodiscard]] bool is_canonical_version(std::string_view version);

[[nodiscard]] std::string escaped(std::string_view text);
/// "github.com/!burnt!sushi/toml/@v/v1.3.2": what the files of a version begin with.
[[nodiscard]] std::string file_stem(const ModuleVersion& module);

}  // namespace cupel::worker::sumdb
