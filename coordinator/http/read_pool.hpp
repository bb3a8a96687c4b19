/// Threads for what blocks: reading the store, parsing large campaigns, syncing files.
#pragma once

#include "common/async/await_callback.hpp"
#include "coordinator/ports/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace cupel::coordinator::http {

class ReadPool {
 public:
  using Job = std::function<void(StoreReader&)>;

  /// One thread for each reader.
  /// `on_read`, on a thread of the pool: what each job took and whether it failed (not_found is an
  /// answer, no failure). `op` is "read".
  using OnRead = std::function<void(std::string_view op, double seconds, bool ok)>;
  explicit ReadPool(std::vector<std::unique_ptr<StoreReader>> readers, OnRead on_read = {});
  /// Ends after the jobs that wait.
  ~ReadPool();
  ReadPool(const ReadPool&) = delete;
  ReadPool& operator=(const ReadPool&) = delete;

  /// Runs `work` on a thread of the pool; the coroutine goes on where it was. An exception is a bug
  /// and becomes Errc::bug.
  template <typename T>
  [[nodiscard]] boost::asio::awaitable<Result<T>> run(std::function<Result<T>(StoreReader&)> work) {
    auto start = [this, work = std::move(work)](std::function<void(Result<T>)> done) {
      add([this, work, done = std::move(done)](StoreReader& reader) {
        const auto began = std::chrono::steady_clock::now();
        try {
          Result<T> answer = work(reader);
          const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
          if (on_read_) on_read_("read", took.count(), answer || !is_failure(answer.error()));
          done(std::move(answer));
        } catch (const std::exception& error) {
          done(Error{.code = Errc::bug,
                     .what = "a read failed inside",
                     .detail = error.what(),
                     .hint = {}});
        }
      });
    };
    return async::await_callback<Result<T>>(std::move(start));
  }

 private:
  [[nodiscard]] static bool is_failure(const Error& error) {
    return error.code == Errc::store_failed || error.code == Errc::bug;
  }
  void add(Job job);
  void serve(StoreReader& reader);

  std::vector<std::unique_ptr<StoreReader>> readers_;
  OnRead on_read_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cupel::coordinator::http
