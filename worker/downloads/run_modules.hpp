/// What lies in a run's module cache, whose every byte a container wrote: names are checked, links
/// are never followed. Blocking.
#pragma once

#include "common/core/error.hpp"
#include "common/fs/beneath.hpp"
#include "worker/core/sumdb/module_name.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace cupel::worker {

struct RunModule {
  sumdb::ModuleVersion module;
  bool go_mod = false;
  bool zip = false;
};

class RunModules {
 public:
  static constexpr std::size_t kEntriesMax = 200'000;

  /// Errors: not_found (no download directory), io_error.
  [[nodiscard]] static Result<RunModules> open(const std::filesystem::path& modcache);

  /// Exact versions with a .mod or .zip, by name; at most `entries_max` directory entries are
  /// looked at.
  [[nodiscard]] std::vector<RunModule> list(std::size_t entries_max = kEntriesMax) const;

  /// "mod" or "zip" of a version, to read. Errors: not_found, bad_value (a link on the way).
  [[nodiscard]] Result<fs::Fd> open_file(const sumdb::ModuleVersion& module,
                                         const std::string& ending) const;

 private:
  explicit RunModules(fs::Fd root) : root_(std::move(root)) {}
  fs::Fd root_;  ///< cache/download
};

}  // namespace cupel::worker
