// Work that needs the module proxies waits while all of them are left alone.
#include "common/async/with_budget.hpp"
#include "worker/app/attempt.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace cupel::worker {

namespace asio = boost::asio;

namespace {

constexpr Duration kLookPeriod = std::chrono::seconds(1);

}  // namespace

asio::awaitable<void> TaskRunner::wait_for_upstream(AttemptPtr attempt) {
  bool waited = false;
  while (parts_.upstream_pause && !attempt->cancel->cancelled()) {
    const std::optional<Duration> pause = co_await parts_.upstream_pause();
    if (!pause) break;
    if (!std::exchange(waited, true)) {
      spdlog::warn("{}: waits, the module proxies fail", attempt->lease.spec.id.text());
      attempt->notes.emplace_back("waited for module proxies that failed");
    }
    (void)co_await async::sleep_for(std::min(*pause, kLookPeriod));
  }
}

}  // namespace cupel::worker
