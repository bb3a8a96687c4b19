/// A refused request as an Error. Pure.
#pragma once

#include "common/core/error.hpp"

#include <string_view>

namespace cupel::httpclient {

/// From status and body of an answer that is no success. The body may be problem+json or anything.
[[nodiscard]] Error error_of_answer(int status, std::string_view body);

}  // namespace cupel::httpclient
