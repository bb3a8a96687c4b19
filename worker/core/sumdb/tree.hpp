/// The checksum database's log as a tree of hashes. Pure. Sources: RFC 6962, section 2;
/// golang.org/x/mod/sumdb/tlog.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/error.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::sumdb {

/// More records than any log has.
inline constexpr std::uint64_t kTreeSizeMax = 1ULL << 48U;

/// A log at one moment: its first `size` records, in one hash. Never empty.
struct Tree {
  std::uint64_t size = 0;
  Digest root;
  friend bool operator==(const Tree&, const Tree&) = default;
};

/// The text of a signed tree. Lines behind the first three are for others. Errors: bad_value.
[[nodiscard]] Result<Tree> parse_tree(std::string_view text);

/// A complete subtree: the records from index << level on, 1 << level of them.
struct Node {
  unsigned level = 0;
  std::uint64_t index = 0;
  friend auto operator<=>(const Node&, const Node&) = default;
};

/// The complete subtrees that a tree of this size consists of, from left to right.
[[nodiscard]] std::vector<Node> subtrees(std::uint64_t size);

[[nodiscard]] Digest record_hash(std::string_view record);
[[nodiscard]] Digest node_hash(const Digest& left, const Digest& right);
/// From the hashes of subtrees(), at least one, to the root.
[[nodiscard]] Digest root_of(std::span<const Digest> hashes);

/// Digits without a sign or leading zeros, at most `max`.
[[nodiscard]] bool parse_number(std::string_view text, std::uint64_t max, std::uint64_t& number);

}  // namespace cupel::worker::sumdb
