// A campaign's wishes within the worker's bounds.
#include "worker/app/options.hpp"

namespace cupel::worker {
namespace {

template <typename T>
void cut(T& value, T max, const char* what, std::vector<std::string>& notes) {
  if (value <= max) return;
  notes.push_back(std::string("limits.") + what + " cut to the worker's bound");
  value = max;
}

}  // namespace

ValidationSettings clamp(ValidationSettings wanted, const Bounds& bounds,
                         std::vector<std::string>& notes) {
  RunLimits& limits = wanted.limits;
  cut(limits.cpu_millis, bounds.limits_max.cpu_millis, "cpus", notes);
  cut(limits.memory_bytes, bounds.limits_max.memory_bytes, "memory", notes);
  cut(limits.pids, bounds.limits_max.pids, "pids", notes);
  cut(limits.tmp_bytes, bounds.limits_max.tmp_bytes, "tmp", notes);
  cut(limits.output_bytes, bounds.limits_max.output_bytes, "output", notes);
  // A full /tmp must not look like a memory kill: tmpfs pages count as the container's memory.
  cut(limits.tmp_bytes, limits.memory_bytes - limits.memory_bytes / 8, "tmp", notes);
  const std::uint64_t longest = bounds.task_seconds_max;
  cut(wanted.test.timeout_s, longest, "test.timeout", notes);
  cut(wanted.check_limit_s, longest, "check", notes);
  cut(wanted.acquire_limit_s, longest, "acquire", notes);
  for (CustomCheck& custom : wanted.custom) cut(custom.limit_s, longest, "custom", notes);
  return wanted;
}

}  // namespace cupel::worker
