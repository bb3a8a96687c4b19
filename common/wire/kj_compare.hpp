/// Must be included before any Cap'n Proto header. Cap'n Proto 0.9 compares `const char*` with
/// kj::StringPtr, which finds no operator in C++20 with clang 16 and later: StringPtr declares
/// `!=`, and that takes away the reversed form of its `==`. These two are the reversed forms.
#pragma once

#include <kj/string.h>

namespace kj {

inline bool operator==(const char* left, StringPtr right) {
  return right.operator==(StringPtr(left));
}
inline bool operator!=(const char* left, StringPtr right) {
  return !(left == right);
}

}  // namespace kj
