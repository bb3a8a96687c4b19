#pragma once

namespace cupel {

/// One callable of several, for std::visit.
template <typename... Alternatives>
struct Overloaded : Alternatives... {
  using Alternatives::operator()...;
};
template <typename... Alternatives>
Overloaded(Alternatives...) -> Overloaded<Alternatives...>;

}  // namespace cupel
