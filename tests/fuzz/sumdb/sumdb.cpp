// Answers of a checksum database: no input may crash, and nothing that isn't signed or isn't in the
// tree is ever called proved.
#include "worker/core/sumdb/lookup.hpp"
#include "worker/core/sumdb/note.hpp"
#include "worker/core/sumdb/tiles.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace cupel::worker::sumdb;

void check(bool good) {
  if (!good) std::abort();
}

/// Nobody holds the secret half of this key.
const Verifier& nobody() {
  static const Verifier kNobody{.name = "nobody.example", .id = 1, .key = {7}};
  return kNobody;
}

/// Whatever the tiles are, they are not those of a tree with this root.
void try_tiles(const Tree& tree, std::uint64_t number, std::string_view bytes) {
  TileData tiles;
  std::size_t at = 0;
  for (const Tile& tile : tiles_for(tree, {{0, number}})) {
    std::string data;
    while (data.size() < tile.bytes() && !bytes.empty()) data.push_back(bytes[at++ % bytes.size()]);
    tiles.emplace(tile, std::move(data));
    check(tile_path(tile).starts_with("tile/8/"));
  }
  check(!prove_record(tree, number, "record\n", tiles));
  const Tree older{.size = tree.size / 2 + 1, .root = tree.root};
  if (older.size < tree.size) check(!prove_prefix(older, tree, tiles));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check(!open_note(input, nobody()));
  static_cast<void>(parse_database(input));
  if (const auto verifier = parse_verifier(input))
    check(verifier->name.find('+') == std::string::npos);
  if (const auto tree = parse_tree(input)) {
    check(tree->size > 0 && tree->size <= kTreeSizeMax);
    try_tiles(*tree, size % tree->size, input);
  }
  const std::size_t slash = input.find('|');
  if (slash != std::string_view::npos) {
    const auto module = parse_escaped(input.substr(0, slash), input.substr(slash + 1));
    if (module) check(parse_escaped(escaped(module->path), escaped(module->version)) == module);
  }
  const auto lookup = parse_lookup(input);
  if (!lookup) return 0;
  check(!lookup->record.empty() && lookup->record.back() == '\n');
  check(lookup->record.find("\n\n") == std::string::npos);
  const auto sums = sums_of(lookup->record, {"github.com/pkg/errors", "v0.9.1"});
  if (sums) check(sums->zip.starts_with("h1:") && sums->go_mod.size() == sums->zip.size());
  check(!open_note(lookup->note, nobody()));
  return 0;
}
