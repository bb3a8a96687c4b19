// The build that can be made to die.
#include "common/crash/crash_point.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

// The linker's names for both ends of the section that the points are in. Weak: a program may have
// none.
extern const char __start_cupel_crash[]
    __attribute__((weak));  // NOLINT(bugprone-reserved-identifier)
extern const char __stop_cupel_crash[]
    __attribute__((weak));  // NOLINT(bugprone-reserved-identifier)

namespace cupel::crash {
namespace {

constexpr std::chrono::milliseconds kLinger{50};

struct Orders {
  std::string at;
  std::uint64_t pass = 1;
  int log = -1;
};

Orders read_orders() {
  Orders orders;
  if (const char* wanted = std::getenv("CUPEL_CRASH_AT")) {
    const std::string_view text = wanted;
    const std::size_t colon = text.rfind(':');
    orders.at = text.substr(0, colon);
    if (colon != std::string_view::npos)
      orders.pass = std::strtoull(wanted + colon + 1, nullptr, 10);
  }
  if (const char* file = std::getenv("CUPEL_CRASH_LOG"))
    orders.log = ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  return orders;
}

std::set<std::string> names() {
  std::set<std::string> all;
  const char* at = __start_cupel_crash;
  const char* const end = __stop_cupel_crash;
  // Text after text, each with its zero and perhaps more of them up to the next one's alignment.
  while (at != nullptr && at < end) {
    const std::string name(at);
    if (!name.empty()) all.insert(name);
    at += name.size() + 1;
  }
  return all;
}

}  // namespace

void passed(const char* name) {
  static const Orders kOrders = read_orders();
  static std::atomic<std::uint64_t> passes{0};
  const std::string_view here = name;
  if (kOrders.log >= 0) {
    const std::string line = std::string(here) + "\n";
    if (::write(kOrders.log, line.data(), line.size()) < 0) std::perror("CUPEL_CRASH_LOG");
  }
  if (here != kOrders.at || ++passes != kOrders.pass) return;
  if (here.starts_with("sent.")) std::this_thread::sleep_for(kLinger);
  std::raise(SIGKILL);
}

bool listed(int argc, const char* const* argv) {
  if (argc != 2 || std::string_view(argv[1]) != "--crash-points") return false;
  for (const std::string& name : names()) std::printf("%s\n", name.c_str());
  return true;
}

}  // namespace cupel::crash
