#include "common/campaign/parse_context.hpp"
#include "common/text/unified_diff.hpp"
#include "common/text/units.hpp"
#include "common/text/utf8.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace cupel::campaign {
namespace {

using text::Node;

constexpr std::array<std::string_view, 5> kKinds = {"none", "upgrade", "go", "replace", "patch"};

/// A module that stands twice would have two answers.
template <typename Item>
void check_twice(Context& context, const Node& list, const std::vector<Item>& items,
                 const std::string& path) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < items.size() && i < list.items.size(); ++i) {
    if (items[i].module.empty() || seen.insert(items[i].module).second) continue;
    context.add(list.items[i], Errc::bad_value,
                at_path(path, "module " + items[i].module + " stands twice"));
  }
}

Upgrade upgrade_of(Context& context, const Node& node) {
  Upgrade upgrade;
  if (node.is_list()) {
    upgrade.modules = targets_at(context, &node, "change.upgrade");
  } else {
    upgrade.modules = targets_at(context, child_at(&node, "modules"), "change.upgrade.modules");
    upgrade.pins = targets_at(context, child_at(&node, "pins"), "change.upgrade.pins");
    upgrade.deny = words_at(&node, "deny");
    std::ranges::sort(upgrade.deny);
    upgrade.allow_major = text_at(&node, "allow_major") == "true";
    upgrade.select = parse_name<Select>(text_at(&node, "select", "named")).value_or(Select::named);
    const auto cooldown = text::parse_duration(text_at(&node, "cooldown"));
    if (cooldown && cooldown->count() >= 0) {
      upgrade.min_age_s = static_cast<std::uint64_t>(cooldown->count() / 1'000'000'000);
    }
  }
  if (upgrade.select != Select::named && !upgrade.modules.empty()) {
    context.add(
        node, Errc::bad_value,
        "change.upgrade: modules don't go with select: " + std::string(name(upgrade.select)));
  }
  return upgrade;
}

/// The one source of a candidate; a LocalPath goes to `local` instead.
void extract_candidate(Context& context, const Node& item, Replace& replace,
                       std::vector<LocalReplacement>& local) {
  const std::string module = text_at(&item, "module");
  const Node* with = child_at(&item, "with");
  if (with == nullptr || !with->is_map()) return;  // reported by the check
  std::vector<std::string_view> given;
  for (const std::string_view key : {"git", "path", "module", "bundle"}) {
    if (!text_at(with, key).empty()) given.push_back(key);
  }
  if (given.size() != 1) {
    context.add(*with, given.empty() ? Errc::missing_key : Errc::bad_value,
                given.empty() ? "change.replace.with: has none of git, path, module"
                              : "change.replace.with: has more than one of git, path, module");
    return;
  }
  const std::string value = text_at(with, given.front());
  const std::string ref = text_at(with, "ref");
  if (!ref.empty() && given.front() != "git" && given.front() != "path") {
    context.add(*with, Errc::bad_value,
                "change.replace.with: ref doesn't go with " + std::string(given.front()));
  }
  if (given.front() == "git") replace.modules.push_back({module, GitSource{value, ref}});
  if (given.front() == "path") {
    local.push_back({module, LocalPath{value, ref}, {with->line, with->column}});
  }
  if (given.front() == "module") {
    const std::size_t at = value.rfind('@');
    if (at == std::string::npos) return;
    replace.modules.push_back({module, ModuleSource{value.substr(0, at), value.substr(at + 1)}});
  }
  if (given.front() == "bundle") {
    replace.modules.push_back(
        {module, BundleSource{Digest::parse(value).value_or(Digest{}), text_at(with, "commit"),
                              text_at(with, "name")}});
  }
}

Replace replace_of(Context& context, const Node& list, std::vector<LocalReplacement>& local) {
  Replace replace;
  std::set<std::string> seen;
  for (const Node& item : list.items) {
    const std::string module = text_at(&item, "module");
    if (!module.empty() && !seen.insert(module).second) {
      context.add(item, Errc::bad_value, "change.replace: module " + module + " stands twice");
    }
    extract_candidate(context, item, replace, local);
  }
  if (list.items.empty()) context.add(list, Errc::bad_value, "change.replace: names no module");
  std::ranges::sort(replace.modules, {}, &Replacement::module);
  std::ranges::sort(local, {}, &LocalReplacement::module);
  return replace;
}

/// What keeps a diff from being applied anywhere.
std::optional<text::DiffFault> fault_of(std::string_view diff) {
  if (const auto bad = text::first_invalid_utf8(diff)) {
    const auto lines = text::lines_with_ends(diff.substr(0, *bad));
    const bool begins = lines.empty() || lines.back().ends_with('\n');
    return text::DiffFault{static_cast<int>(lines.size() + (begins ? 1 : 0)),
                           begins ? 1 : static_cast<int>(lines.back().size() + 1),
                           "not UTF-8, and so nothing that a campaign can hold"};
  }
  const auto parsed = text::read_unified_diff(diff);
  const auto* fault = std::get_if<text::DiffFault>(&parsed);
  return fault == nullptr ? std::nullopt : std::optional(*fault);
}

/// The diff in canonical JSON, where a place in it is one of the text.
ApplyPatch given_patch(Context& context, const Node& node, std::string diff) {
  const auto fault = context.stored || !diff_rule(diff).empty() ? std::nullopt : fault_of(diff);
  if (fault) {
    const std::string at = fault->line == 0 ? "" : "line " + std::to_string(fault->line) + ": ";
    context.add(*child_at(&node, "diff"), Errc::bad_value,
                "change.patch.diff: " + at + fault->text);
  }
  return {std::move(diff)};
}

ApplyPatch patch_of(Context& context, const Node& node) {
  const std::string file = text_at(&node, "file");
  std::string diff = text_at(&node, "diff");
  if (!diff.empty()) return given_patch(context, node, std::move(diff));
  if (file.empty()) {
    context.add(node, Errc::missing_key, "change.patch: \"file\" is missing");
    return {};
  }
  if (context.read_list == nullptr || !*context.read_list) {
    context.add(node, Errc::not_supported, "change.patch: a diff can only be read by the client",
                "submit with 'cupel run', which reads it");
    return {};
  }
  auto text = (*context.read_list)(file);
  if (!text) {
    context.add(node, text.error().code, "change.patch: " + text.error().what, text.error().detail);
    return {};
  }
  if (const std::string wrong = diff_rule(*text); !wrong.empty()) {
    context.add(node, Errc::too_large, "change.patch: " + file + " " + wrong);
  } else if (const auto fault = fault_of(*text)) {
    context.diagnostics.push_back(
        {file, fault->line, fault->column, Errc::bad_value, "change.patch: " + fault->text, ""});
  }
  return {*std::move(text)};
}

void extract_kind(Context& context, const Node& change, Campaign& campaign) {
  std::vector<std::string_view> given;
  for (const std::string_view kind : kKinds) {
    if (child_at(&change, kind) != nullptr) given.push_back(kind);
  }
  if (given.size() > 1) {
    context.add(change, Errc::bad_value,
                "change: has both " + std::string(given[0]) + " and " + std::string(given[1]),
                "one campaign asks one question");
  }
  if (given.empty() || given.front() == "none") return;
  const Node& node = *child_at(&change, given.front());
  if (given.front() == "upgrade") campaign.change = upgrade_of(context, node);
  if (given.front() == "go") {
    campaign.change =
        GoVersionChange{text_at(&node, "version"), text_at(&node, "directive") == "raise"};
  }
  if (given.front() == "replace" && node.is_list()) {
    campaign.change = replace_of(context, node, campaign.local_replacements);
  }
  if (given.front() == "patch") campaign.change = patch_of(context, node);
}

void number(const Node& root, std::string_view path, std::int64_t max, auto& value) {
  const auto parsed = text::parse_integer(text_at(&root, path));
  if (parsed && *parsed >= 0 && *parsed <= max) {
    value = static_cast<std::remove_reference_t<decltype(value)>>(*parsed);
  }
}

}  // namespace

std::vector<ModuleTarget> targets_at(Context& context, const Node* list, const std::string& path) {
  std::vector<ModuleTarget> targets;
  if (list == nullptr || !list->is_list()) return targets;
  for (const Node& item : list->items) {
    targets.push_back({text_at(&item, "module"), text_at(&item, "version")});
  }
  check_twice(context, *list, targets, path);
  std::ranges::sort(targets, {}, &ModuleTarget::module);
  return targets;
}

void check_own_upgrades(Context& context, const Node& root, const Campaign& campaign) {
  const auto* upgrade = std::get_if<Upgrade>(&campaign.change);
  const bool named = upgrade != nullptr && upgrade->select == Select::named;
  const auto own = [](const RepositoryEntry& entry) { return !entry.upgrade.empty(); };
  if (!named) {
    const auto found = std::ranges::find_if(campaign.repositories, own);
    if (found == campaign.repositories.end()) return;
    context.add(found->place.line, found->place.column, Errc::bad_value,
                "repositories: an upgrade of one repository goes with change.upgrade alone",
                "write 'change: {upgrade: {}}'");
    return;
  }
  const auto without = std::ranges::find_if_not(campaign.repositories, own);
  if (!upgrade->modules.empty() || without == campaign.repositories.end()) return;
  const Node* node = child_at(&root, "change.upgrade");
  std::string message = "change.upgrade: names no module";
  if (std::ranges::any_of(campaign.repositories, own)) {
    message += ", and " + entry_name(*without) + " has no upgrade of its own";
  }
  context.add(node == nullptr ? root : *node, Errc::bad_value, message,
              "write '- {module: M, version: V}', or 'select: smallest'");
}

void extract_change(Context& context, const Node& root, Campaign& campaign) {
  const Node* change = root.find("change");
  if (change != nullptr && change->is_scalar()) {
    for (Diagnostic& diagnostic : context.diagnostics) {
      if (diagnostic.line == change->line && diagnostic.column == change->column &&
          diagnostic.hint.empty()) {
        diagnostic.hint = "plain validation is written 'change: {none: {}}'";
      }
    }
  }
  if (change != nullptr && change->is_map()) extract_kind(context, *change, campaign);
  number(root, "confirm.runs", 10, campaign.confirm.runs);
  campaign.confirm.need = campaign.confirm.runs;
  number(root, "confirm.need", 10, campaign.confirm.need);
  if (campaign.confirm.need > campaign.confirm.runs ||
      (campaign.confirm.need == 0 && campaign.confirm.runs > 0)) {
    context.add(*child_at(&root, "confirm"), Errc::bad_value,
                "confirm.need: " + std::to_string(campaign.confirm.need) +
                    " is not between 1 and confirm.runs, " + std::to_string(campaign.confirm.runs));
  }
  number(root, "aa", 100'000, campaign.aa);
  const std::string mode = text_at(&root, "baseline.mode", "auto");
  campaign.baseline = mode == "always" ? Baseline::always
                      : mode == "off"  ? Baseline::off
                                       : Baseline::automatic;
}

}  // namespace cupel::campaign
