#include "worker/core/engine/run.hpp"

#include <array>

namespace cupel::worker {

std::string_view name(Profile profile) {
  static constexpr std::array<std::string_view, 4> kNames = {"acquire", "mutate", "execute",
                                                             "tool"};
  return kNames.at(static_cast<std::size_t>(profile));
}

}  // namespace cupel::worker
