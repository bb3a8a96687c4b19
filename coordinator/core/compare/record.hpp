/// What the API and reports say about a unit of a campaign with a change. Written once, with the
/// verdict; the shape is in docs/api.md (`comparison` of a unit).
#pragma once

#include "coordinator/core/compare/conclude.hpp"

#include <nlohmann/json_fwd.hpp>

namespace cupel::coordinator::compare {

/// Whether a patch may be taken: said apart from the verdict.
enum class PatchState : std::uint8_t {
  none,      ///< There is nothing to apply, or the verdict is not one to apply a patch on.
  ready,     ///< compatible or fixed, no gate, and the last look at it found nothing.
  withheld,  ///< A gate, or a verdict that forbids it.
};
[[nodiscard]] std::string_view name(PatchState state);
[[nodiscard]] PatchState patch_state(Verdict verdict, const Book& book);

/// `conclusion` may be nullptr: the unit ended before its sides could be compared.
[[nodiscard]] nlohmann::json record_of(const Book& book, Verdict verdict,
                                       const Conclusion* conclusion);

}  // namespace cupel::coordinator::compare
