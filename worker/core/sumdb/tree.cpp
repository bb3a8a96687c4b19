#include "worker/core/sumdb/tree.hpp"

#include "worker/core/sumdb/note.hpp"

#include <bit>
#include <charconv>

namespace cupel::worker::sumdb {

namespace {

constexpr std::string_view kTitle = "go.sum database tree\n";

std::string_view as_text(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

}  // namespace

bool parse_number(std::string_view text, std::uint64_t max, std::uint64_t& number) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return false;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc{} && end == text.data() + text.size() && number <= max;
}

Result<Tree> parse_tree(std::string_view text) {
  Error malformed{.code = Errc::bad_value,
                  .what = "checksum database: the signed tree is malformed",
                  .detail = {},
                  .hint = {}};
  if (!text.starts_with(kTitle)) return malformed;
  text.remove_prefix(kTitle.size());
  const std::size_t size_end = text.find('\n');
  if (size_end == std::string_view::npos) return malformed;
  Tree tree;
  if (!parse_number(text.substr(0, size_end), kTreeSizeMax, tree.size) || tree.size == 0) {
    return malformed;
  }
  text.remove_prefix(size_end + 1);
  const std::size_t root_end = text.find('\n');
  if (root_end == std::string_view::npos ||
      !decode_base64(text.substr(0, root_end), tree.root.bytes.data(), tree.root.bytes.size())) {
    return malformed;
  }
  return tree;
}

std::vector<Node> subtrees(std::uint64_t size) {
  std::vector<Node> nodes;
  std::uint64_t begin = 0;
  while (begin < size) {
    const auto level = static_cast<unsigned>(std::bit_width(size - begin) - 1);
    nodes.push_back({level, begin >> level});
    begin += 1ULL << level;
  }
  return nodes;
}

Digest record_hash(std::string_view record) {
  Sha256 hash;
  hash.update(std::string_view("\0", 1));
  hash.update(record);
  return hash.finish();
}

Digest node_hash(const Digest& left, const Digest& right) {
  Sha256 hash;
  hash.update("\x01");
  hash.update(as_text(left));
  hash.update(as_text(right));
  return hash.finish();
}

Digest root_of(std::span<const Digest> hashes) {
  Digest root = hashes.back();
  for (std::size_t i = hashes.size() - 1; i > 0; --i) root = node_hash(hashes[i - 1], root);
  return root;
}

}  // namespace cupel::worker::sumdb
