/// The campaign file: text to values with every fault named, and the canonical JSON that is stored,
/// digested and sent. Pure: files are read by a callback.
#pragma once

#include "common/campaign/campaign.hpp"
#include "common/core/digest.hpp"
#include "common/core/error.hpp"
#include "common/text/diagnostic.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::campaign {

using text::Diagnostic;

/// Reads what `- file: repos.txt` names, relative to the campaign file; at most
/// kCampaignFileBytesMax.
using ListReader = std::function<Result<std::string>(const std::string& path)>;

/// Either a campaign (and no diagnostics) or at least one diagnostic.
struct ParsedCampaign {
  std::optional<Campaign> campaign;
  std::vector<Diagnostic> diagnostics;  ///< In the order of the file; at most 100.

  explicit operator bool() const { return campaign.has_value(); }
};

/// Parses a campaign file. `file_name` is only for the diagnostics. Without `read_list` a `- file:`
/// source is refused: a coordinator gets what the client has resolved.
[[nodiscard]] ParsedCampaign parse_yaml(std::string_view yaml, const std::string& file_name,
                                        const ListReader& read_list = {});

/// The one byte form of a campaign: keys sorted, no white space, every default written out. It is
/// itself a valid campaign file (but for `bundle` and `refused` sources).
[[nodiscard]] std::string to_canonical_json(const Campaign& campaign);

/// SHA-256 of to_canonical_json(): what every report names.
[[nodiscard]] Digest digest_of(const Campaign& campaign);

/// Reads canonical JSON, or any JSON in the grammar of the campaign file; the same checks as for
/// YAML.
[[nodiscard]] ParsedCampaign parse_json(std::string_view json,
                                        const std::string& file_name = "campaign.json");

/// parse_json for text that was canonical once (the store's). Errors: Errc::bad_value with all
/// diagnostics as detail.
[[nodiscard]] Result<Campaign> from_canonical_json(std::string_view json);

/// How people call an entry: source_name() or the path.
[[nodiscard]] std::string entry_name(const RepositoryEntry& entry);

}  // namespace cupel::campaign
