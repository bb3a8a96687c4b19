// A container's output stream with its markers: any split gives the same payload and the same
// trailer, and nothing of the payload is lost or held back for ever.
#include "worker/core/engine/wrapper_protocol.hpp"

#include "worker/core/engine/head_tail.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

const std::string kNonce = "0123456789abcdef";

struct Filtered {
  std::string payload;
  cupel::worker::HeadTail kept{16};
  cupel::worker::MarkerFilter filter{kNonce, [this](std::string_view bytes) {
                                       payload += bytes;
                                       kept.feed(bytes);
                                     }};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(data + 1, data + size);
  const std::size_t piece = 1 + data[0];
  Filtered whole;
  whole.filter.feed(bytes);
  whole.filter.finish();
  Filtered parts;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    parts.filter.feed(std::string_view(bytes).substr(at, piece));
  }
  parts.filter.finish();
  const bool same =
      whole.payload == parts.payload && whole.filter.started() == parts.filter.started() &&
      whole.filter.report().has_value() == parts.filter.report().has_value() &&
      whole.filter.bytes_after_end() == parts.filter.bytes_after_end() &&
      whole.kept.total() == whole.payload.size() && whole.kept.take() == parts.kept.take();
  const bool all_there = whole.filter.started() || whole.filter.report() || whole.payload == bytes;
  if (!same || !all_there) std::abort();
  return 0;
}
