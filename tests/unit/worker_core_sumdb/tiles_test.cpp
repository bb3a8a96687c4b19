#include "worker/core/sumdb/tiles.hpp"

#include "tests/unit/worker_core_sumdb/recorded.hpp"

#include <gtest/gtest.h>

namespace cupel::worker::sumdb {
namespace {

constexpr std::uint64_t kErrorsRecord = 706716;

Tree newer_tree() {
  return tree_in(recorded("latest"));
}
Tree older_tree() {
  return tree_in(parse_lookup(recorded_lookup())->note);
}
std::string errors_record() {
  return parse_lookup(recorded_lookup())->record;
}

TEST(TilePath, IsWrittenAsServersKnowIt) {
  EXPECT_EQ(tile_path({0, 0, 256}), "tile/8/0/000");
  EXPECT_EQ(tile_path({1, 1106, 167}), "tile/8/1/x001/106.p/167");
  EXPECT_EQ(tile_path({0, 1234067, 1}), "tile/8/0/x001/x234/067.p/1");
}

TEST(Subtrees, MakeUpTheTree) {
  EXPECT_EQ(subtrees(1), (std::vector<Node>{{0, 0}}));
  EXPECT_EQ(subtrees(7), (std::vector<Node>{{2, 0}, {1, 2}, {0, 6}}));
  EXPECT_EQ(subtrees(256), (std::vector<Node>{{8, 0}}));
  EXPECT_TRUE(subtrees(0).empty());
}

TEST(ProveRecord, ProvesTheRecordInBothRecordedTrees) {
  for (const Tree& tree : {older_tree(), newer_tree()}) {
    const auto tiles = recorded_tiles(tiles_for(tree, {{0, kErrorsRecord}}));
    const auto proved = prove_record(tree, kErrorsRecord, errors_record(), tiles);
    EXPECT_TRUE(proved) << proved.error().text();
  }
}

TEST(ProveRecord, RefusesAnotherTextAndAnotherNumber) {
  const Tree tree = newer_tree();
  std::string record = errors_record();
  record[record.find("h1:") + 3] = 'X';
  const auto tiles = recorded_tiles(tiles_for(tree, {{0, kErrorsRecord}}));
  EXPECT_EQ(prove_record(tree, kErrorsRecord, record, tiles).error().code, Errc::artifact_mismatch);
  EXPECT_EQ(prove_record(tree, kErrorsRecord + 1, errors_record(), tiles).error().code,
            Errc::artifact_mismatch);
  EXPECT_EQ(prove_record(tree, tree.size, errors_record(), tiles).error().code, Errc::bad_value);
}

TEST(ProveRecord, RefusesEachTileThatWasCutOrLeftOut) {
  const Tree tree = newer_tree();
  const auto wanted = tiles_for(tree, {{0, kErrorsRecord}});
  const auto tiles = recorded_tiles(wanted);
  ASSERT_EQ(tiles.size(), wanted.size());
  for (const Tile& tile : wanted) {
    auto cut = tiles;
    cut.at(tile).pop_back();
    EXPECT_EQ(prove_record(tree, kErrorsRecord, errors_record(), cut).error().code, Errc::bad_value)
        << tile_path(tile);
    cut.erase(tile);
    EXPECT_FALSE(prove_record(tree, kErrorsRecord, errors_record(), cut)) << tile_path(tile);
  }
}

TEST(ProveRecord, RefusesEachTileInWhichOneByteWasChanged) {
  const Tree tree = newer_tree();
  const auto wanted = tiles_for(tree, {{0, kErrorsRecord}});
  const auto tiles = recorded_tiles(wanted);
  for (const Tile& tile : wanted) {
    for (const std::size_t at : {std::size_t{0}, tile.bytes() / 2, tile.bytes() - 1}) {
      auto changed = tiles;
      changed.at(tile)[at] = static_cast<char>(changed.at(tile)[at] ^ 1);
      EXPECT_EQ(prove_record(tree, kErrorsRecord, errors_record(), changed).error().code,
                Errc::artifact_mismatch)
          << tile_path(tile) << " at " << at;
    }
  }
}

TEST(ProvePrefix, FindsTheOlderRecordedTreeInTheNewerOne) {
  const auto tiles = recorded_tiles(tiles_for(newer_tree(), subtrees(older_tree().size)));
  const auto proved = prove_prefix(older_tree(), newer_tree(), tiles);
  EXPECT_TRUE(proved) << proved.error().text();
}

TEST(ProvePrefix, RefusesALogThatWasRewritten) {
  Tree other = older_tree();
  other.root.bytes[0] ^= 1U;
  const auto tiles = recorded_tiles(tiles_for(newer_tree(), subtrees(other.size)));
  EXPECT_EQ(prove_prefix(other, newer_tree(), tiles).error().code, Errc::artifact_mismatch);
  Tree shorter = older_tree();
  shorter.size -= 1;
  const auto more = recorded_tiles(tiles_for(newer_tree(), subtrees(shorter.size)));
  EXPECT_FALSE(prove_prefix(shorter, newer_tree(), more));
}

TEST(ProvePrefix, RefusesATreeThatGoesBack) {
  EXPECT_FALSE(prove_prefix(newer_tree(), older_tree(), {}));
}

/// Trees of every small size, made here, so that edges of all shapes are met.
TEST(HashesOf, AgreesWithTheDefinitionForSmallTrees) {
  constexpr std::uint64_t kSizes[] = {1, 2, 3, 255, 256, 257, 511, 512, 600, 65536, 65537, 66000};
  for (const std::uint64_t size : kSizes) {
    std::vector<std::vector<Digest>> rows(1);
    for (std::uint64_t i = 0; i < size; ++i) rows[0].push_back(record_hash(std::to_string(i)));
    while (rows.back().size() > 1) {
      std::vector<Digest> next;
      for (std::size_t i = 0; i + 1 < rows.back().size(); i += 2) {
        next.push_back(node_hash(rows.back()[i], rows.back()[i + 1]));
      }
      rows.push_back(std::move(next));
    }
    Tree tree{.size = size, .root = {}};
    std::vector<Digest> edge;
    for (const Node& node : subtrees(size)) edge.push_back(rows.at(node.level).at(node.index));
    tree.root = root_of(edge);
    for (const std::uint64_t number : {std::uint64_t{0}, size / 2, size - 1}) {
      TileData tiles;
      for (const Tile& tile : tiles_for(tree, {{0, number}})) {
        std::string bytes;
        for (unsigned i = 0; i < tile.width; ++i) {
          const auto& hash = rows.at(tile.level * 8).at(tile.index * 256 + i).bytes;
          bytes.append(hash.begin(), hash.end());
        }
        tiles.emplace(tile, std::move(bytes));
      }
      const auto proved = prove_record(tree, number, std::to_string(number), tiles);
      EXPECT_TRUE(proved) << size << " " << number << ": " << proved.error().text();
      EXPECT_FALSE(prove_record(tree, number, "another", tiles)) << size << " " << number;
    }
  }
}

}  // namespace
}  // namespace cupel::worker::sumdb
