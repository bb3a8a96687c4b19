/// Tables for a terminal: columns padded to their widest cell, the last one left as it is.
#pragma once

#include <string>
#include <vector>

namespace cupel::cli {

struct Table {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> right;  ///< Right-aligned columns; missing entries are left-aligned.
};

/// Lines without trailing spaces; `columns_max` > 0 shortens the last column to fit the terminal.
[[nodiscard]] std::string render(const Table& table, std::size_t columns_max = 0);

}  // namespace cupel::cli
