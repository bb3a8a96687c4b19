#include "common/net/trust_list.hpp"

#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>

namespace cupel::net {
namespace {

std::string key_text() {
  return generate_key_pair().public_key.z85();
}

std::string fault_of(const std::string& text) {
  const auto list = TrustList::parse(text, "trusted");
  if (list) return "none";
  EXPECT_EQ(list.error().code, Errc::bad_config);
  return list.error().what;
}

TEST(TrustList, ReadsNamesKeysAndLabels) {
  const PublicKey key = generate_key_pair().public_key;

  const auto list = TrustList::parse(
      "# workers\n\n  build-7 " + key.z85() + "  zone=eu trust=high # a comment\n", "trusted");

  ASSERT_TRUE(list) << list.error().text();
  ASSERT_EQ(list->size(), 1U);
  const TrustedWorker expected{"build-7", {{"trust", "high"}, {"zone", "eu"}}};
  ASSERT_NE(list->find(key), nullptr);
  EXPECT_EQ(*list->find(key), expected);
  EXPECT_EQ(list->find(generate_key_pair().public_key), nullptr);
}

TEST(TrustList, MayBeEmpty) {
  EXPECT_EQ(TrustList::parse("", "trusted").value().size(), 0U);
  EXPECT_EQ(TrustList::parse("# nobody\n", "trusted").value().size(), 0U);
}

TEST(TrustList, NamesLineAndColumnOfWhatIsWrong) {
  const std::string key = key_text();
  const std::string other = key_text();

  EXPECT_EQ(fault_of("w1\n"), "trusted:1:1: no key behind the name 'w1'");
  EXPECT_EQ(fault_of("\n w1 abc\n"),
            "trusted:2:5: not a public key: expected 40 characters of Z85");
  EXPECT_EQ(fault_of("w1 " + key + " zone\n"),
            "trusted:1:45: 'zone' is no label: expected key=value");
  EXPECT_EQ(fault_of("w1 " + key + " a=1 a=2\n"), "trusted:1:49: the label 'a' stands twice");
  EXPECT_EQ(fault_of("w1 " + key + " a=\n"), "trusted:1:1: not a label: 'a='");
  EXPECT_EQ(fault_of("w/1 " + key + "\n"),
            "trusted:1:1: a worker's name is 1 to 64 of A-Z a-z 0-9 . _ -, not 'w/1'");
  EXPECT_EQ(fault_of("w1 " + key + "\nw2 " + key + "\n"),
            "trusted:2:1: the key is trusted already, as 'w1'");
  EXPECT_EQ(fault_of("w1 " + key + "\nw1 " + other + "\n"),
            "trusted:2:1: the name 'w1' stands for another key");
}

TEST(TrustList, HasLimits) {
  std::string labels;
  for (int i = 0; i < 33; ++i) labels += " l" + std::to_string(i) + "=x";

  EXPECT_EQ(fault_of("w1 " + key_text() + labels + "\n"), "trusted:1:1: more than 32 labels");
  EXPECT_EQ(fault_of(std::string(64, 'n') + " " + key_text() + "\n"), "none");
  EXPECT_NE(fault_of(std::string(65, 'n') + " " + key_text() + "\n"), "none");
}

TEST(TrustListFile, IsEmptyWhenMissing) {
  const tests::TempDir dir;
  EXPECT_EQ(TrustList::load(dir / "none").value().size(), 0U);
}

TEST(TrustListFile, ThatOthersMayWriteIsRefused) {
  const tests::TempDir dir;
  ASSERT_TRUE(fs::write_file_durably(dir / "trusted", "", 0666));

  EXPECT_EQ(TrustList::load(dir / "trusted").error().code, Errc::key_permissions);
}

TEST(TrustListFile, GainsAndLosesWorkersAndKeepsComments) {
  const tests::TempDir dir;
  const auto file = dir / "trusted";
  const PublicKey first = generate_key_pair().public_key;
  const PublicKey second = generate_key_pair().public_key;
  ASSERT_TRUE(fs::write_file_durably(file, "# my workers", 0644));

  ASSERT_TRUE(add_trusted(file, first, {"w1", {{"zone", "eu"}}}));
  ASSERT_TRUE(add_trusted(file, second, {"w2", {}}));
  EXPECT_EQ(TrustList::load(file).value().entries().size(), 2U);
  const auto removed = remove_trusted(file, "w1");

  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->first, first);
  EXPECT_EQ(removed->second, (TrustedWorker{"w1", {{"zone", "eu"}}}));
  EXPECT_EQ(fs::read_file(file, 10'000).value(), "# my workers\nw2  " + second.z85() + "\n");
}

TEST(TrustListFile, LosesAWorkerByKey) {
  const tests::TempDir dir;
  const PublicKey key = generate_key_pair().public_key;
  ASSERT_TRUE(add_trusted(dir / "trusted", key, {"w1", {}}));

  EXPECT_EQ(remove_trusted(dir / "trusted", key.z85()).value().second.name, "w1");
  EXPECT_EQ(remove_trusted(dir / "trusted", key.z85()).error().code, Errc::not_found);
}

TEST(TrustListFile, RefusesWhatIsThereAlready) {
  const tests::TempDir dir;
  const PublicKey key = generate_key_pair().public_key;
  ASSERT_TRUE(add_trusted(dir / "trusted", key, {"w1", {}}));

  EXPECT_EQ(add_trusted(dir / "trusted", key, {"w2", {}}).error().code, Errc::already_exists);
  EXPECT_EQ(add_trusted(dir / "trusted", generate_key_pair().public_key, {"w1", {}}).error().code,
            Errc::already_exists);
  EXPECT_EQ(
      add_trusted(dir / "trusted", generate_key_pair().public_key, {"no name", {}}).error().code,
      Errc::bad_value);
}

TEST(TrustListFile, ThatIsMalformedIsNotTouched) {
  const tests::TempDir dir;
  ASSERT_TRUE(fs::write_file_durably(dir / "trusted", "broken\n", 0644));

  EXPECT_FALSE(add_trusted(dir / "trusted", generate_key_pair().public_key, {"w1", {}}));
  EXPECT_EQ(fs::read_file(dir / "trusted", 100).value(), "broken\n");
}

}  // namespace
}  // namespace cupel::net
