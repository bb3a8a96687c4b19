/// Identifiers: 64-bit numbers of distinct types, with a prefix and Crockford base32 as text.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cupel {

/// Lower-case Crockford base32 without leading zeros ("0" for 0).
[[nodiscard]] std::string to_base32(std::uint64_t value);
/// Nothing for an empty, over-long or malformed text.
[[nodiscard]] std::optional<std::uint64_t> from_base32(std::string_view text);

/// 0 means "none".
template <char Prefix>
struct Id {
  std::uint64_t value = 0;

  friend auto operator<=>(const Id&, const Id&) = default;
  explicit operator bool() const { return value != 0; }
  [[nodiscard]] std::string text() const { return std::string{Prefix, '-'} + to_base32(value); }
  [[nodiscard]] static std::optional<Id> parse(std::string_view text) {
    if (text.size() < 3 || text[0] != Prefix || text[1] != '-') return std::nullopt;
    const auto number = from_base32(text.substr(2));
    if (!number || *number == 0) return std::nullopt;
    return Id{*number};
  }
};

using CampaignId = Id<'c'>;
using RepositoryId = Id<'r'>;
using UnitId = Id<'u'>;
using TaskId = Id<'t'>;
using WorkerId = Id<'w'>;  ///< Made once at random in the worker's data directory.
using FleetId = Id<'f'>;   ///< Made once at random in the coordinator's store.

/// The fencing token of an attempt: one fleet-wide sequence that only grows.
struct Token {
  std::uint64_t value = 0;
  friend auto operator<=>(const Token&, const Token&) = default;
};

/// Which start of a worker process: random, new at every start.
struct Incarnation {
  std::uint64_t value = 0;
  friend auto operator<=>(const Incarnation&, const Incarnation&) = default;
};

}  // namespace cupel

template <char Prefix>
struct std::hash<cupel::Id<Prefix>> {
  std::size_t operator()(const cupel::Id<Prefix>& id) const noexcept {
    return std::hash<std::uint64_t>{}(id.value);
  }
};
