#include "common/async/semaphore.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <list>

namespace cupel::async {

namespace asio = boost::asio;

namespace detail {

struct Waiter {
  explicit Waiter(const asio::any_io_executor& executor)
      : timer(executor, asio::steady_timer::time_point::max()) {}
  asio::steady_timer timer;
  bool has_place = false;
};

struct SemaphoreState {
  SemaphoreState(asio::any_io_executor on, std::size_t places)
      : executor(std::move(on)), free(places) {}

  // A place goes straight to the first in line, so that nobody overtakes.
  void give_back() {
    if (waiters.empty()) {
      ++free;
      return;
    }
    const auto first = waiters.front();
    waiters.pop_front();
    first->has_place = true;
    first->timer.cancel();
  }

  asio::any_io_executor executor;
  std::size_t free;
  std::list<std::shared_ptr<Waiter>> waiters;
};

}  // namespace detail

Permit& Permit::operator=(Permit&& other) noexcept {
  if (this != &other) {
    release();
    state_ = std::exchange(other.state_, nullptr);
  }
  return *this;
}

void Permit::release() {
  if (const auto state = std::exchange(state_, nullptr)) state->give_back();
}

AsyncSemaphore::AsyncSemaphore(asio::any_io_executor executor, std::size_t places)
    : state_(std::make_shared<detail::SemaphoreState>(std::move(executor), places)) {}

Permit AsyncSemaphore::try_acquire() {
  if (state_->free == 0 || !state_->waiters.empty()) return {};
  --state_->free;
  return Permit(state_);
}

namespace {

// Leaves the line when the waiting coroutine ends, however it ends; a place that was given but not
// taken goes on to the next.
class InLine {
 public:
  explicit InLine(std::shared_ptr<detail::SemaphoreState> state)
      : state_(std::move(state)), waiter_(std::make_shared<detail::Waiter>(state_->executor)) {
    state_->waiters.push_back(waiter_);
  }
  InLine(const InLine&) = delete;
  InLine& operator=(const InLine&) = delete;
  ~InLine() {
    if (waiter_->has_place) {
      state_->give_back();
    } else {
      state_->waiters.remove(waiter_);
    }
  }
  [[nodiscard]] asio::steady_timer& timer() { return waiter_->timer; }
  /// True once when a place was given; it is the caller's then.
  bool take() { return std::exchange(waiter_->has_place, false); }

 private:
  std::shared_ptr<detail::SemaphoreState> state_;
  std::shared_ptr<detail::Waiter> waiter_;
};

}  // namespace

asio::awaitable<Permit> AsyncSemaphore::acquire() {
  const auto state = state_;
  Permit at_once = try_acquire();
  if (at_once) co_return std::move(at_once);
  InLine line(state);
  boost::system::error_code woken;
  co_await line.timer().async_wait(asio::redirect_error(asio::use_awaitable, woken));
  // A place that came together with the cancellation is taken: the caller gives it back by itself.
  if (line.take()) co_return Permit(state);
  co_return Permit();
}

std::size_t AsyncSemaphore::free() const {
  return state_->free;
}

std::size_t AsyncSemaphore::waiting() const {
  return state_->waiters.size();
}

}  // namespace cupel::async
