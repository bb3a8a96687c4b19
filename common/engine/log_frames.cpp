#include "common/engine/log_frames.hpp"

#include <algorithm>

namespace cupel::engine {

namespace {

constexpr unsigned char kEngineErrors = 3;
constexpr std::size_t kEngineWordsBytesMax = 4096;

}  // namespace

void LogFrames::take_header() {
  header_bytes_ = 0;
  // Stream 0 is stdin echoed on stdout in the API's words; no engine sends it for our containers,
  // but it is well-formed.
  if (header_[0] > kEngineErrors || header_[1] != 0 || header_[2] != 0 || header_[3] != 0) {
    malformed_ = true;
    return;
  }
  engine_speaks_ = header_[0] == kEngineErrors;
  stream_ = header_[0] == 2 ? Stream::err : Stream::out;
  payload_left_ = (static_cast<std::uint32_t>(header_[4]) << 24U) |
                  (static_cast<std::uint32_t>(header_[5]) << 16U) |
                  (static_cast<std::uint32_t>(header_[6]) << 8U) | header_[7];
}

void LogFrames::feed(std::string_view bytes) {
  while (!bytes.empty() && !malformed_) {
    if (payload_left_ == 0) {
      if (engine_speaks_) return;
      header_[header_bytes_++] = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      if (header_bytes_ == header_.size()) take_header();
      continue;
    }
    const std::size_t take = std::min<std::size_t>(bytes.size(), payload_left_);
    if (engine_speaks_) {
      engine_words_ += bytes.substr(0, std::min(take, kEngineWordsBytesMax - engine_words_.size()));
    } else {
      sink_(stream_, bytes.substr(0, take));
    }
    payload_left_ -= static_cast<std::uint32_t>(take);
    bytes.remove_prefix(take);
  }
}

}  // namespace cupel::engine
