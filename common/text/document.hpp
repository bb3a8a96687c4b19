/// A YAML or JSON document as a tree that keeps places and leaves every scalar as the text that was
/// written: nothing turns 1.20 into 1.2 or `on` into true here.
#pragma once

#include "common/core/limits.hpp"
#include "common/text/diagnostic.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::text {

struct Entry;

struct Node {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  std::string scalar;
  bool quoted = false;  ///< Scalar in quotes or as a block: surely meant as text.
  int line = 0;         ///< 1-based; 0 = unknown (JSON).
  int column = 0;
  std::vector<Node> items;     ///< Of a list.
  std::vector<Entry> entries;  ///< Of a map, in the order of the file; keys are unique.

  [[nodiscard]] bool is_map() const { return kind == Kind::map; }
  [[nodiscard]] bool is_list() const { return kind == Kind::list; }
  [[nodiscard]] bool is_scalar() const { return kind == Kind::scalar; }
  [[nodiscard]] bool is_null() const { return kind == Kind::null; }
  /// Null, "", [] or {}.
  [[nodiscard]] bool is_empty() const;
  /// The value of a key of a map; nullptr where there is none.
  [[nodiscard]] const Node* find(std::string_view key) const;
};

struct Entry {
  std::string key;
  int line = 0;
  int column = 0;
  Node value;
};

struct DocumentLimits {
  std::size_t bytes = kCampaignFileBytesMax;
  std::size_t depth = 32;
  std::size_t nodes = 4'000'000;
  std::size_t faults = 100;
};

/// `root` is set unless the text could not be read to its end; duplicate keys are faults, and the
/// first of them is the one in the tree.
struct Document {
  std::optional<Node> root;
  std::vector<Diagnostic> faults;
};

/// One document; anchors, aliases, tags, complex keys and a second document are faults: a campaign
/// or a configuration needs none of them, and each is a way to make a small file mean something
/// large.
[[nodiscard]] Document read_yaml(std::string_view text, const std::string& file,
                                 const DocumentLimits& limits = {});
[[nodiscard]] Document read_json(std::string_view text, const std::string& file,
                                 const DocumentLimits& limits = {});

}  // namespace cupel::text
