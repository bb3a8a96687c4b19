/// Private to common/wire: words of the closed lists <-> numbers on the wire. The mapping goes by
/// name, so the order of the C++ lists is free; the schema's order is what must never change.
#pragma once

#include "common/core/outcome.hpp"
#include "common/core/settings.hpp"
#include "common/core/task.hpp"

#include <cstdint>
#include <optional>

namespace cupel::wire {

/// The number of a word; every word of ours is in the schema (a test compares the lists).
[[nodiscard]] std::uint16_t wire_number(TaskKind value);
[[nodiscard]] std::uint16_t wire_number(Side value);
[[nodiscard]] std::uint16_t wire_number(CheckKind value);
[[nodiscard]] std::uint16_t wire_number(Stream value);
[[nodiscard]] std::uint16_t wire_number(Outcome value);
[[nodiscard]] std::uint16_t wire_number(Reason value);
[[nodiscard]] std::uint16_t wire_number(FindingKind value);
[[nodiscard]] std::uint16_t wire_number(Ending value);
[[nodiscard]] std::uint16_t wire_number(BuildCache value);
[[nodiscard]] std::uint16_t wire_number(Select value);
[[nodiscard]] std::uint16_t wire_number(VulnLevel value);
[[nodiscard]] std::uint16_t wire_number(CheckParser value);
[[nodiscard]] std::uint16_t wire_number(NotAffected value);
[[nodiscard]] std::uint16_t wire_number(Gate value);

/// Nothing for a number that this version has no word for.
template <typename Value>
[[nodiscard]] std::optional<Value> word_of(std::uint16_t number);

}  // namespace cupel::wire
