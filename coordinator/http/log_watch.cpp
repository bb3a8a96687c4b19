#include "coordinator/http/log_watch.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace cupel::coordinator::http {

namespace asio = boost::asio;

asio::awaitable<void> LogWatch::changed(TimePoint until) {
  // Taken off the list however this coroutine ends: also by the end of its connection.
  struct Entry {
    std::unordered_set<asio::steady_timer*>& all;
    asio::steady_timer timer;
    Entry(std::unordered_set<asio::steady_timer*>& list, const asio::any_io_executor& loop)
        : all(list), timer(loop) {
      all.insert(&timer);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() { all.erase(&timer); }
  };
  Entry entry(waiting_, co_await asio::this_coro::executor);
  entry.timer.expires_at(until);
  boost::system::error_code ended;
  co_await entry.timer.async_wait(asio::redirect_error(asio::use_awaitable, ended));
}

void LogWatch::notify() {
  for (asio::steady_timer* timer : waiting_) timer->cancel();
}

}  // namespace cupel::coordinator::http
