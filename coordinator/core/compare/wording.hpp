/// Whether a problem that both sides have says the same on both: what a message says is information
/// (rule C1), and much of it is another in each run of the same code.
#pragma once

#include "coordinator/core/compare/facts.hpp"

#include <span>
#include <string>

namespace cupel::coordinator::compare {

/// The words by which findings are told apart: the signature; of what a program under test printed,
/// without its numbers. Compilers and analysers repeat themselves exactly.
[[nodiscard]] std::string wording_of(const Mark& mark);

enum class Wording : std::uint8_t {
  same,   ///< Or they differ only where the words of one side differ from run to run.
  noise,  ///< A side doesn't even repeat itself so far that its words could be laid side by side.
  other,  ///< Some words are the same in all runs of each side, and others on the other.
};

/// `before`, `after`: what each run of a side said (wording_of(), joined), at least one each. One
/// run shows nothing of what varies, so `other` is worth as much as there are runs.
[[nodiscard]] Wording compare_wording(std::span<const std::string> before,
                                      std::span<const std::string> after);

}  // namespace cupel::coordinator::compare
