#include "coordinator/app/loop_thread.hpp"

#include "common/core/error.hpp"

#include <spdlog/spdlog.h>

#include <cstdlib>
#include <exception>

namespace cupel::coordinator {

void LoopThread::start() {
  thread_ = std::thread([this] {
    try {
      io_.run();
    } catch (const std::exception& error) {
      // Nothing may escape: the state of this loop is unknown now, and a supervisor starts us anew.
      spdlog::critical("the {} loop failed: {}", name_, error.what());
      spdlog::default_logger()->flush();
      std::_Exit(error_info(Errc::bug).exit_code);
    }
  });
}

void LoopThread::join() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace cupel::coordinator
