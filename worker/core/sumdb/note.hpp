/// Signed notes: text with Ed25519 signatures under it, as a checksum database signs its trees.
/// Pure. Source: golang.org/x/mod/sumdb/note.
#pragma once

#include "common/core/error.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace cupel::worker::sumdb {

/// Whose signature counts.
struct Verifier {
  std::string name;
  std::uint32_t id = 0;  ///< The first bytes of a hash over name and key.
  std::array<std::uint8_t, 32> key{};
  friend bool operator==(const Verifier&, const Verifier&) = default;
};

/// "name+hash+key", the hash in hex, the key in base64 behind a byte that says Ed25519. Errors:
/// bad_value, also where the hash is not that of name and key.
[[nodiscard]] Result<Verifier> parse_verifier(std::string_view text);

/// What a GOSUMDB says.
struct Database {
  Verifier verifier;
  std::string url;  ///< Where to ask instead of proxies; empty: proxies, then https://name.
  friend bool operator==(const Database&, const Database&) = default;
};

/// "name", "name+hash+key", each also with " URL". A bare name must be that of the public database,
/// whose key is known here as to the go command. Errors: bad_value; bad_config for "off", an
/// unknown name and a name that is no host.
[[nodiscard]] Result<Database> parse_database(std::string_view gosumdb);

/// More is no note.
inline constexpr std::size_t kNoteBytesMax = std::size_t{64} * 1024;

/// The text of a note that the verifier's key signed; signatures of others don't count. Errors:
/// bad_value (no note), artifact_mismatch (not signed by this key, or wrongly).
[[nodiscard]] Result<std::string> open_note(std::string_view note, const Verifier& verifier);

/// Standard base64 with padding of exactly as many bytes as `into` holds.
[[nodiscard]] bool decode_base64(std::string_view text, std::uint8_t* into, std::size_t bytes);
[[nodiscard]] std::string encode_base64(const std::uint8_t* bytes, std::size_t count);

}  // namespace cupel::worker::sumdb
