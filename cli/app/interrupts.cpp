#include "cli/app/interrupts.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace cupel::cli {
namespace {

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

timespec spec_of(Duration duration) {
  return {.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(duration).count(),
          .tv_nsec = (duration % std::chrono::seconds(1)).count()};
}

int make_timer() {
  return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
}

bool expired(int timer) {
  std::uint64_t expirations = 0;
  return read(timer, &expirations, sizeof expirations) == sizeof expirations;
}

}  // namespace

Interrupts::Interrupts()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), timer_(make_timer()), reminder_(make_timer()) {
  const sigset_t set = handled_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  watch(signals_);
  watch(timer_);
  watch(reminder_);
}

Interrupts::~Interrupts() {
  for (const int fd : {epoll_, signals_, timer_, reminder_}) close(fd);
  const sigset_t set = handled_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

void Interrupts::limit(Duration duration) {
  const itimerspec spec{.it_interval = {}, .it_value = spec_of(duration)};
  timerfd_settime(timer_, 0, &spec, nullptr);
}

void Interrupts::remind(Duration every) {
  const itimerspec spec{.it_interval = spec_of(every), .it_value = spec_of(every)};
  timerfd_settime(reminder_, 0, &spec, nullptr);
}

void Interrupts::no_limit() {
  const itimerspec spec{};
  timerfd_settime(timer_, 0, &spec, nullptr);
}

void Interrupts::watch(int fd) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

void Interrupts::unwatch(int fd) const {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

Interrupts::What Interrupts::take() const {
  What what;
  std::array<epoll_event, 64> events{};
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const int fd = events.at(static_cast<std::size_t>(i)).data.fd;
    if (fd == signals_) {
      signalfd_siginfo info{};
      if (read(signals_, &info, sizeof info) == sizeof info) {
        what.signal = info.ssi_signo == SIGINT ? SIGINT : SIGTERM;
      }
    } else if (fd == timer_) {
      what.timeout = expired(timer_);
    } else if (fd == reminder_) {
      what.reminder = expired(reminder_);
    } else {
      what.watched.push_back(fd);
    }
  }
  return what;
}

}  // namespace cupel::cli
