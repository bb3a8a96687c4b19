#include "coordinator/core/leases.hpp"

namespace cupel::coordinator {

void AcceptedResults::add(Token token, std::uint64_t batch) {
  if (limit_ == 0) return;
  if (ring_.size() < limit_) {
    ring_.push_back(token.value);
  } else {
    batches_.erase(ring_[next_]);
    ring_[next_] = token.value;
    next_ = (next_ + 1) % limit_;
  }
  batches_[token.value] = batch;
}

std::optional<std::uint64_t> AcceptedResults::find(Token token) const {
  const auto found = batches_.find(token.value);
  if (found == batches_.end()) return std::nullopt;
  return found->second;
}

}  // namespace cupel::coordinator
