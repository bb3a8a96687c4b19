#include "worker/core/sumdb/note.hpp"

#include "common/core/digest.hpp"
#include "common/core/utf8.hpp"

#include <sodium.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace cupel::worker::sumdb {

namespace {

constexpr std::uint8_t kEd25519 = 1;
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kIdBytes = 4;
constexpr std::size_t kNameBytesMax = 255;
constexpr int kSignaturesMax = 100;
constexpr std::string_view kSignatureMark = "\xe2\x80\x94 ";  // an em dash

// The public database's, without its name: the id fits to that name alone.
constexpr std::string_view kPublicKey = "+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8";

Error bad_note(std::string what) {
  return {.code = Errc::bad_value,
          .what = "checksum database: " + std::move(what),
          .detail = {},
          .hint = {}};
}

Error unusable(std::string what) {
  return {
      .code = Errc::bad_config, .what = "GOSUMDB: " + std::move(what), .detail = {}, .hint = {}};
}

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return (std::uint32_t{bytes[0]} << 24U) | (std::uint32_t{bytes[1]} << 16U) |
         (std::uint32_t{bytes[2]} << 8U) | std::uint32_t{bytes[3]};
}

bool is_signer_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax &&
         std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~' && c != '+'; });
}

/// A host, and perhaps a path: nothing that an URL reads as something else.
bool is_place(std::string_view name) {
  if (name.front() == '/' || name.front() == '.' || name.front() == '-' || name.ends_with('/') ||
      name.find("..") != std::string_view::npos || name.find("//") != std::string_view::npos) {
    return false;
  }
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(".-_/:").find(c) != std::string_view::npos;
  });
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

}  // namespace

bool decode_base64(std::string_view text, std::uint8_t* into, std::size_t bytes) {
  if (text.size() != (bytes + 2) / 3 * 4) return false;
  std::size_t count = 0;
  const char* end = nullptr;
  return ::sodium_base642bin(into, bytes, text.data(), text.size(), nullptr, &count, &end,
                             sodium_base64_VARIANT_ORIGINAL) == 0 &&
         count == bytes && end == text.data() + text.size();
}

std::string encode_base64(const std::uint8_t* bytes, std::size_t count) {
  std::string text(sodium_base64_ENCODED_LEN(count, sodium_base64_VARIANT_ORIGINAL), '\0');
  ::sodium_bin2base64(text.data(), text.size(), bytes, count, sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();  // the zero at its end
  return text;
}

Result<Verifier> parse_verifier(std::string_view text) {
  const std::size_t first = text.find('+');
  const std::size_t second = first == std::string_view::npos ? first : text.find('+', first + 1);
  if (second == std::string_view::npos) return bad_note("a verifier key is name+hash+key");
  Verifier verifier;
  verifier.name = text.substr(0, first);
  if (!is_signer_name(verifier.name)) return bad_note("the verifier key has no usable name");
  const std::string_view hash = text.substr(first + 1, second - first - 1);
  const auto [end, fault] =
      std::from_chars(hash.data(), hash.data() + hash.size(), verifier.id, 16);
  if (hash.size() != 2 * kIdBytes || fault != std::errc{} || end != hash.data() + hash.size()) {
    return bad_note("the hash of the verifier key is no 8 hex digits");
  }
  std::array<std::uint8_t, 1 + kKeyBytes> key{};
  if (!decode_base64(text.substr(second + 1), key.data(), key.size()) || key[0] != kEd25519) {
    return bad_note("the verifier key is no Ed25519 key");
  }
  const std::string_view key_bytes(reinterpret_cast<const char*>(key.data()), key.size());
  const Digest hashed = sha256(verifier.name + "\n" + std::string(key_bytes));
  if (big_endian(hashed.bytes.data()) != verifier.id) {
    return bad_note("the hash of the verifier key is not that of its name and key");
  }
  std::copy(key.begin() + 1, key.end(), verifier.key.begin());
  return verifier;
}

Result<Database> parse_database(std::string_view gosumdb) {
  const auto words = words_of(gosumdb);
  if (words.empty() || words.front() == "off") return unusable("there is no checksum database");
  if (words.size() > 2) return unusable("more than a key and a URL");
  const std::string_view key = words.front();
  const bool bare = key.find('+') == std::string_view::npos;
  auto verifier =
      parse_verifier(bare ? std::string(key) + std::string(kPublicKey) : std::string(key));
  if (!verifier && bare) return unusable("no key is known for '" + std::string(key) + "'");
  if (!verifier) return verifier.error();
  if (!is_place(verifier->name)) {
    return unusable("'" + verifier->name + "' can't be the name of a checksum database");
  }
  Database database{.verifier = *std::move(verifier), .url = {}};
  if (words.size() == 1) return database;
  database.url = words[1];
  if (!database.url.starts_with("https://") && !database.url.starts_with("http://")) {
    return unusable("the place of the checksum database is no http or https URL");
  }
  while (database.url.ends_with('/')) database.url.pop_back();
  return database;
}

Result<std::string> open_note(std::string_view note, const Verifier& verifier) {
  if (note.size() > kNoteBytesMax) return bad_note("the note is too large");
  const bool plain = is_clean_text(note) && std::ranges::all_of(note, [](char c) {
                       return c == '\n' || static_cast<unsigned char>(c) >= ' ';
                     });
  const std::size_t split = note.rfind("\n\n");
  if (!plain || split == std::string_view::npos || !note.ends_with('\n')) {
    return bad_note("the note is malformed");
  }
  std::string text(note.substr(0, split + 1));
  std::string_view rest = note.substr(split + 2);
  if (rest.empty()) return bad_note("the note has no signature");
  bool proved = false;
  for (int count = 0; !rest.empty(); ++count) {
    if (count == kSignaturesMax) return bad_note("the note has too many signatures");
    const std::size_t line_end = rest.find('\n');
    std::string_view line = rest.substr(0, line_end);
    rest.remove_prefix(line_end + 1);
    if (!line.starts_with(kSignatureMark)) return bad_note("the note has a malformed signature");
    line.remove_prefix(kSignatureMark.size());
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return bad_note("the note has a malformed signature");
    if (line.substr(0, space) != verifier.name) continue;
    std::array<std::uint8_t, kIdBytes + kSignatureBytes> signature{};
    if (!decode_base64(line.substr(space + 1), signature.data(), signature.size())) {
      return bad_note("the note has a malformed signature");
    }
    if (big_endian(signature.data()) != verifier.id) continue;
    if (::crypto_sign_ed25519_verify_detached(signature.data() + kIdBytes,
                                              reinterpret_cast<const unsigned char*>(text.data()),
                                              text.size(), verifier.key.data()) != 0) {
      return Error{.code = Errc::artifact_mismatch,
                   .what = "checksum database: the signature of " + verifier.name + " is wrong",
                   .detail = {},
                   .hint = {}};
    }
    proved = true;
  }
  if (proved) return text;
  return Error{.code = Errc::artifact_mismatch,
               .what = "checksum database: the note isn't signed by " + verifier.name,
               .detail = {},
               .hint = {}};
}

}  // namespace cupel::worker::sumdb
