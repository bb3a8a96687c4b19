#include "coordinator/http/read_pool.hpp"

#include <utility>

namespace cupel::coordinator::http {

ReadPool::ReadPool(std::vector<std::unique_ptr<StoreReader>> readers, OnRead on_read)
    : readers_(std::move(readers)), on_read_(std::move(on_read)) {
  for (auto& reader : readers_) {
    threads_.emplace_back([this, &reader] { serve(*reader); });
  }
}

ReadPool::~ReadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReadPool::add(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void ReadPool::serve(StoreReader& reader) {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job(reader);
  }
}

}  // namespace cupel::coordinator::http
