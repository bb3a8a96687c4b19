#include "worker/core/engine/head_tail.hpp"

#include <algorithm>
#include <utility>

namespace cupel::worker {

HeadTail::HeadTail(std::uint64_t bytes_max)
    : head_max_(bytes_max / 2), tail_max_(bytes_max - bytes_max / 2) {}

void HeadTail::feed(std::string_view bytes) {
  total_ += bytes.size();
  const std::size_t to_head = std::min<std::uint64_t>(
      bytes.size(), head_max_ - std::min<std::uint64_t>(head_max_, head_.size()));
  head_.append(bytes.substr(0, to_head));
  bytes.remove_prefix(to_head);
  if (bytes.size() > tail_max_) bytes.remove_prefix(bytes.size() - tail_max_);
  const std::size_t to_end = std::min<std::uint64_t>(bytes.size(), tail_max_ - tail_.size());
  tail_.append(bytes.substr(0, to_end));
  bytes.remove_prefix(to_end);
  while (!bytes.empty()) {
    const std::size_t room = tail_.size() - tail_begin_;
    const std::size_t take = std::min(bytes.size(), room);
    bytes.copy(tail_.data() + tail_begin_, take);
    tail_begin_ = (tail_begin_ + take) % tail_.size();
    bytes.remove_prefix(take);
  }
}

std::string HeadTail::take() {
  std::rotate(tail_.begin(), tail_.begin() + static_cast<std::ptrdiff_t>(tail_begin_), tail_.end());
  tail_begin_ = 0;
  std::string all = std::move(head_);
  if (truncated()) {
    all += "\n[cupel: " + std::to_string(total_ - all.size() - tail_.size()) +
           " bytes of output left out here]\n";
  }
  all += tail_;
  head_.clear();
  tail_.clear();
  return all;
}

}  // namespace cupel::worker
