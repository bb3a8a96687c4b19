#include "common/http/event_stream.hpp"

#include "common/async/no_throw.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace cupel::http {
namespace {

constexpr auto kNever = boost::asio::steady_timer::time_point::max();

std::string to_text(const Event& event) {
  std::string text;
  if (event.id != 0) text += "id: " + std::to_string(event.id) + "\n";
  if (!event.type.empty()) text += "event: " + event.type + "\n";
  return text + "data: " + event.data + "\n\n";
}

}  // namespace

EventStream::EventStream(boost::asio::any_io_executor loop, std::size_t queue_max)
    : queue_max_(queue_max), room_(loop, kNever), filled_(loop, kNever) {}

boost::asio::awaitable<bool> EventStream::send(Event event) {
  while (!closed_ && queue_.size() >= queue_max_) {
    co_await room_.async_wait(kNoThrow);
  }
  if (closed_) co_return false;
  queue_.push_back(to_text(event));
  filled_.cancel();
  co_return true;
}

void EventStream::close() {
  closed_ = true;
  filled_.cancel();
  room_.cancel();
}

void EventStream::on_gone(std::function<void()> callback) {
  if (gone_) {
    callback();
    return;
  }
  on_gone_ = std::move(callback);
}

boost::asio::awaitable<std::string> EventStream::take(
    std::size_t bytes_max, std::chrono::steady_clock::time_point deadline) {
  while (queue_.empty() && !closed_) {
    filled_.expires_at(deadline);
    const auto [ec] = co_await filled_.async_wait(kNoThrow);
    if (!ec) break;
  }
  std::string text;
  while (!queue_.empty() && text.size() < bytes_max) {
    text += queue_.front();
    queue_.pop_front();
  }
  room_.cancel();
  co_return text;
}

void EventStream::gone() {
  if (gone_) return;
  gone_ = true;
  queue_.clear();
  close();
  if (on_gone_) std::exchange(on_gone_, {})();
}

}  // namespace cupel::http
