/// A unit's patch as one mail that `git am` applies: the same bytes for the same content, whenever
/// and wherever it is written.
#pragma once

#include "common/core/time.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cupel::coordinator::compare {

struct MailFacts {
  std::string subject;            ///< One line.
  std::vector<std::string> body;  ///< Lines; what `git am` could misread is indented.
  std::string diff;               ///< Unified, with a/ and b/ names.
  WallTime committed = {};        ///< Of the commit that it applies to; 0 = not known.
};

/// Fixed sender, and the time of the commit that it applies to: a clock would make every copy
/// another one. A diff with carriage returns is carried in base64, since `git am` drops them
/// otherwise.
[[nodiscard]] std::string patch_mail(const MailFacts& facts);

/// What is said about a unit's patch: why, what moved, and the evidence.
/// @param unit        Unit of docs/api.md, with its `comparison`.
/// @param document    Canonical JSON of the campaign.
[[nodiscard]] MailFacts describe_patch(const nlohmann::json& unit, const nlohmann::json& document,
                                       std::string diff);

/// "0007-example.com-group-repo-sub.patch": only [A-Za-z0-9._-], at most 120 bytes.
[[nodiscard]] std::string patch_file_name(std::size_t number, std::string_view repository,
                                          std::string_view dir);

}  // namespace cupel::coordinator::compare
