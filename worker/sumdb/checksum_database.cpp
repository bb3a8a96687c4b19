#include "worker/sumdb/checksum_database.hpp"

#include "common/fs/files.hpp"

#include <array>
#include <cstdio>
#include <utility>

namespace cupel::worker::sumdb {

namespace {

constexpr std::uint64_t kSupportedBytesMax = 4096;
constexpr std::size_t kTilesKept = 1024;  // 8 MiB

Error forged(const std::string& what) {
  return {.code = Errc::artifact_mismatch,
          .what = "checksum database: " + what,
          .detail = {},
          .hint = "nothing is taken from it; find out who answers in its name"};
}

}  // namespace

ChecksumDatabase::ChecksumDatabase(DatabaseSettings settings, curl::Fetch fetch)
    : settings_(std::move(settings)), fetch_(std::move(fetch)) {}

std::filesystem::path ChecksumDatabase::tree_file() const {
  std::array<char, 16> id{};
  (void)std::snprintf(id.data(), id.size(), "tree-%08x", settings_.database.verifier.id);
  return settings_.directory / id.data();
}

Result<std::string> ChecksumDatabase::place() {
  if (!place_.empty()) return place_;
  if (!settings_.database.url.empty()) return place_ = settings_.database.url;
  const std::string below = "sumdb/" + settings_.database.verifier.name;
  const auto supported =
      ask_proxies(settings_.proxies, fetch_, below + "/supported", kSupportedBytesMax);
  if (supported) return place_ = supported->proxy + "/" + below;
  if (supported.error().code != Errc::not_found) return supported.error();
  return place_ = "https://" + settings_.database.verifier.name;
}

Result<std::string> ChecksumDatabase::get(const std::string& path, std::uint64_t bytes_max) {
  auto where = place();
  if (!where) return where.error();
  const std::string url = *where + "/" + path;
  auto fetched = fetch_(url, bytes_max);
  if (!fetched) return fetched.error();
  if (fetched->status == 200) return std::move(fetched->bytes);
  return Error{
      .code = fetched->missing() ? Errc::not_found : Errc::io_error,
      .what = "get " + curl::shown_url(url) + ": status " + std::to_string(fetched->status),
      .detail = {},
      .hint = {}};
}

Result<std::string> ChecksumDatabase::tile(const Tile& wanted) {
  if (const auto known = proved_.find(wanted); known != proved_.end()) return known->second;
  const Tile full{wanted.level, wanted.index, kTileWidthMax};
  if (const auto known = proved_.find(full); known != proved_.end()) {
    return known->second.substr(0, wanted.bytes());
  }
  auto bytes = get(tile_path(wanted), wanted.bytes());
  // A partial tile may be gone once it is full.
  if (!bytes && bytes.error().code == Errc::not_found && wanted != full) {
    bytes = get(tile_path(full), full.bytes());
    if (bytes && bytes->size() == full.bytes()) bytes->resize(wanted.bytes());
  }
  return bytes;
}

Result<TileData> ChecksumDatabase::tiles(const std::vector<Tile>& wanted) {
  TileData data;
  for (const Tile& one : wanted) {
    auto bytes = tile(one);
    if (!bytes) {
      // A tile that isn't there is no module that isn't there.
      Error error = bytes.error();
      if (error.code == Errc::not_found) error.code = Errc::io_error;
      return error;
    }
    data.emplace(one, *std::move(bytes));
  }
  return data;
}

void ChecksumDatabase::remember(const TileData& proved) {
  if (proved_.size() + proved.size() > kTilesKept) proved_.clear();
  proved_.insert(proved.begin(), proved.end());
}

Result<void> ChecksumDatabase::load() {
  if (loaded_) return {};
  const auto note = fs::read_file(tree_file(), kNoteBytesMax);
  if (!note && note.error().code != Errc::not_found) return note.error();
  if (note) {
    const auto damaged = [&](const Error& why) {
      Error error = why;
      error.what = tree_file().string() + ": " + why.what;
      error.hint = "the newest signed tree that was seen; remove it only if you know why it is bad";
      return error;
    };
    const auto text = open_note(*note, settings_.database.verifier);
    if (!text) return damaged(text.error());
    const auto tree = parse_tree(*text);
    if (!tree) return damaged(tree.error());
    kept_ = *tree;
  }
  loaded_ = true;
  return {};
}

Result<Tree> ChecksumDatabase::keep(const std::string& note, const Tree& tree) {
  if (auto written = fs::write_file_durably(tree_file(), note, 0600); !written) {
    return written.error();
  }
  kept_ = tree;
  return tree;
}

Result<Tree> ChecksumDatabase::follow(const std::string& note) {
  if (auto loaded = load(); !loaded) return loaded.error();
  const auto text = open_note(note, settings_.database.verifier);
  if (!text) return text.error();
  const auto tree = parse_tree(*text);
  if (!tree) return tree.error();
  if (!kept_) return keep(note, *tree);
  if (*tree == *kept_ || older_ == *tree) return *kept_;
  if (tree->size == kept_->size) return forged("two signed trees of one size");
  const bool newer = tree->size > kept_->size;
  const Tree& before = newer ? *kept_ : *tree;
  const Tree& after = newer ? *tree : *kept_;
  const auto data = tiles(tiles_for(after, subtrees(before.size)));
  if (!data) return data.error();
  if (auto proved = prove_prefix(before, after, *data); !proved) return proved.error();
  remember(*data);
  if (newer) return keep(note, *tree);
  older_ = *tree;
  return *kept_;
}

Result<ModuleSums> ChecksumDatabase::lookup(const ModuleVersion& module) {
  const auto answer =
      get("lookup/" + escaped(module.path) + "@" + escaped(module.version), kLookupBytesMax);
  if (!answer) return answer.error();
  const auto parsed = parse_lookup(*answer);
  if (!parsed) return parsed.error();
  const auto tree = follow(parsed->note);
  if (!tree) return tree.error();
  if (parsed->number >= tree->size) return forged("a record beyond the end of the signed tree");
  const auto data = tiles(tiles_for(*tree, {Node{0, parsed->number}}));
  if (!data) return data.error();
  if (auto proved = prove_record(*tree, parsed->number, parsed->record, *data); !proved) {
    return proved.error();
  }
  remember(*data);
  return sums_of(parsed->record, module);
}

}  // namespace cupel::worker::sumdb
