/// Tiles: the pieces in which a checksum database hands out the hashes of its tree, and what can be
/// proved with them. Pure; whoever fetches them asks here which, and hands back their bytes.
/// Source: https://research.swtch.com/tlog, "Tiling a Log"; height 8.
#pragma once

#include "worker/core/sumdb/tree.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::sumdb {

inline constexpr unsigned kTileHeight = 8;
inline constexpr unsigned kTileWidthMax = 1U << kTileHeight;

/// `width` hashes of level `level` * 8, from `index` * 256 on. Narrower than 256 only at the right
/// edge of a tree.
struct Tile {
  unsigned level = 0;
  std::uint64_t index = 0;
  unsigned width = kTileWidthMax;
  friend auto operator<=>(const Tile&, const Tile&) = default;
  [[nodiscard]] std::size_t bytes() const { return std::size_t{width} * 32; }
};

/// "tile/8/0/x001/234.p/5".
[[nodiscard]] std::string tile_path(const Tile& tile);

using TileData = std::map<Tile, std::string>;

/// What has to be fetched to know the hashes of these nodes for sure, none outside of the tree.
[[nodiscard]] std::vector<Tile> tiles_for(const Tree& tree, const std::vector<Node>& nodes);

/// The hashes of the nodes, after every tile has been proved to belong to the tree. Errors:
/// bad_value (a tile is missing or has another size, a node is outside), artifact_mismatch (a tile
/// is not of this tree).
[[nodiscard]] Result<std::vector<Digest>> hashes_of(const Tree& tree,
                                                    const std::vector<Node>& nodes,
                                                    const TileData& tiles);

/// Is this the record with that number? Tiles: tiles_for(tree, {{0, number}}). Errors: as above;
/// artifact_mismatch also for another record.
[[nodiscard]] Result<void> prove_record(const Tree& tree, std::uint64_t number,
                                        std::string_view record, const TileData& tiles);

/// Does the newer tree begin with the older one? Tiles: tiles_for(newer, subtrees(older.size)).
/// Errors: as above; artifact_mismatch also for a log that was rewritten.
[[nodiscard]] Result<void> prove_prefix(const Tree& older, const Tree& newer,
                                        const TileData& tiles);

}  // namespace cupel::worker::sumdb
