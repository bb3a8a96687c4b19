#include "common/core/error.hpp"
#include "common/fs/files.hpp"

#include <gtest/gtest.h>

namespace cupel {
namespace {

constexpr std::uint64_t kDocMax = 1U << 20U;

std::string document(const std::string& name) {
  return fs::read_file(std::string(CUPEL_SOURCE_DIR) + "/docs/" + name, kDocMax).value();
}

TEST(ErrorsDocument, HasARowForEveryErrorWithItsLabelExitCodeAndHint) {
  const std::string text = document("errors.md");
  for (const ErrorInfo& info : error_registry()) {
    const std::string start = "| " + error_tag(info.code) + " | `" + std::string(info.label) +
                              "` | " + std::to_string(info.exit_code) + " |";
    const auto found = text.find(start);
    ASSERT_NE(found, std::string::npos) << start;
    const std::string row = text.substr(found, text.find('\n', found) - found);
    EXPECT_NE(row.find(info.hint), std::string::npos) << row;
  }
}

TEST(ExitCodesDocument, HasEveryExitCodeThatAnErrorCanGive) {
  const std::string text = document("exit-codes.md");
  for (const ErrorInfo& info : error_registry()) {
    EXPECT_NE(text.find("\n| " + std::to_string(info.exit_code) + " |"), std::string::npos)
        << info.exit_code;
  }
}

}  // namespace
}  // namespace cupel
