#include "common/campaign/parse_context.hpp"
#include "common/text/units.hpp"

namespace cupel::campaign {
namespace {

/// An upgrade of what is vulnerable has nothing to go by without a scan.
bool needs_scan(const Campaign& campaign) {
  const auto* upgrade = std::get_if<Upgrade>(&campaign.change);
  return upgrade != nullptr && upgrade->select == Select::vulnerable;
}

}  // namespace

void extract_scan(Context& context, const text::Node& root, Campaign& campaign) {
  ScanPlan& scan = campaign.scan;
  scan.enabled = needs_scan(campaign);
  const text::Node* node = child_at(&root, "validate.scan");
  if (node == nullptr) return;
  const bool wanted =
      node->is_scalar() ? node->scalar == "true" : text_at(node, "enabled", "true") == "true";
  if (!wanted && scan.enabled) {
    context.add(*node, Errc::bad_value,
                "validate.scan: an upgrade of what is vulnerable needs the scan");
    return;
  }
  scan.enabled = wanted;
  if (node->is_scalar()) return;
  scan.database = text_at(node, "database");
  scan.place = {node->line, node->column};
  const auto limit = text::parse_duration(text_at(node, "timeout"));
  if (limit && limit->count() > 0) {
    scan.limit_s = static_cast<std::uint64_t>(limit->count() / 1'000'000'000);
  }
  if (const auto artifact = Digest::parse(text_at(node, "snapshot.artifact"))) {
    scan.snapshot =
        ScanSnapshot{*artifact, text_at(node, "snapshot.id"), text_at(node, "snapshot.time")};
  }
  const auto reason = parse_name<Reason>(text_at(node, "refused.reason"));
  if (!reason) return;
  if (*reason == Reason::vulndb_corrupt || *reason == Reason::vulndb_unavailable) {
    scan.problem = *reason;
    scan.message = text_at(node, "refused.message");
  } else {
    context.add(*node, Errc::bad_value,
                "validate.scan.refused: the reason is neither vulndb_corrupt nor "
                "vulndb_unavailable");
  }
}

}  // namespace cupel::campaign
