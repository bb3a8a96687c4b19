#include "worker/outbox/outbox.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "common/fs/files.hpp"

namespace cupel::worker {
namespace {

class OutboxTest : public ::testing::Test {
 protected:
  void SetUp() override { dir_ = std::filesystem::temp_directory_path() / ("cupel-outbox-" + fs::random_hex(8)); }
  void TearDown() override { EXPECT_TRUE(fs::remove_tree(dir_)); }

  static TaskResult result_of(std::uint64_t token) {
    TaskResult result;
    result.task = TaskId{7};
    result.token = Token{token};
    result.outcome = Outcome::passing;
    result.message = "m" + std::to_string(token);
    return result;
  }

  std::filesystem::path dir_;
};

TEST_F(OutboxTest, KeepsResultsOverARestartInTokenOrder) {
  {
    auto outbox = Outbox::open(dir_, 4096).value();
    ASSERT_TRUE(outbox.put(result_of(12)));
    ASSERT_TRUE(outbox.put(result_of(9)));
  }

  auto outbox = Outbox::open(dir_, 4096).value();
  const auto found = outbox.recover().value();

  ASSERT_EQ(found.results.size(), 2U);
  EXPECT_EQ(found.results[0].token.value, 9U);
  EXPECT_EQ(found.results[1].message, "m12");
  EXPECT_TRUE(found.damaged.empty());
}

TEST_F(OutboxTest, AnAcknowledgedResultIsGoneAndASecondRemovalIsFine) {
  auto outbox = Outbox::open(dir_, 0).value();
  ASSERT_TRUE(outbox.put(result_of(1)));

  ASSERT_TRUE(outbox.remove(Token{1}));
  ASSERT_TRUE(outbox.remove(Token{1}));

  EXPECT_EQ(outbox.size().results, 0U);
  EXPECT_EQ(outbox.get(Token{1}).error().code, Errc::not_found);
}

TEST_F(OutboxTest, SetsADamagedFileAsideAndRemovesAHalfWrittenOne) {
  auto outbox = Outbox::open(dir_, 0).value();
  ASSERT_TRUE(outbox.put(result_of(1)));
  std::ofstream(dir_ / "00000000000000000002.result") << "not a result";
  std::ofstream(dir_ / "00000000000000000003.result.abc.new") << "half";

  const auto found = outbox.recover().value();

  EXPECT_EQ(found.results.size(), 1U);
  EXPECT_EQ(found.damaged, std::vector<std::string>{"00000000000000000002.result"});
  EXPECT_TRUE(std::filesystem::exists(dir_ / "00000000000000000002.result.damaged"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "00000000000000000003.result.abc.new"));
  EXPECT_EQ(outbox.recover()->results.size(), 1U);
}

TEST_F(OutboxTest, TheReserveTakesItsBytesAtOnce) {
  const auto outbox = Outbox::open(dir_, 1 << 20).value();
  EXPECT_EQ(std::filesystem::file_size(dir_ / "reserve"), 1U << 20);
  EXPECT_EQ(outbox.size().bytes, 0U);
}

}  // namespace
}  // namespace cupel::worker
