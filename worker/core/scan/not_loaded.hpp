/// What a scan by itself does not see: modules that go.mod requires and no scanned package imports,
/// and modules replaced by a folder (they have no version that a database could know). Pure.
#pragma once

#include "worker/core/scan/stream.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::scan {

/// A half-open range [introduced, fixed); an empty `fixed` has no end.
struct AffectedRange {
  std::string introduced;  ///< "0" = from the beginning.
  std::string fixed;
};

/// One advisory about one module.
struct ModuleAdvisory {
  std::string osv;
  std::vector<AffectedRange> ranges;  ///< Empty: every version.
};

/// Advisories about the modules that a unit requires, by module path.
using Advisories = std::map<std::string, std::vector<ModuleAdvisory>, std::less<>>;

/// What ID/<osv>.json says about `module`; nothing where it is withdrawn, says nothing about it, or
/// can't be read (the database was checked when it was taken).
[[nodiscard]] std::vector<ModuleAdvisory> advisories_about(std::string_view module,
                                                           std::string_view osv_json);

struct Required {
  std::string path;
  std::string version;
  std::string replaced_by;  ///< Folder or module that go.mod puts in its place; empty = itself.
  bool replaced_by_folder = false;
};

/// Notes, sorted: "required_not_loaded: M@V: OSV, OSV" for a required module that is not among
/// `scanned` and that an advisory is about, "replaced_not_scanned: M: ./dir" for one replaced by a
/// folder. At most kNotLoadedNotesMax.
[[nodiscard]] std::vector<std::string> not_loaded_notes(const std::vector<Required>& required,
                                                        const std::vector<ScannedModule>& scanned,
                                                        const Advisories& advisories);
inline constexpr std::size_t kNotLoadedNotesMax = 100;

/// True when the version is in one of the ranges; a version that is none is taken to be affected.
[[nodiscard]] bool is_affected(const ModuleAdvisory& advisory, std::string_view version);

}  // namespace cupel::worker::scan
