/// Tables of docs/hostile-runs.md that a test owns.
#pragma once

#include <string>

namespace cupel::test {

/// Writes the table behind the mark "<!-- MARK -->" with CUPEL_UPDATE_GOLDEN=1; else the test fails
/// where the document says anything else. `table` is Markdown, each line ended.
void expect_table(const std::string& mark, const std::string& table);

}  // namespace cupel::test
