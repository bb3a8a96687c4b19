#include "common/app/descriptors.hpp"

#include <spdlog/spdlog.h>

#include <sys/resource.h>

namespace cupel::app {

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur;
}

void make_room_for_descriptors() {
  const std::uint64_t limit = raise_descriptor_limit();
  if (limit >= kFewDescriptors) return;
  spdlog::warn(
      "only {} file descriptors: strangers on the port can use them up; raise the limit "
      "(LimitNOFILE= of the unit, or ulimit -n)",
      limit);
}

}  // namespace cupel::app
