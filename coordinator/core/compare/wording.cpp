#include "coordinator/core/compare/wording.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace cupel::coordinator::compare {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// "3 of 4" -> "# of #"; "int64" stays.
std::string without_numbers(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      out += text[at++];
      continue;
    }
    std::size_t end = at;
    bool number = true;
    for (; end < text.size() && is_word(text[end]); ++end) number = number && is_digit(text[end]);
    out += number ? std::string_view("#") : text.substr(at, end - at);
    at = end;
  }
  return out;
}

using Words = std::vector<std::string_view>;

/// Between blanks: quotes and brackets around what varies vary with it.
Words words_of(std::string_view text) {
  Words words;
  for (std::size_t at = text.find_first_not_of(" \t\n"); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(" \t\n", end);
  }
  return words;
}

/// Which words of a side are others in some run.
struct Template {
  Words words;
  std::vector<bool> varies;
};

/// Nothing when the runs have different numbers of words.
std::optional<Template> template_of(std::span<const std::string> runs) {
  Template out{words_of(runs.front()), {}};
  out.varies.resize(out.words.size());
  for (const std::string& run : runs.subspan(1)) {
    const Words words = words_of(run);
    if (words.size() != out.words.size()) return std::nullopt;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] != out.words[i]) out.varies[i] = true;
    }
  }
  return out;
}

}  // namespace

std::string wording_of(const Mark& mark) {
  switch (mark.kind) {
    case FindingKind::test_failure:
    case FindingKind::test_failure_derived:
    case FindingKind::test_timeout:
    case FindingKind::test_unfinished:
    case FindingKind::package_failure:
    case FindingKind::package_unfinished: return without_numbers(mark.signature);
    default: return mark.signature;
  }
}

Wording compare_wording(std::span<const std::string> before, std::span<const std::string> after) {
  const auto a = template_of(before);
  const auto b = template_of(after);
  if (!a || !b) return Wording::noise;
  if (a->words.size() != b->words.size()) return Wording::other;
  for (std::size_t i = 0; i < a->words.size(); ++i) {
    if (!a->varies[i] && !b->varies[i] && a->words[i] != b->words[i]) return Wording::other;
  }
  return Wording::same;
}

}  // namespace cupel::coordinator::compare
