/// Which versions a change takes, and why not others. Pure: the caller asks the proxy and knows the
/// time.
#pragma once

#include "common/core/change.hpp"
#include "common/core/scan.hpp"
#include "worker/core/change/semver.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::change {

/// The words that a target's version may be instead of an exact one.
enum class Query : std::uint8_t { exact, patch, minor, latest };
/// Nothing for branches, commits, "upgrade", "v1", ranges: what isn't reproducible or unclear.
[[nodiscard]] std::optional<Query> parse_query(std::string_view version);

/// One version above the current one.
struct Offer {
  std::string version;
  Step step = Step::none;
  std::string why_not;  ///< Empty: eligible.
};

/// What is known about a module that may be upgraded.
struct Offers {
  std::string module;
  std::string current;
  bool direct = false;
  std::vector<Offer> all;  ///< Ascending.

  [[nodiscard]] const Offer* highest_eligible() const;
};

/// Judges every version by policy; publish times come later.
///
/// @param versions  As the version list says, in any order: retracted ones are not in it.
[[nodiscard]] Offers judge_versions(std::string module, std::string current,
                                    const std::vector<std::string>& versions, Query query,
                                    const Upgrade& rules);

/// Versions whose publish time a cooldown needs to know: the highest eligible ones, at most
/// `count`.
[[nodiscard]] std::vector<std::string> ask_times(const Offers& offers, std::size_t count);

/// Makes eligible versions that are too young, or of unknown or future age, ineligible. Versions
/// that nobody asked about (absent from `published`) become ineligible as well.
void apply_cooldown(Offers& offers,
                    const std::map<std::string, std::optional<std::int64_t>>& published,
                    std::int64_t now_s, std::uint64_t min_age_s);

/// Select::smallest: patch before minor before major; the first module by path that has such a
/// step, at its highest version of that step.
[[nodiscard]] std::optional<ModuleTarget> smallest_step(const std::vector<Offers>& offers);

/// Select::vulnerable: what has to be fixed in which module.
struct Fix {
  std::string module;
  std::string needed;  ///< The highest fix among the module's findings.
  VulnLevel level = VulnLevel::module;
  std::vector<std::string> advisories;
};
struct Fixes {
  std::vector<Fix> fixes;          ///< Symbol before package before module, then by path.
  std::vector<std::string> notes;  ///< Findings without a fix, and those of the standard library.
};
[[nodiscard]] Fixes plan_fixes(const std::vector<Vulnerability>& found);
/// The lowest eligible version that is at least `needed`. The cooldown doesn't count for a fix.
[[nodiscard]] const Offer* lowest_fix(const Offers& offers, std::string_view needed);

/// As ChangeFacts tell it: the newest version, the chosen one, and why those above it were not
/// taken.
[[nodiscard]] Candidate candidate_of(const Offers& offers, std::string_view chosen);

}  // namespace cupel::worker::change
