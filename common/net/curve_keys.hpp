/// CURVE keys of the fleet and their files. A secret file is 0600, made once and never overwritten:
///
///   # Cupel secret key: keep it on this machine (made 2026-11-29T16:02:11Z)
///   public  <40 characters of Z85>
///   secret  <40 characters of Z85>
///
/// A public file has the first two lines only and may be readable by everybody.
#pragma once

#include "common/core/error.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::net {

inline constexpr std::size_t kKeyBytes = 32;
inline constexpr std::size_t kKeyTextChars = 40;

/// Raw bytes; all zero means "no key" (a peer on a plain socket).
struct PublicKey {
  std::array<std::uint8_t, kKeyBytes> bytes{};

  friend auto operator<=>(const PublicKey&, const PublicKey&) = default;
  [[nodiscard]] bool empty() const;
  /// 40 characters of Z85; empty for no key.
  [[nodiscard]] std::string z85() const;
  [[nodiscard]] static std::optional<PublicKey> from_z85(std::string_view text);
  [[nodiscard]] static std::optional<PublicKey> from_raw(std::string_view bytes);
};

/// Cleared from memory when destroyed; never printed.
class SecretKey {
 public:
  SecretKey() = default;
  explicit SecretKey(const std::array<std::uint8_t, kKeyBytes>& bytes) : bytes_(bytes) {}
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey();
  [[nodiscard]] const std::array<std::uint8_t, kKeyBytes>& bytes() const { return bytes_; }

 private:
  std::array<std::uint8_t, kKeyBytes> bytes_{};
};

struct KeyPair {
  PublicKey public_key;
  SecretKey secret_key;
};

[[nodiscard]] KeyPair generate_key_pair();

/// Durable, 0600. `note` goes into the comment of the first line (such as the time); one line.
/// Errors: already_exists (a key is never overwritten), io_error, disk_full.
[[nodiscard]] Result<void> write_key_file(const std::filesystem::path& file, const KeyPair& pair,
                                          std::string_view note);
/// 0644; replaces an older file. Errors: io_error, disk_full.
[[nodiscard]] Result<void> write_public_key_file(const std::filesystem::path& file,
                                                 const PublicKey& key, std::string_view note);
/// Errors: key_unreadable (missing or malformed, with file:line:column), key_permissions. Also
/// refused: a public half that doesn't belong to the secret one.
[[nodiscard]] Result<KeyPair> read_key_file(const std::filesystem::path& file);
/// Of a public file, or of a secret file (then owner-only as well). Errors: as read_key_file.
[[nodiscard]] Result<PublicKey> read_public_key_file(const std::filesystem::path& file);
/// A key as text, from a flag or a setting; `place` names where it stood, for the message.
[[nodiscard]] Result<PublicKey> parse_public_key(std::string_view text, std::string_view place);

}  // namespace cupel::net

template <>
struct std::hash<cupel::net::PublicKey> {
  std::size_t operator()(const cupel::net::PublicKey& key) const noexcept;
};
