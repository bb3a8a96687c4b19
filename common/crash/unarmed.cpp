// The build that is installed: nothing can arm a point.
#include "common/crash/crash_point.hpp"

namespace cupel::crash {

void passed(const char* /*name*/) {}

bool listed(int /*argc*/, const char* const* /*argv*/) {
  return false;
}

}  // namespace cupel::crash
