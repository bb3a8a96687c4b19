// Bytes of a peer that lies. Nothing here may crash, hang or be taken for something else.
#include "common/wire/kj_compare.hpp"
// The generated header needs the line above before it.
#include "common/core/limits.hpp"
#include "common/wire/codec.hpp"
#include "tests/support/messages.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include <cstring>
#include <envelope.capnp.h>
#include <random>
#include <string>

namespace cupel::wire {
namespace {

std::string flat(capnp::MallocMessageBuilder& builder) {
  const auto words = capnp::messageToFlatArray(builder);
  const auto bytes = words.asBytes();
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

bool any_decoder_takes(std::string_view bytes) {
  bool taken = decode_to_coordinator(bytes).has_value();
  taken = decode_to_worker(bytes).has_value() || taken;
  taken = decode_bulk_to_coordinator(bytes).has_value() || taken;
  taken = decode_bulk_to_worker(bytes).has_value() || taken;
  return decode_result(bytes).has_value() || taken;
}

void mutate(std::string& bytes, std::mt19937_64& random) {
  const std::size_t changes = 1 + random() % 4;
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t at = random() % bytes.size();
    switch (random() % 5) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8))); break;
      case 2: {
        const std::uint64_t word = random();
        std::memcpy(bytes.data() + at / 8 * 8, &word, 8);
        break;
      }
      case 3: {  // a word from elsewhere: pointers that point into other structs
        const std::size_t from = random() % bytes.size() / 8 * 8;
        std::memmove(bytes.data() + at / 8 * 8, bytes.data() + from, 8);
        break;
      }
      default:
        if (bytes.size() > 16) bytes.resize(8 + random() % (bytes.size() - 8));
    }
  }
}

/// A message, and the decoder of its plane and direction.
struct Seed {
  std::string bytes;
  bool (*taken)(std::string_view bytes);
};

std::vector<Seed> seeds() {
  std::vector<Seed> all;
  for (const auto& message : tests::messages_to_coordinator()) {
    all.push_back({encode(message), [](std::string_view bytes) {
                     return decode_to_coordinator(bytes).has_value();
                   }});
  }
  for (const auto& message : tests::messages_to_worker()) {
    all.push_back({encode(message),
                   [](std::string_view bytes) { return decode_to_worker(bytes).has_value(); }});
  }
  for (const auto& message : tests::bulk_messages_to_coordinator()) {
    all.push_back({encode(message), [](std::string_view bytes) {
                     return decode_bulk_to_coordinator(bytes).has_value();
                   }});
  }
  for (const auto& message : tests::bulk_messages_to_worker()) {
    all.push_back({encode(message), [](std::string_view bytes) {
                     return decode_bulk_to_worker(bytes).has_value();
                   }});
  }
  return all;
}

// In four parts, so that they run beside each other.
class MutatedMessages : public testing::TestWithParam<std::uint64_t> {};

TEST_P(MutatedMessages, NeverCrashADecoder) {
  const std::vector<Seed> all = seeds();
  std::mt19937_64 random(GetParam());
  std::size_t taken = 0;
  constexpr std::size_t kRounds = 25'000;
  for (std::size_t i = 0; i < kRounds; ++i) {
    const Seed& seed = all[random() % all.size()];
    std::string bytes = seed.bytes;
    mutate(bytes, random);
    taken += seed.taken(bytes) ? 1 : 0;
  }
  EXPECT_GT(taken, kRounds / 100) << "the mutations are too coarse to test values";
  EXPECT_LT(taken, kRounds) << "nothing was refused";
}

INSTANTIATE_TEST_SUITE_P(HostileBytes, MutatedMessages, testing::Values(1, 2, 3, 4));

TEST(HostileBytes, AreRefusedWhenTheyAreNoMessage) {
  for (const std::string& bytes :
       {std::string(), std::string("x"), std::string(8, '\0'), std::string(16, '\0'),
        std::string(4096, '\xFF'), std::string(4095, 'a'), std::string(4096, 'a')}) {
    EXPECT_FALSE(any_decoder_takes(bytes)) << bytes.size();
  }
}

TEST(HostileBytes, AreRefusedAtEveryLengthShortOfTheWhole) {
  const std::string bytes = encode(ToCoordinator(tests::messages_to_coordinator().at(0)));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto cut = decode_to_coordinator(std::string_view(bytes).substr(0, length));
    ASSERT_FALSE(cut) << length;
    EXPECT_EQ(cut.error().code, Errc::malformed_message);
  }
}

TEST(HostileBytes, AreRefusedWhenSomethingFollows) {
  const std::string bytes = encode(ToCoordinator(Goodbye()));

  EXPECT_TRUE(decode_to_coordinator(bytes));
  EXPECT_FALSE(decode_to_coordinator(bytes + std::string(8, '\0')));
}

TEST(HostileBytes, AreRefusedOverThePlanesLimit) {
  EXPECT_EQ(decode_to_coordinator(std::string(kControlMessageBytesMax + 8, '\0')).error().detail,
            "longer than its plane allows");
}

TEST(HostileMessage, WithAWordOutsideItsListIsRefused) {
  capnp::MallocMessageBuilder builder;
  auto result = builder.initRoot<schema::Envelope>().initResult();
  result.setReason(static_cast<schema::Reason>(9999));

  const auto decoded = decode_result(flat(builder));

  EXPECT_EQ(decoded.error().code, Errc::malformed_message);
  EXPECT_EQ(decoded.error().detail, "reason has a word that is not in its list");
}

TEST(HostileMessage, OfANewerProtocolIsAMismatchWhenItCannotBeRead) {
  capnp::MallocMessageBuilder builder;
  auto envelope = builder.initRoot<schema::Envelope>();
  envelope.setProtocol(kProtocolVersionMax + 1);
  envelope.initResult().setReason(static_cast<schema::Reason>(9999));

  EXPECT_EQ(decode_to_coordinator(flat(builder)).error().code, Errc::protocol_mismatch);
}

TEST(HostileMessage, OfANewerProtocolIsTakenWhenItCanBeRead) {
  capnp::MallocMessageBuilder builder;
  auto envelope = builder.initRoot<schema::Envelope>();
  envelope.setProtocol(kProtocolVersionMax + 1);
  envelope.initHello().setProtocolMax(7);

  const auto decoded = decode_to_coordinator(flat(builder));

  ASSERT_TRUE(decoded) << "a hello must be answered with a refusal, whatever its version";
  EXPECT_EQ(std::get<Hello>(*decoded).protocol_max, 7U);
}

TEST(HostileMessage, WithAMemberThatThisVersionLacksIsAMismatch) {
  std::string bytes = encode(ToCoordinator(Goodbye()));
  // Segment table (8 bytes), root pointer (8 bytes), then protocol (4 bytes) and the discriminant.
  const std::uint16_t unknown = 999;
  std::memcpy(bytes.data() + 20, &unknown, sizeof unknown);

  EXPECT_EQ(decode_to_coordinator(bytes).error().code, Errc::protocol_mismatch);
}

TEST(HostileMessage, WithNoMemberIsRefused) {
  capnp::MallocMessageBuilder builder;
  builder.initRoot<schema::Envelope>();

  EXPECT_FALSE(any_decoder_takes(flat(builder)));
}

TEST(HostileMessage, WithTextThatIsNoUtf8OrHoldsNulIsRefused) {
  for (const std::string& text : {std::string("\xFF"), std::string("a\0b", 3)}) {
    capnp::MallocMessageBuilder builder;
    builder.initRoot<schema::Envelope>().initHello().setHost(
        capnp::Text::Reader(text.c_str(), text.size()));

    EXPECT_EQ(decode_to_coordinator(flat(builder)).error().detail, "host is no clean UTF-8");
  }
}

TEST(HostileMessage, WithAHugeListOfNothingIsRefusedBeforeItIsRead) {
  capnp::MallocMessageBuilder builder;
  // Void elements take no space: the list says half a billion, the message stays small.
  auto hello = builder.initRoot<schema::Envelope>().initHello();
  hello.initRunning(1);
  std::string bytes = flat(builder);
  const std::size_t before = bytes.size();
  for (std::size_t at = 16; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    if ((word & 3U) != 1U) continue;  // not a list pointer
    std::string changed = bytes;
    const std::uint64_t huge =
        (word & 0xFFFFFFFFU) | (((1ULL << 29U) - 1) << 35U);  // void elements
    std::memcpy(changed.data() + at, &huge, 8);
    EXPECT_EQ(changed.size(), before);
    EXPECT_FALSE(decode_to_coordinator(changed));
  }
}

TEST(HostileMessage, WithADigestOfTheWrongLengthIsRefused) {
  capnp::MallocMessageBuilder builder;
  const std::string short_digest(31, 'd');
  builder.initRoot<schema::Envelope>().initPutBegin().setDigest(capnp::Data::Reader(
      reinterpret_cast<const kj::byte*>(short_digest.data()), short_digest.size()));

  EXPECT_EQ(decode_bulk_to_coordinator(flat(builder)).error().detail,
            "digest is no SHA-256 digest");
}

TEST(HostileMessage, WithAChunkOverTheLimitIsRefused) {
  const PutChunk chunk{1, 2, 0, std::string(kBulkChunkBytes + 1, 'c')};

  EXPECT_EQ(decode_bulk_to_coordinator(encode(BulkToCoordinator(chunk))).error().detail,
            "bytes is too long");
}

}  // namespace
}  // namespace cupel::wire
