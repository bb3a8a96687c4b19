/// Scanners, databases of advisories, and what a scan found.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/outcome.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel {

/// A tool that the tool profile builds: package, version and the module's sum. The pins that Cupel
/// knows are in ops/toolchains.json, by Go minor.
struct ToolPin {
  std::string package;  ///< "example.com/tool/cmd/name"
  std::string module;   ///< Module of `package`.
  std::string version;  ///< Exact.
  std::string sum;      ///< "h1:..." of the module's zip; checked against the binary's build info.
  friend bool operator==(const ToolPin&, const ToolPin&) = default;
};

/// A built tool, from BuildTool. The binary is an artifact.
struct ToolFacts {
  ToolPin tool;
  std::string image;       ///< Identity of the toolchain image.
  std::string go_version;  ///< Of the binary's build info.
  Digest binary;
  std::uint64_t bytes = 0;
  friend bool operator==(const ToolFacts&, const ToolFacts&) = default;
};

/// What an Execute task scans with. Both are artifacts that the lease names: the worker downloads,
/// verifies and keeps them.
struct ScanInput {
  Digest scanner;             ///< ToolFacts::binary.
  std::string version;        ///< Of the scanner, as its stream must say.
  Digest database;            ///< A tar of the database's allowed files.
  std::string database_id;    ///< Digest over sorted "path sha256" lines.
  std::string database_time;  ///< As index/db.json says.
  /// Not `none`: a scan is wanted and there can be none; the check says so with this reason.
  Reason problem = Reason::none;
  std::string message;        ///< Goes with `problem`.
  std::uint64_t limit_s = 0;  ///< Of the scan; 0 = the worker's default.
  /// The check `scan` is part of the task.
  [[nodiscard]] bool wanted() const { return scanner != Digest{} || problem != Reason::none; }
  friend bool operator==(const ScanInput&, const ScanInput&) = default;
};

enum class VulnLevel : std::uint8_t { module, package, symbol };
[[nodiscard]] std::string_view name(VulnLevel value);
template <>
std::optional<VulnLevel> parse_name<VulnLevel>(std::string_view text);
template <>
std::size_t count_of<VulnLevel>();

/// One advisory in one module, at its most precise level. Key: osv and module.
struct Vulnerability {
  std::string osv;
  std::string module;  ///< "stdlib" for the standard library.
  std::string found_version;
  std::string fixed_version;  ///< Empty: there is no fix.
  VulnLevel level = VulnLevel::module;
  std::string package;
  std::string symbol;
  std::string summary;  ///< Untrusted text of the database: one line, at most 200 characters.
  friend bool operator==(const Vulnerability&, const Vulnerability&) = default;
};

/// A conclusive scan; without it the check record and the findings say why there is none.
struct ScanFacts {
  std::string scanner_version;
  std::string database_id;
  std::string database_time;
  std::string go_version;
  std::vector<Vulnerability> vulnerabilities;  ///< Sorted by module, osv; at most 2,000.
  friend bool operator==(const ScanFacts&, const ScanFacts&) = default;
};

}  // namespace cupel
