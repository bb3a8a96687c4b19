#include "common/text/utf8.hpp"

#include <cstdint>

namespace cupel::text {
namespace {

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

bool is_continuation(std::uint8_t byte) {
  return (byte & 0xC0U) == 0x80U;
}

/// Length of the valid sequence that starts at `at`; 0 where there is none.
std::size_t sequence_length(std::string_view bytes, std::size_t at) {
  const std::uint8_t lead = byte_at(bytes, at);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  std::uint8_t second_min = 0x80;
  std::uint8_t second_max = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) second_min = 0xA0;  // overlong below
    if (lead == 0xED) second_max = 0x9F;  // surrogates above
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) second_min = 0x90;
    if (lead == 0xF4) second_max = 0x8F;  // above U+10FFFF
  } else {
    return 0;
  }
  if (at + length > bytes.size()) return 0;
  const std::uint8_t second = byte_at(bytes, at + 1);
  if (second < second_min || second > second_max) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (!is_continuation(byte_at(bytes, at + i))) return 0;
  }
  return length;
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = sequence_length(bytes, at);
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::string printable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = sequence_length(bytes, at);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      ++at;
      continue;
    }
    const std::uint8_t lead = byte_at(bytes, at);
    const bool c0 = lead < 0x20 && lead != '\n' && lead != '\t';
    const bool c1 = length == 2 && lead == 0xC2 && byte_at(bytes, at + 1) < 0xA0;
    if (!c0 && lead != 0x7F && !c1) out.append(bytes.substr(at, length));
    at += length;
  }
  return out;
}

std::size_t width(std::string_view utf8) {
  std::size_t count = 0;
  for (const char c : utf8) {
    if (!is_continuation(static_cast<std::uint8_t>(c))) ++count;
  }
  return count;
}

std::string shortened(std::string_view utf8, std::size_t columns) {
  if (width(utf8) <= columns) return std::string(utf8);
  if (columns == 0) return "";
  std::size_t at = 0;
  for (std::size_t shown = 0; at < utf8.size(); ++at) {
    if (is_continuation(byte_at(utf8, at))) continue;
    if (shown + 1 == columns) break;
    ++shown;
  }
  return std::string(utf8.substr(0, at)) + "…";
}

std::string_view cut_to_bytes(std::string_view utf8, std::size_t bytes_max) {
  if (utf8.size() <= bytes_max) return utf8;
  std::size_t end = bytes_max;
  while (end > 0 && is_continuation(byte_at(utf8, end))) --end;
  return utf8.substr(0, end);
}

}  // namespace cupel::text
