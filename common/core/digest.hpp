/// SHA-256 digests as the name of artifacts, images and trees.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cupel {

struct Digest {
  std::array<std::uint8_t, 32> bytes{};

  friend auto operator<=>(const Digest&, const Digest&) = default;
  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::string hex() const;
  /// 64 lower-case hex digits, with or without "sha256:".
  [[nodiscard]] static std::optional<Digest> parse(std::string_view text);
};

[[nodiscard]] Digest sha256(std::string_view bytes);

/// Digest of bytes that arrive in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(std::string_view bytes);
  /// Once; the object is spent afterwards.
  [[nodiscard]] Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel
