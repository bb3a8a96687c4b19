#include "common/text/diagnostic.hpp"

#include <algorithm>
#include <numeric>

namespace cupel::text {
namespace {

/// Edit distance with neighbouring letters exchanged counted as one step.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string Diagnostic::text() const {
  std::string out = file;
  if (line > 0) out += ":" + std::to_string(line) + ":" + std::to_string(column);
  if (!out.empty()) out += ": ";
  out += message + " (" + error_tag(code) + ")";
  if (!hint.empty()) out += "\n  " + hint;
  return out;
}

std::string nearest_word(std::string_view wrong, const std::vector<std::string>& words) {
  constexpr std::size_t kWordBytesMax = 64;  // the table grows with the product of both lengths
  if (wrong.empty() || wrong.size() > kWordBytesMax) return "";
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, wrong.size() / 3) + 1;
  for (const std::string& word : words) {
    std::size_t steps = distance(wrong, word);
    const bool starts_alike =
        wrong.size() >= 3 && (word.starts_with(wrong) || wrong.starts_with(word));
    if (starts_alike) steps = std::min<std::size_t>(steps, 1);
    if (steps < best_distance) {
      best_distance = steps;
      best = word;
    }
  }
  return best;
}

std::string render(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) out += diagnostic.text() + "\n";
  const std::size_t count = diagnostics.size();
  return out + std::to_string(count) + (count == 1 ? " error\n" : " errors\n");
}

}  // namespace cupel::text
