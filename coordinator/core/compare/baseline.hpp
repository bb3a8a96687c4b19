/// Before sides that outlive their campaign: which are worth keeping, for how long, and by which
/// name another campaign finds one.
#pragma once

#include "common/core/settings.hpp"
#include "common/core/time.hpp"
#include "coordinator/core/compare/conclude.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cupel::coordinator::compare {

/// What the result of a before side depends on and is known before it is run. What the worker finds
/// out (engine, wrapper, parser, proxy) stands in the run's conditions and must be equal to the
/// after side's, or the before side is run after all.
struct BaselineKey {
  std::string tree;   ///< Of the snapshot that execute sees.
  std::string dir;    ///< Of the unit.
  std::string image;  ///< Its identity.
  const ValidationSettings* settings = nullptr;
};

/// Digest, hex; empty where something of the key isn't known.
[[nodiscard]] std::string baseline_name(const BaselineKey& key);

/// The text for the store; empty for a book whose before side is not to be taken over: it isn't
/// conclusive, its repeats disagree (`conclusion`, where there is one), or it is too large.
[[nodiscard]] std::string baseline_text(const Book& book, const Conclusion* conclusion);

/// How long it holds, by what the first run of the before side says: tests depend on time and place
/// more than compilers do, and what the sandbox probably did may be mended any time.
[[nodiscard]] Duration baseline_lifetime(const Book& book);

/// Puts a stored before side in place of a first run. False, and nothing changes: the text isn't
/// one, or the book has a before side.
[[nodiscard]] bool take_baseline(Book& book, std::string_view text);

}  // namespace cupel::coordinator::compare
