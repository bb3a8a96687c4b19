#include "common/campaign/parse.hpp"

#include "common/campaign/parse_context.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cupel::campaign {
namespace {

constexpr std::size_t kDiagnosticsMax = 100;

/// In the order of the campaign file, then that of list files; what is too much becomes a count.
std::vector<Diagnostic> in_order(std::vector<Diagnostic> all, const std::string& file) {
  std::ranges::sort(all, [&file](const Diagnostic& a, const Diagnostic& b) {
    if ((a.file == file) != (b.file == file)) return a.file == file;
    if (a.file != b.file) return a.file < b.file;
    return std::tie(a.line, a.column, a.message) < std::tie(b.line, b.column, b.message);
  });
  if (all.size() > kDiagnosticsMax) {
    const std::size_t more = all.size() - kDiagnosticsMax + 1;
    all.resize(kDiagnosticsMax - 1);
    all.push_back({file, 0, 0, Errc::bad_value, "and " + std::to_string(more) + " more", ""});
  }
  return all;
}

ParsedCampaign parse_document(text::Document document, Context context) {
  context.diagnostics = std::move(document.faults);
  Campaign campaign;
  if (document.root && document.root->is_map()) {
    check_section(context, *document.root, grammar(), "");
    campaign = extract(context, *document.root);
  } else if (document.root) {
    context.add(*document.root, Errc::bad_value, "a campaign file is a mapping of keys",
                "'cupel init' writes one to begin with");
  } else if (context.diagnostics.empty()) {
    context.add(0, 0, Errc::bad_value, "the file is empty",
                "'cupel init' writes one to begin with");
  }
  if (context.diagnostics.empty()) return {std::move(campaign), {}};
  return {std::nullopt, in_order(std::move(context.diagnostics), context.file)};
}

}  // namespace

ParsedCampaign parse_yaml(std::string_view yaml, const std::string& file_name,
                          const ListReader& read_list) {
  return parse_document(text::read_yaml(yaml, file_name),
                        {.file = file_name, .read_list = &read_list, .diagnostics = {}});
}

ParsedCampaign parse_json(std::string_view json, const std::string& file_name) {
  return parse_document(text::read_json(json, file_name),
                        {.file = file_name, .json = true, .diagnostics = {}});
}

Result<Campaign> from_canonical_json(std::string_view json) {
  const std::string file_name = "campaign.json";
  ParsedCampaign parsed =
      parse_document(text::read_json(json, file_name),
                     {.file = file_name, .json = true, .stored = true, .diagnostics = {}});
  if (parsed) return std::move(*parsed.campaign);
  return Error{Errc::bad_value, "not a campaign", capped_detail(text::render(parsed.diagnostics)),
               ""};
}

}  // namespace cupel::campaign
