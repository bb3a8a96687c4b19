// The engine's multiplexed stream: no input may crash, and no split may change the payload.
#include "common/engine/log_frames.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

struct Collected {
  std::string out;
  std::string err;
  cupel::engine::LogFrames frames{[this](cupel::Stream stream, std::string_view bytes) {
    (stream == cupel::Stream::out ? out : err) += bytes;
  }};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(data + 1, data + size);
  const std::size_t split = bytes.size() * data[0] / 256;
  Collected whole;
  whole.frames.feed(bytes);
  Collected parts;
  parts.frames.feed(std::string_view(bytes).substr(0, split));
  for (std::size_t at = split; at < bytes.size(); ++at) {
    parts.frames.feed(std::string_view(bytes).substr(at, 1));
  }
  const bool same = whole.out == parts.out && whole.err == parts.err &&
                    whole.frames.malformed() == parts.frames.malformed() &&
                    whole.frames.mid_frame() == parts.frames.mid_frame() &&
                    whole.out.size() + whole.err.size() <= bytes.size();
  if (!same) std::abort();
  return 0;
}
