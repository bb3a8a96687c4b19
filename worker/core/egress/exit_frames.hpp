/// What the worker and an exit container (cupel-init --exit) say to one another over the
/// container's stdin and stdout: the connections that a run makes, as streams of frames. Pure, and
/// plain enough for the static program, which has no C++ library.
///
/// A frame is its kind (one byte), the length of its payload (three, big-endian), its stream (four,
/// big-endian), and the payload. Streams are numbered by the container and never used again; a
/// frame of a stream that is over is dropped. Each side may send kExitWindowBytes of a stream's
/// bytes, and what the other side then gives, so that one slow connection holds up no other.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace cupel::worker::egress {

enum class ExitFrame : uint8_t {
  look = 'L',   ///< To the container: look again. Without a stream.
  seen = 'S',   ///< From it, at its start and for each look: parse_exit_seen() reads it.
  begin = 'B',  ///< From it: a connection was made.
  bytes = 'D',  ///< Both ways.
  end = 'E',    ///< Both ways: no more bytes in this direction.
  cut = 'X',    ///< Both ways: the stream is over.
  give = 'G',   ///< Both ways: so many bytes more may be sent; four bytes, big-endian.
};

inline constexpr size_t kExitHeadBytes = 8;
inline constexpr size_t kExitPayloadBytesMax = size_t{64} * 1024;
inline constexpr uint32_t kExitWindowBytes = 128U * 1024U;
/// What was taken is given back in pieces of this size.
inline constexpr uint32_t kExitGiveBytes = kExitWindowBytes / 4;

inline void write_u32(unsigned char* to, uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) to[i] = static_cast<unsigned char>(value >> (24U - 8U * i));
}

inline uint32_t read_u32(const unsigned char* from) {
  uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value = value << 8U | from[i];
  return value;
}

struct ExitHead {
  ExitFrame kind = ExitFrame::cut;
  uint32_t length = 0;  ///< Of the payload; at most 24 bits can be said.
  uint32_t stream = 0;
};

inline void write_head(unsigned char* to, const ExitHead& head) {
  write_u32(to, head.length);
  to[0] = static_cast<unsigned char>(head.kind);
  write_u32(to + 4, head.stream);
}

inline ExitHead read_head(const unsigned char* from) {
  return {static_cast<ExitFrame>(from[0]), read_u32(from) & 0xFFFFFFU, read_u32(from + 4)};
}

}  // namespace cupel::worker::egress
