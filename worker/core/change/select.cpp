#include "worker/core/change/select.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace cupel::worker::change {
namespace {

constexpr std::size_t kNotesMax = 20;

std::string why_not(const std::string& module, const std::string& version, Step step, Query query,
                    const Upgrade& rules) {
  if (std::ranges::find(rules.deny, module) != rules.deny.end()) return "denied";
  const auto pin = std::ranges::find(rules.pins, module, &ModuleTarget::module);
  if (pin != rules.pins.end() && pin->version != version) return "pinned to " + pin->version;
  if (is_pseudo_version(version)) return "a pseudo-version";
  if (is_pre_release(version)) return "a pre-release";
  const bool too_far = (query == Query::patch && step != Step::patch) ||
                       (query == Query::minor && step == Step::major) ||
                       (step == Step::major && !rules.allow_major);
  if (too_far) return "a " + std::string(name(step)) + " step";
  return {};
}

}  // namespace

std::optional<Query> parse_query(std::string_view version) {
  if (version == "latest") return Query::latest;
  if (version == "minor") return Query::minor;
  if (version == "patch") return Query::patch;
  if (parse_version(version)) return Query::exact;
  return std::nullopt;
}

const Offer* Offers::highest_eligible() const {
  for (const Offer& offer : all | std::views::reverse) {
    if (offer.why_not.empty()) return &offer;
  }
  return nullptr;
}

Offers judge_versions(std::string module, std::string current,
                      const std::vector<std::string>& versions, Query query, const Upgrade& rules) {
  Offers offers;
  offers.module = std::move(module);
  offers.current = std::move(current);
  for (const std::string& version : versions) {
    const Step step = step_between(offers.current, version);
    if (step == Step::none) continue;  // a query, a pin and a fix never downgrade
    offers.all.push_back({version, step, why_not(offers.module, version, step, query, rules)});
  }
  std::ranges::sort(offers.all, [](const Offer& a, const Offer& b) {
    const auto order = compare_versions(a.version, b.version);
    return order != 0 ? order < 0 : a.version < b.version;
  });
  return offers;
}

std::vector<std::string> ask_times(const Offers& offers, std::size_t count) {
  std::vector<std::string> asked;
  for (const Offer& offer : offers.all | std::views::reverse) {
    if (asked.size() >= count) break;
    if (offer.why_not.empty()) asked.push_back(offer.version);
  }
  return asked;
}

void apply_cooldown(Offers& offers,
                    const std::map<std::string, std::optional<std::int64_t>>& published,
                    std::int64_t now_s, std::uint64_t min_age_s) {
  if (min_age_s == 0) return;
  for (Offer& offer : offers.all) {
    if (!offer.why_not.empty()) continue;
    const auto found = published.find(offer.version);
    if (found == published.end()) {
      offer.why_not = "its publish time was not asked for: newer versions came first";
    } else if (!found->second) {
      offer.why_not = "its publish time is unknown";
    } else if (*found->second > now_s) {
      offer.why_not = "its publish time is in the future";
    } else if (static_cast<std::uint64_t>(now_s - *found->second) < min_age_s) {
      const auto age = static_cast<std::uint64_t>(now_s - *found->second);
      offer.why_not = "published " + std::to_string(age / 3600) + " h ago, and the cooldown is " +
                      std::to_string(min_age_s / 3600) + " h";
    }
  }
}

std::optional<ModuleTarget> smallest_step(const std::vector<Offers>& offers) {
  std::vector<const Offers*> by_path;
  by_path.reserve(offers.size());
  for (const Offers& one : offers) by_path.push_back(&one);
  std::ranges::sort(by_path, {}, [](const Offers* one) { return one->module; });
  for (const Step step : {Step::patch, Step::minor, Step::major}) {
    for (const Offers* one : by_path) {
      for (const Offer& offer : one->all | std::views::reverse) {
        if (offer.step == step && offer.why_not.empty()) {
          return ModuleTarget{one->module, offer.version};
        }
      }
    }
  }
  return std::nullopt;
}

Fixes plan_fixes(const std::vector<Vulnerability>& found) {
  std::map<std::string, Fix> by_module;
  Fixes plan;
  const auto note = [&](const Vulnerability& one, const char* why) {
    if (plan.notes.size() < kNotesMax) {
      plan.notes.push_back(one.osv + " in " + one.module + ' ' + one.found_version + ": " + why);
    }
  };
  for (const Vulnerability& one : found) {
    if (one.module == "stdlib" || one.module == "toolchain" || one.module.empty()) {
      note(one, "the toolchain's own: another Go version fixes it, no module does");
      continue;
    }
    if (!parse_version(one.fixed_version)) {
      note(one, "there is no fixed version");
      continue;
    }
    Fix& fix = by_module[one.module];
    fix.module = one.module;
    if (fix.needed.empty() || compare_versions(fix.needed, one.fixed_version) < 0) {
      fix.needed = one.fixed_version;
    }
    fix.level = std::max(fix.level, one.level);
    fix.advisories.push_back(one.osv);
  }
  for (auto& [module, fix] : by_module) plan.fixes.push_back(std::move(fix));
  std::ranges::sort(plan.fixes, [](const Fix& a, const Fix& b) {
    return a.level != b.level ? a.level > b.level : a.module < b.module;
  });
  return plan;
}

const Offer* lowest_fix(const Offers& offers, std::string_view needed) {
  for (const Offer& offer : offers.all) {
    if (offer.why_not.empty() && compare_versions(offer.version, needed) >= 0) return &offer;
  }
  return nullptr;
}

Candidate candidate_of(const Offers& offers, std::string_view chosen) {
  Candidate candidate;
  candidate.module = offers.module;
  candidate.current = offers.current;
  candidate.chosen = chosen;
  if (!offers.all.empty()) candidate.latest = offers.all.back().version;
  for (const Offer& offer : offers.all | std::views::reverse) {
    if (offer.version == chosen || candidate.notes.size() >= kNotesMax) break;
    if (!offer.why_not.empty()) candidate.notes.push_back(offer.version + ": " + offer.why_not);
  }
  return candidate;
}

}  // namespace cupel::worker::change
