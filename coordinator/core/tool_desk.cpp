#include "coordinator/core/tool_desk.hpp"

#include <algorithm>

namespace cupel::coordinator {

ToolEntry& ToolDesk::entry(const std::string& image, const ToolPin& pin) {
  ToolEntry& entry = entries_[image];
  entry.image = image;
  if (!(entry.pin == pin)) {
    // Another version of Cupel pinned another tool.
    entry.pin = pin;
    entry.tool.reset();
    entry.problem = Reason::none;
  }
  return entry;
}

const ToolEntry* ToolDesk::find(const std::string& image) const {
  const auto found = entries_.find(image);
  return found == entries_.end() ? nullptr : &found->second;
}

bool ToolDesk::settled(const std::string& image, const ToolPin& pin, TimePoint now) const {
  const ToolEntry* known = find(image);
  if (known == nullptr || !(known->pin == pin)) return false;
  return known->tool.has_value() || (known->problem != Reason::none && now < known->again);
}

bool ToolDesk::conclude(ToolEntry& entry, TimePoint now) {
  const bool over = !entry.builds.empty() && std::ranges::all_of(entry.builds, [](const auto& one) {
    return one.task == kNoHandle;
  });
  if (!over) return false;
  const ToolFacts* first = nullptr;
  const ToolBuild* failed = nullptr;
  bool agree = true;
  for (const ToolBuild& build : entry.builds) {
    if (!build.facts) {
      failed = &build;
    } else if (first == nullptr) {
      first = &*build.facts;
    } else if (build.facts->binary != first->binary) {
      agree = false;
      entry.message =
          "two workers built different programs (sha256:" + first->binary.hex().substr(0, 16) +
          ", sha256:" + build.facts->binary.hex().substr(0, 16) + ")";
    }
  }
  entry.tool.reset();
  entry.problem = Reason::none;
  if (first != nullptr && agree) {
    entry.tool = *first;
    entry.message.clear();
  } else {
    entry.problem = Reason::scan_failed;
    if (first == nullptr && failed != nullptr) {
      entry.message = failed->failure;
      if (failed->reason == Reason::upstream) entry.problem = Reason::upstream;
    }
    entry.again = now + kRetryAfter;
  }
  entry.builds.clear();
  return true;
}

void ToolDesk::restore(const ToolFacts& facts) {
  ToolEntry& known = entry(facts.image, facts.tool);
  known.tool = facts;
}

ToolBuild* build_of(ToolDesk& desk, Handle task, ToolEntry** entry) {
  for (auto& [image, one] : desk.all()) {
    for (ToolBuild& build : one.builds) {
      if (build.task != task) continue;
      *entry = &one;
      return &build;
    }
  }
  return nullptr;
}

}  // namespace cupel::coordinator
