/// A large value as a small member.
#pragma once

#include <memory>
#include <utility>

namespace cupel {

/// A value of which copies share one: for a large alternative among small ones, which would make
/// all of them large. Never empty, but after it was moved from.
template <typename T>
class Boxed {
 public:
  Boxed(T value)  // NOLINT(google-explicit-constructor): it stands for the value
      : value_(std::make_shared<const T>(std::move(value))) {}

  [[nodiscard]] const T& operator*() const { return *value_; }
  [[nodiscard]] const T* operator->() const { return value_.get(); }

 private:
  std::shared_ptr<const T> value_;
};

}  // namespace cupel
