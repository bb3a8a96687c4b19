#include "worker/core/sumdb/tiles.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace cupel::worker::sumdb {

namespace {

constexpr std::size_t kHashBytes = 32;

Error bad_tiles(std::string what) {
  return {.code = Errc::bad_value,
          .what = "checksum database: " + std::move(what),
          .detail = {},
          .hint = {}};
}

Error forged(std::string what) {
  return {.code = Errc::artifact_mismatch,
          .what = "checksum database: " + std::move(what),
          .detail = {},
          .hint = {}};
}

/// A node's place: a tile, and the hashes of the tile's lowest row from which it comes.
struct Place {
  Tile tile;
  std::size_t first = 0;
  std::size_t count = 1;
};

Place place_of(const Tree& tree, const Node& node) {
  Place place;
  place.tile.level = node.level / kTileHeight;
  const unsigned above = node.level % kTileHeight;
  const std::uint64_t first = node.index << above;
  place.tile.index = first / kTileWidthMax;
  place.first = first % kTileWidthMax;
  place.count = std::size_t{1} << above;
  const std::uint64_t row = tree.size >> (place.tile.level * kTileHeight);
  const std::uint64_t left = row - place.tile.index * kTileWidthMax;
  place.tile.width = static_cast<unsigned>(std::min<std::uint64_t>(left, kTileWidthMax));
  return place;
}

/// The node that a full tile is the bottom of.
Node top_of(const Tile& tile) {
  return {(tile.level + 1) * kTileHeight, tile.index};
}

bool is_inside(const Tree& tree, const Node& node) {
  return node.level < 64 && node.index < (tree.size >> node.level);
}

Digest hash_at(const std::string& tile, std::size_t first, std::size_t count) {
  if (count == 1) {
    Digest digest;
    const auto begin = tile.begin() + static_cast<std::ptrdiff_t>(first * kHashBytes);
    std::copy(begin, begin + kHashBytes, digest.bytes.begin());
    return digest;
  }
  return node_hash(hash_at(tile, first, count / 2), hash_at(tile, first + count / 2, count / 2));
}

Result<Digest> hash_of(const Tree& tree, const Node& node, const TileData& tiles) {
  const Place place = place_of(tree, node);
  const auto found = tiles.find(place.tile);
  if (found == tiles.end() || found->second.size() != place.tile.bytes()) {
    return bad_tiles(tile_path(place.tile) + " has " +
                     std::to_string(found == tiles.end() ? 0 : found->second.size()) +
                     " bytes, not " + std::to_string(place.tile.bytes()));
  }
  return hash_at(found->second, place.first, place.count);
}

/// The tiles above a tile of the tree, from the nearest one up. A tile that has none above it holds
/// a whole subtree of the right edge, or several.
std::vector<Tile> chain_of(const Tree& tree, Tile tile) {
  std::vector<Tile> chain{tile};
  while (tile.width == kTileWidthMax && is_inside(tree, top_of(tile))) {
    tile = place_of(tree, top_of(tile)).tile;
    chain.push_back(tile);
  }
  return chain;
}

}  // namespace

std::string tile_path(const Tile& tile) {
  std::string number;
  std::uint64_t rest = tile.index;
  do {
    std::string group = std::to_string(rest % 1000);
    group.insert(0, 3 - group.size(), '0');
    number.insert(0, number.empty() ? group : "x" + group + "/");
    rest /= 1000;
  } while (rest > 0);
  std::string path = "tile/8/" + std::to_string(tile.level) + "/" + number;
  if (tile.width < kTileWidthMax) path += ".p/" + std::to_string(tile.width);
  return path;
}

std::vector<Tile> tiles_for(const Tree& tree, const std::vector<Node>& nodes) {
  std::vector<Tile> wanted;
  std::set<Tile> known;
  const auto want = [&](const Tile& tile) {
    if (known.insert(tile).second) wanted.push_back(tile);
  };
  for (const Node& node : subtrees(tree.size)) {
    for (const Tile& tile : chain_of(tree, place_of(tree, node).tile)) want(tile);
  }
  for (const Node& node : nodes) {
    if (!is_inside(tree, node)) continue;
    for (const Tile& tile : chain_of(tree, place_of(tree, node).tile)) want(tile);
  }
  return wanted;
}

Result<std::vector<Digest>> hashes_of(const Tree& tree, const std::vector<Node>& nodes,
                                      const TileData& tiles) {
  // The right edge is what the signed root says.
  std::vector<Digest> edge;
  for (const Node& node : subtrees(tree.size)) {
    auto hash = hash_of(tree, node, tiles);
    if (!hash) return hash.error();
    edge.push_back(*hash);
  }
  if (edge.empty() || root_of(edge) != tree.root) {
    return forged("the tiles are not those of the signed tree");
  }
  // A tile below is what the tile above it says, and the topmost ones are part of the edge.
  for (const Tile& tile : tiles_for(tree, nodes)) {
    const Node top = top_of(tile);
    if (tile.width < kTileWidthMax || !is_inside(tree, top)) continue;
    const auto data = tiles.find(tile);
    if (data == tiles.end() || data->second.size() != tile.bytes()) {
      return bad_tiles(tile_path(tile) + " is not complete");
    }
    auto said = hash_of(tree, top, tiles);
    if (!said) return said.error();
    if (hash_at(data->second, 0, kTileWidthMax) != *said) {
      return forged(tile_path(tile) + " is not of the signed tree");
    }
  }
  std::vector<Digest> hashes;
  for (const Node& node : nodes) {
    if (!is_inside(tree, node)) return bad_tiles("a record beyond the end of the tree");
    auto hash = hash_of(tree, node, tiles);
    if (!hash) return hash.error();
    hashes.push_back(*hash);
  }
  return hashes;
}

Result<void> prove_record(const Tree& tree, std::uint64_t number, std::string_view record,
                          const TileData& tiles) {
  auto hashes = hashes_of(tree, {Node{0, number}}, tiles);
  if (!hashes) return hashes.error();
  if (hashes->front() != record_hash(record)) {
    return forged("record " + std::to_string(number) + " is another one in the signed tree");
  }
  return {};
}

Result<void> prove_prefix(const Tree& older, const Tree& newer, const TileData& tiles) {
  if (older.size > newer.size) return bad_tiles("the tree goes back");
  auto hashes = hashes_of(newer, subtrees(older.size), tiles);
  if (!hashes) return hashes.error();
  if (root_of(*hashes) != older.root) {
    return forged("the signed trees of " + std::to_string(older.size) + " and " +
                  std::to_string(newer.size) + " records contradict each other");
  }
  return {};
}

}  // namespace cupel::worker::sumdb
