/// Where a repository comes from, in few bytes: a fleet may hold a million of them while their
/// tasks wait.
#pragma once

#include "common/campaign/campaign.hpp"
#include "common/core/task.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cupel::coordinator {

/// Only its name is needed: nothing is acquired for it.
struct RefusedName {
  std::string name;
};

struct RepositorySource {
  std::variant<Source, RefusedName> source;
  std::vector<std::string> subdirs;

  [[nodiscard]] std::string name() const;
  /// Without what changes from commit to commit: "https://example.com/a.git", "path", "module".
  [[nodiscard]] std::string repository() const;
};

[[nodiscard]] RepositorySource source_of_entry(const campaign::RepositoryEntry& entry);
/// As RepositoryRow keeps it. What can't be read becomes an empty git source.
[[nodiscard]] RepositorySource source_of_row(const std::string& text,
                                             std::vector<std::string> subdirs);
/// For RepositoryRow::source.
[[nodiscard]] std::string row_source(const campaign::RepositoryEntry& entry);

void append_source(std::string& text, const RepositorySource& source);
/// `piece`: what one append_source() has added.
[[nodiscard]] RepositorySource read_source(std::string_view piece);

}  // namespace cupel::coordinator
