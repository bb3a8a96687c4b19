#include "common/net/curve_keys.hpp"

#include "common/fs/files.hpp"
#include "common/net/text_lines.hpp"

#include <zmq.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace cupel::net {
namespace {

constexpr std::uint64_t kKeyFileBytesMax = 4096;

using Bytes = std::array<std::uint8_t, kKeyBytes>;
using KeyText = std::array<char, kKeyTextChars + 1>;

// What libzmq makes of other characters differs by version, so they are looked at first.
constexpr std::string_view kZ85 =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

std::optional<Bytes> decode_z85(std::string_view text) {
  if (text.size() != kKeyTextChars || text.find_first_not_of(kZ85) != std::string_view::npos) {
    return std::nullopt;
  }
  KeyText terminated{};
  std::ranges::copy(text, terminated.begin());
  Bytes bytes{};
  if (zmq_z85_decode(bytes.data(), terminated.data()) == nullptr) return std::nullopt;
  return bytes;
}

std::string encode_z85(const Bytes& bytes) {
  KeyText text{};
  zmq_z85_encode(text.data(), bytes.data(), bytes.size());
  return text.data();
}

void wipe(void* memory, std::size_t size) {
  explicit_bzero(memory, size);
}

Error unreadable(const std::filesystem::path& file, std::size_t line, std::size_t column,
                 const std::string& what) {
  return {.code = Errc::key_unreadable,
          .what = place(file.string(), line, column) + ": " + what,
          .detail = {},
          .hint = {}};
}

struct KeyFile {
  std::optional<Bytes> public_half;
  std::optional<Bytes> secret_half;
};

Result<KeyFile> parse_key_file(std::string_view text, const std::filesystem::path& file) {
  KeyFile keys;
  for (const Line& line : lines_of(text)) {
    if (line.words.empty()) continue;
    const Word& word = line.words.front();
    const bool is_secret = word.text == "secret";
    if (!is_secret && word.text != "public") {
      return unreadable(file, line.number, word.column, "expected 'public' or 'secret'");
    }
    if (line.words.size() != 2) {
      return unreadable(file, line.number, word.column, "expected one key behind the word");
    }
    auto& half = is_secret ? keys.secret_half : keys.public_half;
    if (half) return unreadable(file, line.number, word.column, "this key stands twice");
    half = decode_z85(line.words[1].text);
    if (!half) {
      return unreadable(file, line.number, line.words[1].column,
                        "not a key: expected 40 characters of Z85");
    }
  }
  return keys;
}

// read_secret and read_file say not_found; for a key that has its own code and hint.
Error key_error(Error error) {
  if (error.code == Errc::not_found || error.code == Errc::too_large) {
    error.code = Errc::key_unreadable;
  }
  return error;
}

std::string first_line(std::string_view kind, std::string_view note) {
  std::string text = "# Cupel " + std::string(kind);
  if (!note.empty()) {
    text += " (";
    for (const char c : note) text += c == '\n' || c == '\r' ? ' ' : c;
    text += ")";
  }
  return text + "\n";
}

}  // namespace

bool PublicKey::empty() const {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

std::string PublicKey::z85() const {
  return empty() ? std::string() : encode_z85(bytes);
}

std::optional<PublicKey> PublicKey::from_z85(std::string_view text) {
  const auto bytes = decode_z85(text);
  if (!bytes) return std::nullopt;
  return PublicKey{*bytes};
}

std::optional<PublicKey> PublicKey::from_raw(std::string_view bytes) {
  if (bytes.size() != kKeyBytes) return std::nullopt;
  PublicKey key;
  std::memcpy(key.bytes.data(), bytes.data(), kKeyBytes);
  return key;
}

SecretKey::~SecretKey() {
  wipe(bytes_.data(), bytes_.size());
}

KeyPair generate_key_pair() {
  KeyText public_text{};
  KeyText secret_text{};
  if (zmq_curve_keypair(public_text.data(), secret_text.data()) != 0) {
    throw std::logic_error("libzmq was built without CURVE");
  }
  auto secret = decode_z85(std::string_view(secret_text.data()));
  KeyPair pair{.public_key = PublicKey::from_z85(public_text.data()).value(),
               .secret_key = SecretKey(secret.value())};
  wipe(secret_text.data(), secret_text.size());
  wipe(secret->data(), secret->size());
  return pair;
}

Result<void> write_key_file(const std::filesystem::path& file, const KeyPair& pair,
                            std::string_view note) {
  std::string text = first_line("secret key: keep it on this machine", note) + "public  " +
                     pair.public_key.z85() + "\nsecret  " + encode_z85(pair.secret_key.bytes()) +
                     "\n";
  auto written = fs::create_file_durably(file, text, 0600);
  wipe(text.data(), text.size());
  if (!written && written.error().code == Errc::already_exists) {
    Error error = std::move(written).error();
    error.what = "a key exists already at " + file.string();
    error.hint = "a key is never overwritten: choose another file, or move the old one away";
    return error;
  }
  return written;
}

Result<void> write_public_key_file(const std::filesystem::path& file, const PublicKey& key,
                                   std::string_view note) {
  return fs::write_file_durably(
      file, first_line("public key: may be handed out", note) + "public  " + key.z85() + "\n",
      0644);
}

Result<KeyPair> read_key_file(const std::filesystem::path& file) {
  auto text = fs::read_secret(file, kKeyFileBytesMax);
  if (!text) return key_error(std::move(text).error());
  auto keys = parse_key_file(*text, file);
  wipe(text->data(), text->size());
  if (!keys) return std::move(keys).error();
  if (!keys->secret_half || !keys->public_half) {
    return unreadable(file, 1, 1,
                      keys->public_half ? "no secret key in this file: it is a public one"
                                        : "this file needs a public and a secret key");
  }
  KeyText derived{};
  std::string secret_text = encode_z85(*keys->secret_half);
  const bool derivable = zmq_curve_public(derived.data(), secret_text.c_str()) == 0;
  wipe(secret_text.data(), secret_text.size());
  KeyPair pair{.public_key = PublicKey{*keys->public_half},
               .secret_key = SecretKey(*keys->secret_half)};
  wipe(keys->secret_half->data(), kKeyBytes);
  if (!derivable || pair.public_key.z85() != derived.data()) {
    return unreadable(file, 1, 1, "the public key is not the one of the secret key");
  }
  return pair;
}

Result<PublicKey> read_public_key_file(const std::filesystem::path& file) {
  auto text = fs::read_file(file, kKeyFileBytesMax);
  if (!text) return key_error(std::move(text).error());
  auto keys = parse_key_file(*text, file);
  wipe(text->data(), text->size());
  if (!keys) return std::move(keys).error();
  if (keys->secret_half) {
    auto pair = read_key_file(file);
    if (!pair) return std::move(pair).error();
    return pair->public_key;
  }
  if (!keys->public_half) return unreadable(file, 1, 1, "no public key in this file");
  return PublicKey{*keys->public_half};
}

Result<PublicKey> parse_public_key(std::string_view text, std::string_view where) {
  const auto key = PublicKey::from_z85(text);
  if (key && !key->empty()) return *key;
  return Error{.code = Errc::key_unreadable,
               .what = std::string(where) +
                       ": not a public key: expected 40 characters of Z85, found " +
                       std::to_string(text.size()),
               .detail = {},
               .hint = "'cupel key show FILE' prints the public key of a key file"};
}

}  // namespace cupel::net

std::size_t std::hash<cupel::net::PublicKey>::operator()(
    const cupel::net::PublicKey& key) const noexcept {
  // A key is uniformly random, and only trusted ones get into a table: any eight bytes serve.
  std::size_t value = 0;
  std::memcpy(&value, key.bytes.data(), sizeof value);
  return value;
}
