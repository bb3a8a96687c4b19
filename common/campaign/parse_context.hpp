/// What the steps of the parser share: where they are and what they found wrong.
#pragma once

#include "common/campaign/campaign.hpp"
#include "common/campaign/grammar.hpp"
#include "common/campaign/parse.hpp"
#include "common/text/document.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::campaign {

struct Context {
  std::string file;
  bool json = false;    ///< Canonical JSON: keys of the client are allowed.
  bool stored = false;  ///< Was accepted once, perhaps by a version that looked less closely.
  const ListReader* read_list = nullptr;
  std::vector<Diagnostic> diagnostics;

  void add(int line, int column, Errc code, std::string message, std::string hint = "") {
    diagnostics.push_back({file, line, column, code, std::move(message), std::move(hint)});
  }
  void add(const text::Node& node, Errc code, std::string message, std::string hint = "") {
    add(node.line, node.column, code, std::move(message), std::move(hint));
  }
};

/// Checks a mapping against a section of the grammar: unknown keys, shapes, bounds, rules, required
/// keys, words that this version can't honour. Afterwards extraction meets no surprise.
void check_section(Context& context, const text::Node& node, const Key& section,
                   const std::string& path);

/// "path: message".
[[nodiscard]] std::string at_path(const std::string& path, const std::string& message);

/// The campaign of a checked document. Faults that concern several keys are added to the context;
/// the result counts only when there are none.
[[nodiscard]] Campaign extract(Context& context, const text::Node& root);

/// The entries of `repositories`, with the lines of list files read through the context.
[[nodiscard]] std::vector<RepositoryEntry> extract_repositories(Context& context,
                                                                const text::Node* list);

/// The items of a list of {module, version}, sorted; a module that stands twice is a fault.
[[nodiscard]] std::vector<ModuleTarget> targets_at(Context& context, const text::Node* list,
                                                   const std::string& path);

/// Fills what the file says about the change and how it is proven (extract_change.cpp).
void extract_change(Context& context, const text::Node& root, Campaign& campaign);

/// Whether the repositories' own upgrades go with the campaign's change; after both.
void check_own_upgrades(Context& context, const text::Node& root, const Campaign& campaign);

/// What it says about the scan (extract_scan.cpp); after the change.
void extract_scan(Context& context, const text::Node& root, Campaign& campaign);

/// Descends by key; nullptr where something on the way is absent or null.
[[nodiscard]] const text::Node* child_at(const text::Node* node, std::string_view dotted);
/// The text of a scalar child, else `fallback`.
[[nodiscard]] std::string text_at(const text::Node* node, std::string_view dotted,
                                  const std::string& fallback = "");
[[nodiscard]] std::vector<std::string> words_at(const text::Node* node, std::string_view dotted);

}  // namespace cupel::campaign
