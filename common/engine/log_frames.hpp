/// The engine's multiplexed stream: frames of an 8-byte header (stream, three zeros, big-endian
/// length) and a payload. Incremental and bounded: nothing of a frame's declared length is
/// allocated.
#pragma once

#include "common/core/outcome.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cupel::engine {

class LogFrames {
 public:
  /// Called with pieces of a payload as they arrive, never with an empty piece.
  using Sink = std::function<void(Stream stream, std::string_view bytes)>;

  explicit LogFrames(Sink sink) : sink_(std::move(sink)) {}

  /// Any split of the same bytes gives the same payloads. Does nothing once malformed.
  void feed(std::string_view bytes);
  /// The stream ended inside a frame: something is missing.
  [[nodiscard]] bool mid_frame() const { return header_bytes_ != 0 || payload_left_ != 0; }
  /// A header that no engine writes, or the engine's own error; what follows can't be trusted.
  [[nodiscard]] bool malformed() const { return malformed_ || engine_speaks_; }
  /// What the engine said on its error stream (3) instead of output; at most 4 KiB.
  [[nodiscard]] const std::string& engine_words() const { return engine_words_; }

 private:
  void take_header();

  Sink sink_;
  std::array<unsigned char, 8> header_{};
  std::size_t header_bytes_ = 0;
  std::uint32_t payload_left_ = 0;
  Stream stream_ = Stream::out;
  bool malformed_ = false;
  bool engine_speaks_ = false;
  std::string engine_words_;
};

}  // namespace cupel::engine
