#include "cli/core/table.hpp"

#include "common/text/utf8.hpp"

#include <algorithm>

namespace cupel::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLastColumnMin = 16;

std::string padded_cell(const std::string& cell, std::size_t columns, bool right) {
  const std::size_t wide = text::width(cell);
  if (wide >= columns) return cell;
  const std::string space(columns - wide, ' ');
  return right ? space + cell : cell + space;
}

}  // namespace

std::string render(const Table& table, std::size_t columns_max) {
  std::vector<std::size_t> widths(table.head.size(), 0);
  const auto measure = [&widths](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], text::width(row[i]));
    }
  };
  measure(table.head);
  for (const auto& row : table.rows) measure(row);
  std::size_t before_last = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) before_last += widths[i] + kGap;
  const std::size_t last_max =
      columns_max == 0
          ? std::string::npos
          : std::max(kLastColumnMin, columns_max > before_last ? columns_max - before_last : 0);
  std::string out;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      const bool right = i < table.right.size() && table.right[i];
      const bool last = i + 1 == widths.size();
      line += last
                  ? text::shortened(right ? padded_cell(row[i], widths[i], true) : row[i], last_max)
                  : padded_cell(row[i], widths[i], right) + std::string(kGap, ' ');
    }
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  };
  add(table.head);
  for (const auto& row : table.rows) add(row);
  return out;
}

}  // namespace cupel::cli
