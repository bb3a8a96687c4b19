/// The commit that this program was built from.
#pragma once

#include <string_view>

namespace cupel::app {

/// 12 hex digits, or the version's tag where neither git nor the archive told. Never empty.
[[nodiscard]] std::string_view revision();

}  // namespace cupel::app
