#include "coordinator/core/leases.hpp"

namespace cupel::coordinator {

void AcceptedResults::add(Token token, Handle worker, std::uint64_t batch) {
  if (limit_ == 0) return;
  if (ring_.size() < limit_) {
    ring_.push_back(token.value);
  } else {
    accepted_.erase(ring_[next_]);
    ring_[next_] = token.value;
    next_ = (next_ + 1) % limit_;
  }
  accepted_[token.value] = {batch, worker};
}

std::optional<std::uint64_t> AcceptedResults::find(Token token, Handle worker) const {
  const auto found = accepted_.find(token.value);
  if (found == accepted_.end() || found->second.worker != worker) return std::nullopt;
  return found->second.batch;
}

}  // namespace cupel::coordinator
