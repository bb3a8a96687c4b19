// Recorded messages of protocol 1 must stay readable, with the same content: they stand for
// programs that are not upgraded yet. The recorded content is kept as text beside the bytes.
//
// After a message was ADDED: CUPEL_RECORD_GOLDEN=1 common_wire_test --gtest_filter='Golden*' writes
// what is missing. A file that exists is never rewritten.
#include "tests/support/messages.hpp"
#include "tests/support/shown.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace cupel::wire {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(CUPEL_SOURCE_DIR) / "tests/golden/wire/v1";

std::string contents(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

bool recording() {
  return std::getenv("CUPEL_RECORD_GOLDEN") != nullptr;
}

template <typename Message, typename Decode>
void check(const std::string& name, const Message& message, Decode decode) {
  const auto bytes_file = kFolder / (name + ".bin");
  const auto text_file = kFolder / (name + ".txt");
  if (recording() && !std::filesystem::exists(bytes_file)) {
    std::filesystem::create_directories(kFolder);
    std::ofstream(bytes_file, std::ios::binary) << encode(message);
    std::ofstream(text_file, std::ios::binary) << tests::shown(message);
  }
  ASSERT_TRUE(std::filesystem::exists(bytes_file)) << bytes_file << ": record the new message";
  const auto decoded = decode(contents(bytes_file));
  ASSERT_TRUE(decoded) << name << ": " << decoded.error().text();
  // Members that were added since have their defaults and are not in the recorded text.
  EXPECT_EQ(tests::without_defaults(tests::shown(*decoded)),
            tests::without_defaults(contents(text_file)))
      << name;
}

template <typename Messages, typename Decode>
void check_all(const std::string& prefix, const Messages& messages, Decode decode) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    check(prefix + "-" + std::to_string(i), messages[i], decode);
  }
}

TEST(Golden, MessagesToTheCoordinatorStayReadable) {
  check_all("to_coordinator", tests::messages_to_coordinator(), decode_to_coordinator);
}

TEST(Golden, MessagesToAWorkerStayReadable) {
  check_all("to_worker", tests::messages_to_worker(), decode_to_worker);
}

TEST(Golden, BulkMessagesStayReadable) {
  check_all("bulk_to_coordinator", tests::bulk_messages_to_coordinator(),
            decode_bulk_to_coordinator);
  check_all("bulk_to_worker", tests::bulk_messages_to_worker(), decode_bulk_to_worker);
}

}  // namespace
}  // namespace cupel::wire
