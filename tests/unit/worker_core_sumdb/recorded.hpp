/// The recorded answers of tests/fixtures/sumdb.
#pragma once

#include "tests/support/recorded_file.hpp"
#include "worker/core/sumdb/lookup.hpp"
#include "worker/core/sumdb/note.hpp"
#include "worker/core/sumdb/tiles.hpp"

#include <string>

namespace cupel::worker::sumdb {

inline std::string recorded(const std::string& path) {
  return tests::recorded_file(path);
}

inline Verifier recorded_key() {
  std::string text = recorded("key");
  text.pop_back();
  return *parse_verifier(text);
}

inline const ModuleVersion kErrors{"github.com/pkg/errors", "v0.9.1"};

inline std::string recorded_lookup() {
  return recorded("lookup/github.com/pkg/errors@v0.9.1");
}

/// What was asked for, as far as it was recorded.
inline TileData recorded_tiles(const std::vector<Tile>& wanted) {
  TileData tiles;
  for (const Tile& tile : wanted) {
    std::string bytes = recorded(tile_path(tile));
    if (!bytes.empty()) tiles.emplace(tile, std::move(bytes));
  }
  return tiles;
}

inline Tree tree_in(const std::string& note) {
  return *parse_tree(*open_note(note, recorded_key()));
}

}  // namespace cupel::worker::sumdb
