/// What a checksum database answers to the question for one version of a module. Pure.
#pragma once

#include "common/core/error.hpp"
#include "worker/core/sumdb/module_name.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace cupel::worker::sumdb {

/// More is no answer to a lookup.
inline constexpr std::size_t kLookupBytesMax = std::size_t{128} * 1024;

/// Nothing of it is proved: the record stands in the signed tree or it doesn't.
struct Lookup {
  std::uint64_t number = 0;  ///< Of the record in the log.
  std::string record;        ///< Its text.
  std::string note;          ///< A signed tree.
};

/// Errors: bad_value.
[[nodiscard]] Result<Lookup> parse_lookup(std::string_view answer);

/// "h1:..." each.
struct ModuleSums {
  std::string zip;
  std::string go_mod;
  friend bool operator==(const ModuleSums&, const ModuleSums&) = default;
};

/// What the record says of this version; it must say it once, and nothing of another. Errors:
/// artifact_mismatch.
[[nodiscard]] Result<ModuleSums> sums_of(std::string_view record, const ModuleVersion& module);

/// "h1:..." of a single file of this name, such as go.mod.
[[nodiscard]] std::string file_h1(std::string_view name, std::string_view content);

}  // namespace cupel::worker::sumdb
