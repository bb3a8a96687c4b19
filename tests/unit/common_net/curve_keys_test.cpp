#include "common/net/curve_keys.hpp"

#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>

namespace cupel::net {
namespace {

namespace stdfs = std::filesystem;

void write(const stdfs::path& file, const std::string& text, unsigned mode) {
  ASSERT_TRUE(fs::write_file_durably(file, text, mode));
}

TEST(PublicKey, IsReadFromWhatItPrints) {
  const PublicKey key = generate_key_pair().public_key;

  EXPECT_EQ(key.z85().size(), kKeyTextChars);
  EXPECT_EQ(PublicKey::from_z85(key.z85()), key);
  EXPECT_FALSE(key.empty());
}

TEST(PublicKey, IsRefusedWhenMalformed) {
  const std::string good = generate_key_pair().public_key.z85();

  EXPECT_FALSE(PublicKey::from_z85(""));
  EXPECT_FALSE(PublicKey::from_z85(good.substr(1)));
  EXPECT_FALSE(PublicKey::from_z85(good + "0"));
  EXPECT_FALSE(PublicKey::from_z85("'" + good.substr(1)));
  EXPECT_FALSE(PublicKey::from_z85("\x7F" + good.substr(1)));
  EXPECT_FALSE(PublicKey::from_z85(std::string(40, '#'))) << "five digits that exceed 32 bits";
  EXPECT_FALSE(PublicKey::from_raw("short"));
}

TEST(PublicKey, AsASettingNamesItsPlaceWhenMalformed) {
  const auto key = parse_public_key("abc", "worker.yaml:3:7");

  EXPECT_EQ(key.error().code, Errc::key_unreadable);
  EXPECT_EQ(key.error().what,
            "worker.yaml:3:7: not a public key: expected 40 characters of Z85, found 3");
}

TEST(KeyPairs, AreNeverAlike) {
  EXPECT_NE(generate_key_pair().public_key, generate_key_pair().public_key);
}

TEST(KeyFile, KeepsThePairAndIsOwnerOnly) {
  const tests::TempDir dir;
  const KeyPair pair = generate_key_pair();

  ASSERT_TRUE(write_key_file(dir / "worker.key", pair, "made today"));
  const auto back = read_key_file(dir / "worker.key");

  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->public_key, pair.public_key);
  EXPECT_EQ(back->secret_key.bytes(), pair.secret_key.bytes());
  EXPECT_EQ(stdfs::status(dir / "worker.key").permissions(),
            stdfs::perms::owner_read | stdfs::perms::owner_write);
  EXPECT_EQ(read_public_key_file(dir / "worker.key").value(), pair.public_key);
}

TEST(KeyFile, IsNeverOverwritten) {
  const tests::TempDir dir;
  const KeyPair first = generate_key_pair();
  ASSERT_TRUE(write_key_file(dir / "k", first, ""));

  const auto again = write_key_file(dir / "k", generate_key_pair(), "");

  EXPECT_EQ(again.error().code, Errc::already_exists);
  EXPECT_EQ(read_key_file(dir / "k").value().public_key, first.public_key);
}

TEST(KeyFile, ThatOthersCanReadIsRefused) {
  const tests::TempDir dir;
  ASSERT_TRUE(write_key_file(dir / "k", generate_key_pair(), ""));
  stdfs::permissions(dir / "k", stdfs::perms::group_read, stdfs::perm_options::add);

  EXPECT_EQ(read_key_file(dir / "k").error().code, Errc::key_permissions);
  EXPECT_EQ(read_public_key_file(dir / "k").error().code, Errc::key_permissions);
}

TEST(KeyFile, ThatIsMissingIsUnreadable) {
  const tests::TempDir dir;
  EXPECT_EQ(read_key_file(dir / "none").error().code, Errc::key_unreadable);
  EXPECT_EQ(read_public_key_file(dir / "none").error().code, Errc::key_unreadable);
}

TEST(KeyFile, NamesLineAndColumnOfWhatIsWrong) {
  const tests::TempDir dir;
  const stdfs::path file = dir / "k";
  const std::string key = generate_key_pair().public_key.z85();

  write(file, "# comment\npublic  " + key + "\nsecret  nonsense\n", 0600);
  EXPECT_EQ(read_key_file(file).error().what,
            file.string() + ":3:9: not a key: expected 40 characters of Z85");
  write(file, "key " + key + "\n", 0600);
  EXPECT_EQ(read_key_file(file).error().what,
            file.string() + ":1:1: expected 'public' or 'secret'");
  write(file, "public " + key + "\npublic " + key + "\n", 0600);
  EXPECT_EQ(read_key_file(file).error().what, file.string() + ":2:1: this key stands twice");
  write(file, "public\n", 0600);
  EXPECT_EQ(read_key_file(file).error().what,
            file.string() + ":1:1: expected one key behind the word");
  write(file, "public " + key + "\n", 0600);
  EXPECT_EQ(read_key_file(file).error().what,
            file.string() + ":1:1: no secret key in this file: it is a public one");
}

TEST(KeyFile, WhoseHalvesDoNotBelongTogetherIsRefused) {
  const tests::TempDir dir;
  const KeyPair mixed{generate_key_pair().public_key, generate_key_pair().secret_key};
  ASSERT_TRUE(write_key_file(dir / "k", mixed, ""));

  EXPECT_EQ(read_key_file(dir / "k").error().code, Errc::key_unreadable);
}

TEST(PublicKeyFile, MayBeReadByEverybodyAndReplaced) {
  const tests::TempDir dir;
  const PublicKey key = generate_key_pair().public_key;
  ASSERT_TRUE(write_public_key_file(dir / "k.pub", generate_key_pair().public_key, ""));

  ASSERT_TRUE(write_public_key_file(dir / "k.pub", key, "note\nwith a line break"));

  EXPECT_EQ(read_public_key_file(dir / "k.pub").value(), key);
  EXPECT_NE(stdfs::status(dir / "k.pub").permissions() & stdfs::perms::others_read,
            stdfs::perms::none);
}

}  // namespace
}  // namespace cupel::net
