#include "worker/core/sumdb/note.hpp"

#include "tests/unit/worker_core_sumdb/recorded.hpp"
#include "worker/core/sumdb/tree.hpp"

#include <gtest/gtest.h>
#include <sodium.h>

namespace cupel::worker::sumdb {
namespace {

std::string key_text() {
  std::string text = recorded("key");
  text.pop_back();
  return text;
}

/// A key of the test's own, with which it signs what it likes.
struct Forger {
  Forger() {
    std::array<std::uint8_t, 33> bytes{1};
    ::crypto_sign_ed25519_keypair(bytes.data() + 1, secret.data());
    const std::string all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto hash = sha256("forger.example\n" + all).bytes;
    id.assign(hash.begin(), hash.begin() + 4);
    std::string hex = sha256("forger.example\n" + all).hex().substr(0, 8);
    verifier =
        *parse_verifier("forger.example+" + hex + "+" + encode_base64(bytes.data(), bytes.size()));
  }
  [[nodiscard]] std::string sign(const std::string& text, const std::string& as) const {
    std::string signature = id + std::string(64, '\0');
    ::crypto_sign_ed25519_detached(reinterpret_cast<unsigned char*>(signature.data()) + 4, nullptr,
                                   reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                                   secret.data());
    return "\xe2\x80\x94 " + as + " " +
           encode_base64(reinterpret_cast<const std::uint8_t*>(signature.data()),
                         signature.size()) +
           "\n";
  }
  std::array<unsigned char, 64> secret{};
  std::string id;
  Verifier verifier;
};

TEST(ParseVerifier, ReadsTheKeyOfTheRecordedDatabase) {
  const auto verifier = parse_verifier(key_text());
  ASSERT_TRUE(verifier);
  EXPECT_EQ(verifier->id, 0x033de0aeU);
  EXPECT_EQ(verifier->name, key_text().substr(0, key_text().find('+')));
}

TEST(ParseVerifier, RefusesAKeyWhoseHashIsAnother) {
  std::string text = key_text();
  EXPECT_FALSE(parse_verifier("x" + text));
  text[text.find('+') + 1] = '1';
  EXPECT_FALSE(parse_verifier(text));
  EXPECT_FALSE(parse_verifier(key_text() + "A"));
  EXPECT_FALSE(parse_verifier(key_text().substr(0, key_text().size() - 4)));
  for (const char* odd : {"", "+", "++", "a+b", "a+0000000g+AAAA", "a b+00000000+AAAA"}) {
    EXPECT_FALSE(parse_verifier(odd)) << odd;
  }
}

TEST(ParseDatabase, KnowsTheKeyOfTheOnePublicName) {
  const std::string name = recorded_key().name;
  const auto bare = parse_database(name);
  ASSERT_TRUE(bare) << bare.error().text();
  EXPECT_EQ(bare->verifier, recorded_key());
  EXPECT_EQ(bare->url, "");
  EXPECT_EQ(parse_database("sums.example").error().code, Errc::bad_config);
}

TEST(ParseDatabase, ReadsAKeyAndAPlace) {
  const auto database = parse_database(key_text() + " https://mirror.example/sumdb/");
  ASSERT_TRUE(database);
  EXPECT_EQ(database->url, "https://mirror.example/sumdb");
  for (const std::string& odd :
       {std::string("off"), std::string(" "), key_text() + " ftp://mirror.example",
        key_text() + " https://a.example b"}) {
    EXPECT_FALSE(parse_database(odd)) << odd;
  }
}

TEST(OpenNote, GivesTheTextOfTheRecordedTree) {
  const auto text = open_note(recorded("latest"), recorded_key());
  ASSERT_TRUE(text) << text.error().text();
  const auto tree = parse_tree(*text);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->size, 72525630U);
}

TEST(OpenNote, RefusesATextThatWasChanged) {
  std::string note = recorded("latest");
  note[note.find("72525630")] = '8';
  EXPECT_EQ(open_note(note, recorded_key()).error().code, Errc::artifact_mismatch);
}

TEST(OpenNote, RefusesASignatureThatWasChanged) {
  std::string note = recorded("latest");
  char& letter = note[note.size() - 20];
  letter = letter == 'A' ? 'B' : 'A';
  EXPECT_EQ(open_note(note, recorded_key()).error().code, Errc::artifact_mismatch);
}

TEST(OpenNote, RefusesTheSignatureOfAnotherKeyUnderTheSameName) {
  const Forger forger;
  const std::string text = *open_note(recorded("latest"), recorded_key());
  const std::string note = text + "\n" + forger.sign(text, recorded_key().name);
  EXPECT_EQ(open_note(note, recorded_key()).error().code, Errc::artifact_mismatch);
}

TEST(OpenNote, PassesOverSignaturesOfOthers) {
  const Forger forger;
  const std::string text = *open_note(recorded("latest"), recorded_key());
  const std::string both = recorded("latest") + forger.sign(text, "forger.example");
  EXPECT_TRUE(open_note(both, recorded_key()));
  EXPECT_TRUE(open_note(both, forger.verifier));
  EXPECT_FALSE(open_note(recorded("latest"), forger.verifier));
}

TEST(OpenNote, RefusesWhatIsNoNote) {
  const std::string note = recorded("latest");
  for (std::size_t length = 0; length < note.size(); ++length) {
    EXPECT_FALSE(open_note(note.substr(0, length), recorded_key())) << length;
  }
  EXPECT_FALSE(open_note(note + "\n", recorded_key()));
  EXPECT_FALSE(open_note(note + std::string("\0", 1), recorded_key()));
  EXPECT_FALSE(open_note(note + "no signature\n", recorded_key()));
  EXPECT_FALSE(open_note(std::string(kNoteBytesMax, 'a') + note, recorded_key()));
}

TEST(ParseTree, RefusesWhatIsNoTree) {
  const std::string text = *open_note(recorded("latest"), recorded_key());
  EXPECT_TRUE(parse_tree(text + "more lines\n"));
  EXPECT_FALSE(parse_tree(text.substr(1)));
  EXPECT_FALSE(parse_tree(text.substr(0, text.size() - 1)));
  const std::string root = text.substr(text.find('\n', text.find("725")) + 1);
  const std::string title = "go.sum database tree\n";
  for (const char* size : {"0", "-1", "01", "+1", "1 ", "", "99999999999999999999"}) {
    EXPECT_FALSE(parse_tree(title + size + "\n" + root)) << size;
  }
}

}  // namespace
}  // namespace cupel::worker::sumdb
