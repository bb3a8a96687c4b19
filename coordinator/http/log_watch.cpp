#include "coordinator/http/log_watch.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cupel::coordinator::http {

namespace asio = boost::asio;

asio::awaitable<void> LogWatch::changed(std::uint64_t seen, TimePoint until) {
  // Taken off the list however this coroutine ends: also by the end of its connection.
  struct Entry {
    LogWatch& watch;
    asio::steady_timer timer;
    explicit Entry(LogWatch& of) : watch(of), timer(of.loop_) {
      watch.waiting_.insert(&timer);
      ++watch.waiters_;
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      --watch.waiters_;
      watch.waiting_.erase(&timer);
    }
  };
  Entry entry(*this);
  if (changes_ != seen) co_return;
  entry.timer.expires_at(until);
  boost::system::error_code ended;
  co_await entry.timer.async_wait(asio::redirect_error(asio::use_awaitable, ended));
}

void LogWatch::notify() {
  ++changes_;
  if (waiters_ == 0) return;
  asio::post(loop_, [this] {
    for (asio::steady_timer* timer : waiting_) timer->cancel();
  });
}

}  // namespace cupel::coordinator::http
