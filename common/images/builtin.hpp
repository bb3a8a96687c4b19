/// ops/toolchains.json as it was when this program was built.
#pragma once

#include <string_view>

namespace cupel::images {

[[nodiscard]] std::string_view builtin_table_json();

}  // namespace cupel::images
