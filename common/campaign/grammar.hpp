/// The keys of the campaign file as one table: the parser checks against it, the JSON Schema and
/// the documentation are made from it, so that they can't disagree.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::campaign {

enum class Shape : std::uint8_t {
  text,
  version,  ///< Text that looks like a number: must be quoted (CUP-1013).
  integer,
  fraction,  ///< Decimal with at most three places; bounds in thousandths.
  flag,
  size,      ///< Bounds in bytes.
  duration,  ///< Whole seconds; bounds in seconds.
  words,     ///< List of texts.
  text_map,  ///< Mapping of free keys to texts.
  section,   ///< Mapping with `children`.
  sections,  ///< List of mappings with `children`.
};

/// What is wrong with a text; empty when nothing is.
using Rule = std::string (*)(std::string_view text);

struct Key {
  std::string name = {};
  Shape shape = Shape::text;
  std::string sentence = {};
  std::string fallback = {};  ///< The default in the file's notation.
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string> choices = {};  ///< text and words: the closed list.
  Rule rule = nullptr;                    ///< For text, version, and each item of words.
  std::size_t items_max = 0;              ///< Lists and text_map; 0 = unbounded by itself.
  bool required = false;
  bool honoured =
      true;  ///< False: a word of the grammar that only takes its default in this version.
  bool json_only = false;  ///< Written by the client into canonical JSON, never by people.
  std::string short_list =
      {};  ///< A section that may be written as a list: the child that it stands for.
  std::string short_flag = {};  ///< Likewise for one that may be written as true or false.
  std::vector<Key> children = {};

  [[nodiscard]] const Key* find(std::string_view child) const;
};

/// The root: a section.
[[nodiscard]] const Key& grammar();
/// Its parts that say what a campaign changes and how a difference is proven (grammar_change.cpp).
[[nodiscard]] std::vector<Key> change_grammar();
/// A list of {module, version}: what is upgraded, all at once (grammar_change.cpp).
[[nodiscard]] Key upgrade_targets(std::string name, std::string sentence);
/// validate.scan (grammar_scan.cpp).
[[nodiscard]] Key scan_grammar();
/// A word of the grammar that a later version will honour: refused unless empty or at its default,
/// so that no file means less than it says.
[[nodiscard]] Key later(std::string name, std::string sentence, std::string fallback = "");

// Rules for texts (rules.cpp).
[[nodiscard]] std::string campaign_name_rule(std::string_view text);
[[nodiscard]] std::string short_text_rule(std::string_view text);  ///< One line, at most 128 bytes.
[[nodiscard]] std::string long_text_rule(std::string_view text);   ///< At most 4 KiB.
[[nodiscard]] std::string git_url_rule(std::string_view text);
[[nodiscard]] std::string ref_rule(std::string_view text);
[[nodiscard]] std::string module_rule(std::string_view text);  ///< "M@V"
[[nodiscard]] std::string module_path_rule(std::string_view text);
[[nodiscard]] std::string version_query_rule(std::string_view text);  ///< "v1.2.3", latest, ...
[[nodiscard]] std::string exact_version_rule(std::string_view text);
[[nodiscard]] std::string path_rule(std::string_view text);
[[nodiscard]] std::string subdir_rule(std::string_view text);
[[nodiscard]] std::string package_rule(std::string_view text);
[[nodiscard]] std::string tag_rule(std::string_view text);
[[nodiscard]] std::string image_rule(std::string_view text);
[[nodiscard]] std::string go_pattern_rule(std::string_view text);
[[nodiscard]] std::string check_name_rule(std::string_view text);
[[nodiscard]] std::string shuffle_rule(std::string_view text);
[[nodiscard]] std::string digest_rule(std::string_view text);
[[nodiscard]] std::string commit_rule(std::string_view text);
[[nodiscard]] std::string diff_rule(std::string_view text);
[[nodiscard]] std::string refusal_rule(std::string_view text);
[[nodiscard]] std::string finding_rule(std::string_view text);

}  // namespace cupel::campaign
