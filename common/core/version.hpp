/// The version of Cupel, for people; protocol versions are in limits.hpp.
#pragma once

#include <string_view>

namespace cupel {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace cupel
