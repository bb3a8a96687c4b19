/// Values by a 32-bit handle, in chunks that never move: a million small records without the peak
/// of a growing vector and without a node a record.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cupel::coordinator {

using Handle = std::uint32_t;
inline constexpr Handle kNoHandle = 0xffffffffU;

template <typename T>
class Pool {
 public:
  Handle add(T value) {
    Handle handle = kNoHandle;
    if (!free_.empty()) {
      handle = free_.back();
      free_.pop_back();
    } else {
      handle = used_++;
      if (handle / kChunk == chunks_.size()) chunks_.push_back(std::make_unique<Chunk>());
    }
    (*this)[handle] = std::move(value);
    ++size_;
    return handle;
  }
  /// The value is reset; the handle will be given out again.
  void remove(Handle handle) {
    (*this)[handle] = T{};
    free_.push_back(handle);
    --size_;
  }
  [[nodiscard]] T& operator[](Handle handle) {
    return (*chunks_[handle / kChunk])[handle % kChunk];
  }
  [[nodiscard]] const T& operator[](Handle handle) const {
    return (*chunks_[handle / kChunk])[handle % kChunk];
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Every handle below this one has been given out at some time; removed ones hold a reset value.
  [[nodiscard]] Handle end() const { return used_; }

 private:
  static constexpr std::size_t kChunk = 4096;
  using Chunk = std::array<T, kChunk>;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Handle> free_;
  Handle used_ = 0;
  std::size_t size_ = 0;
};

}  // namespace cupel::coordinator
