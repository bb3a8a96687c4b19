/// In whose name a coordinator writes to a database that another could write to as well.
#pragma once

#include <cstdint>
#include <string>

namespace cupel::coordinator::sql {

struct Leader {
  std::uint64_t epoch = 0;
  std::string application;  ///< Of its connections: the next leader ends them by it.
};

}  // namespace cupel::coordinator::sql
