#include "common/core/digest.hpp"

#include <algorithm>
#include <stdexcept>

#include <openssl/evp.h>

namespace cupel {
namespace {

std::optional<std::uint8_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

}  // namespace

bool Digest::empty() const {
  return std::ranges::all_of(bytes, [](std::uint8_t b) { return b == 0; });
}

std::string Digest::hex() const {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  text.reserve(64);
  for (const std::uint8_t byte : bytes) {
    text.push_back(kHex[byte >> 4U]);
    text.push_back(kHex[byte & 15U]);
  }
  return text;
}

std::optional<Digest> Digest::parse(std::string_view text) {
  if (text.starts_with("sha256:")) text.remove_prefix(7);
  if (text.size() != 64) return std::nullopt;
  Digest digest;
  for (std::size_t i = 0; i < 32; ++i) {
    const auto high = hex_digit(text[2 * i]);
    const auto low = hex_digit(text[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    digest.bytes[i] = static_cast<std::uint8_t>((*high << 4U) | *low);
  }
  return digest;
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL offers no SHA-256");
  }
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::string_view bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

Digest Sha256::finish() {
  Digest digest;
  EVP_DigestFinal_ex(state_->context, digest.bytes.data(), nullptr);
  return digest;
}

Digest sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

}  // namespace cupel
