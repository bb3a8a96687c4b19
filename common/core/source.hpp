/// Where a repository comes from.
#pragma once

#include "common/core/digest.hpp"

#include <string>
#include <variant>

namespace cupel {

struct GitSource {
  std::string url;
  std::string ref;  ///< Branch, tag, full ref name or commit; empty = the remote's HEAD.
  friend bool operator==(const GitSource&, const GitSource&) = default;
};

/// A local path, packed by the client: a git pack of one commit, stored as an artifact.
struct BundleSource {
  Digest artifact;
  std::string commit;  ///< 40 hex digits.
  std::string name;    ///< How people call it (the path that was given).
  friend bool operator==(const BundleSource&, const BundleSource&) = default;
};

struct ModuleSource {
  std::string path;
  std::string version;  ///< Canonical version; a query such as "latest" is resolved in acquire.
  friend bool operator==(const ModuleSource&, const ModuleSource&) = default;
};

using Source = std::variant<GitSource, BundleSource, ModuleSource>;

/// "https://example.com/a.git@main", "path@commit", "module@version".
[[nodiscard]] std::string source_name(const Source& source);

}  // namespace cupel
