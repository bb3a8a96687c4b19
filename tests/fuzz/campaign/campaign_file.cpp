// The campaign file, as YAML and as JSON: never a crash, either a campaign or a diagnostic, and
// what was understood survives its canonical form.
#include "common/campaign/parse.hpp"

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

void check(const cupel::campaign::ParsedCampaign& parsed) {
  if (parsed.campaign.has_value() != parsed.diagnostics.empty()) std::abort();
  if (!parsed) return;
  const std::string canonical = cupel::campaign::to_canonical_json(*parsed.campaign);
  const auto again = cupel::campaign::from_canonical_json(canonical);
  if (!again || !(*again == *parsed.campaign)) std::abort();
  if (cupel::campaign::to_canonical_json(*again) != canonical) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const cupel::campaign::ListReader reader =
      [text](const std::string&) -> cupel::Result<std::string> {
    return std::string(text.substr(text.size() / 2));
  };
  check(cupel::campaign::parse_yaml(text, "campaign.yaml", reader));
  check(cupel::campaign::parse_json(text));
  return 0;
}
