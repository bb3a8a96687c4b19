/// Ctrl-C, termination, a time limit and dying children as one descriptor that a wait can include.
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"

#include <vector>

namespace cupel::cli {

class Interrupts {
 public:
  struct What {
    int signal = 0;  ///< SIGINT or SIGTERM (a hang-up counts as one), 0 none.
    bool timeout = false;
    bool reminder = false;
    std::vector<int> watched;  ///< Descriptors added by watch() that are readable.
  };

  /// Blocks the signals for this process; the destructor gives them back. One at a time.
  Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();

  /// Readable when something happened.
  [[nodiscard]] int fd() const { return epoll_; }
  void limit(Duration duration);
  void no_limit();
  /// From now on, again and again.
  void remind(Duration every);
  void watch(int fd) const;
  void unwatch(int fd) const;
  /// What happened since the last call, without waiting.
  [[nodiscard]] What take() const;

 private:
  int epoll_ = -1;
  int signals_ = -1;
  int timer_ = -1;
  int reminder_ = -1;
};

}  // namespace cupel::cli
