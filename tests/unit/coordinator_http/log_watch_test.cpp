#include "coordinator/http/log_watch.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace cupel::coordinator::http {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kFar{60};

asio::awaitable<void> wait(LogWatch* watch, std::uint64_t seen, bool* woken) {
  const auto start = std::chrono::steady_clock::now();
  co_await watch->changed(seen, start + kFar);
  *woken = std::chrono::steady_clock::now() < start + kFar;
}

TEST(LogWatch, AChangeBetweenTheLookAndTheWaitIsNotMissed) {
  asio::io_context loop;
  LogWatch watch(loop);
  const std::uint64_t seen = watch.changes();
  watch.notify();
  bool woken = false;
  asio::co_spawn(loop, wait(&watch, seen, &woken), asio::detached);
  loop.run();
  EXPECT_TRUE(woken);
}

TEST(LogWatch, TheLoopSleepsWhileNobodyWaits) {
  asio::io_context loop;
  LogWatch watch(loop);
  watch.notify();
  EXPECT_EQ(loop.poll(), 0U);
}

asio::awaitable<void> follow(LogWatch* watch, const std::atomic<int>* grown, int until) {
  for (;;) {
    const std::uint64_t seen = watch->changes();
    if (*grown >= until) co_return;
    co_await watch->changed(seen, std::chrono::steady_clock::now() + kFar);
  }
}

TEST(LogWatch, EveryWaiterSeesTheLastChangeOfAnotherThread) {
  constexpr int kChanges = 20'000;
  asio::io_context loop;
  LogWatch watch(loop);
  std::atomic<int> grown = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i)
    asio::co_spawn(loop, follow(&watch, &grown, kChanges), asio::detached);
  std::thread writer([&] {
    for (int i = 0; i < kChanges; ++i) {
      ++grown;
      watch.notify();
    }
  });
  loop.run();
  writer.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, kFar) << "a wait ran into its end";
}

}  // namespace
}  // namespace cupel::coordinator::http
