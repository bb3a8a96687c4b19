/// Keeps the beginning and the end of a stream of any length in bounded memory. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupel::worker {

class HeadTail {
 public:
  /// `bytes_max`: kept of the stream, half of it from the beginning, the rest from the end.
  explicit HeadTail(std::uint64_t bytes_max);

  void feed(std::string_view bytes);
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] bool truncated() const { return total_ > head_max_ + tail_max_; }
  /// What was kept. When something is missing, a line between head and tail says how much.
  [[nodiscard]] std::string take();

 private:
  std::uint64_t head_max_;
  std::uint64_t tail_max_;
  std::uint64_t total_ = 0;
  std::string head_;
  std::string tail_;            ///< A ring once it is full.
  std::size_t tail_begin_ = 0;  ///< Where the oldest byte of a full ring is.
};

}  // namespace cupel::worker
