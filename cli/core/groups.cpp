#include "cli/core/groups.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace cupel::cli {
namespace {

/// How the name of a cause begins that is a version of a dependency.
const std::string kDependency = "dependency:";

/// The unit's own finding says more than the comparison, which keeps a message's beginning.
std::string words_of(const json& unit, const json& item) {
  for (const json& finding : list_of(unit, "findings")) {
    const bool same = text_of(finding, "kind") == text_of(item, "kind") &&
                      text_of(finding, "package") == text_of(item, "package") &&
                      text_of(finding, "test") == text_of(item, "test") &&
                      text_of(finding, "message").starts_with(text_of(item, "message"));
    if (same) return text_of(finding, "message");
  }
  return text_of(item, "message");
}

/// "example.com/lib@v1.2.0/x.go" -> "dependency:example.com/lib@v1.2.0": a finding in a
/// dependency's own file. Empty for a file of the unit.
std::string dependency_at(const std::string& file) {
  const std::size_t at = file.find("@v");
  if (at == std::string::npos || at == 0 || at + 2 >= file.size() || file[at + 2] < '0' ||
      file[at + 2] > '9') {
    return {};
  }
  return kDependency + file.substr(0, file.find('/', at));
}

class Causes {
 public:
  explicit Causes(const json& unit) : unit_(unit) {}

  void add(std::string name, const json& item) {
    if (name.empty() || !seen_.insert(name).second) return;
    causes_.push_back({std::move(name), text_of(item, "kind"),
                       first_line(text_of(item, "message"), 200),
                       excerpt_of(words_of(unit_, item))});
  }

  void add_difference(const json& item) {
    if (text_of(item, "fate") != "confirmed") return;
    const json& dependency = member(item, "dependency");
    if (dependency.is_object()) {
      const std::string to = text_of(dependency, "to");
      add(kDependency + text_of(dependency, "module") + "@" + (to.empty() ? "none" : to), item);
    }
    add(text_of(item, "signature"), item);
  }

  void add_finding(const json& finding) {
    const auto kind = parse_name<FindingKind>(text_of(finding, "kind"));
    if (!kind || !is_conclusive(*kind)) return;
    add(dependency_at(text_of(finding, "file")), finding);
    add(text_of(finding, "signature"), finding);
  }

  /// The upgrade that did it, where the fleet searched it among several; or the only one, where
  /// that tells this unit from others.
  void add_upgrade(const json& comparison, bool upgrades_differ) {
    const json& culprit = list_of(member(comparison, "culprit"), "modules");
    const json& resolved = list_of(member(comparison, "change"), "resolved");
    const bool searched = culprit.size() == 1;
    if (!searched && !(upgrades_differ && resolved.size() == 1)) return;
    const json& introduced = list_of(comparison, "introduced");
    const auto news = std::ranges::find_if(
        introduced, [](const json& item) { return text_of(item, "fate") == "confirmed"; });
    if (news == introduced.end()) return;
    const json& one = searched ? culprit[0] : resolved[0];
    add(kDependency + text_of(one, "module") + "@" + text_of(one, "version"), *news);
  }

  void add_reason() {
    const std::string reason = text_of(unit_, "reason");
    causes_.push_back({"reason:" + reason, reason, first_line(message_of(unit_), 200),
                       excerpt_of(message_of(unit_))});
  }

  [[nodiscard]] bool empty() const { return causes_.empty(); }
  std::vector<Cause> take() { return std::move(causes_); }

 private:
  const json& unit_;
  std::vector<Cause> causes_;
  std::set<std::string> seen_;
};

struct Member {
  const json* unit = nullptr;
  std::vector<Cause> causes;
  bool grouped = false;
};

/// The larger first, then dependencies, then by name.
struct Entry {
  std::size_t count = 0;
  std::string name;

  [[nodiscard]] bool is_dependency() const { return name.starts_with(kDependency); }
  friend bool operator<(const Entry& a, const Entry& b) {
    return std::tuple(a.count, a.is_dependency(), std::string_view(b.name)) <
           std::tuple(b.count, b.is_dependency(), std::string_view(a.name));
  }
};

Group group_of(const std::string& name, const std::vector<Member*>& members) {
  Group group;
  group.signature = name;
  for (const Member* member : members) group.units.push_back(unit_name(*member->unit));
  std::ranges::sort(group.units);
  // The same example whatever the order of the results.
  const Member* example = *std::ranges::min_element(
      members, {}, [](const Member* member) { return unit_name(*member->unit); });
  const auto cause = std::ranges::find(example->causes, name, &Cause::name);
  group.kind = cause->kind;
  group.message = cause->message;
  group.excerpt = cause->excerpt;
  group.example = unit_name(*example->unit);
  return group;
}

}  // namespace

bool has_failed(const json& unit) {
  constexpr std::array<std::string_view, 5> kFailed = {"failing", "regressed", "changed_failure",
                                                       "inconclusive", "refused"};
  return std::ranges::find(kFailed, verdict_of(unit)) != kFailed.end();
}

std::string dependency_of(const Group& group) {
  return group.signature.starts_with(kDependency) ? group.signature.substr(kDependency.size()) : "";
}

std::vector<Cause> causes_of(const json& unit, bool upgrades_differ) {
  if (!has_failed(unit)) return {};
  Causes causes(unit);
  const json& comparison = member(unit, "comparison");
  causes.add_upgrade(comparison, upgrades_differ);
  for (const char* list : {"introduced", "altered", "resolved"}) {
    // What went away is a cause only of a failure that nothing new explains.
    if (std::string_view(list) == "resolved" && !causes.empty()) break;
    for (const json& item : list_of(comparison, list)) causes.add_difference(item);
  }
  if (causes.empty()) {
    for (const json& finding : list_of(unit, "findings")) causes.add_finding(finding);
  }
  if (causes.empty()) causes.add_reason();
  return causes.take();
}

std::vector<Group> group_failures(const std::vector<json>& results) {
  std::set<json> upgrades;
  for (const json& unit : results) {
    const json& resolved = list_of(member(member(unit, "comparison"), "change"), "resolved");
    upgrades.insert(resolved.begin(), resolved.end());
  }
  std::vector<Member> members;
  for (const json& unit : results) {
    if (has_failed(unit)) members.push_back({&unit, causes_of(unit, upgrades.size() > 1)});
  }
  std::map<std::string, std::vector<Member*>> by_cause;
  for (Member& member : members) {
    for (const Cause& cause : member.causes) by_cause[cause.name].push_back(&member);
  }
  std::priority_queue<Entry> queue;
  for (const auto& [name, of] : by_cause) queue.push({of.size(), name});
  std::vector<Group> groups;
  while (!queue.empty()) {
    const Entry entry = queue.top();
    queue.pop();
    std::vector<Member*>& left = by_cause.at(entry.name);
    std::erase_if(left, [](const Member* member) { return member->grouped; });
    if (left.empty()) continue;
    if (left.size() < entry.count) {  // Some are in another group by now.
      queue.push({left.size(), entry.name});
      continue;
    }
    for (Member* member : left) member->grouped = true;
    groups.push_back(group_of(entry.name, left));
    groups.back().id = "G" + std::to_string(groups.size());
  }
  return groups;
}

}  // namespace cupel::cli
