/// Plans that people made and may submit later: one small file each, the oldest give way.
#pragma once

#include "common/core/error.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace cupel::coordinator::fs {

/// Blocking; one thread.
class PlanStore {
 public:
  static constexpr std::size_t kPlansMax = 1000;
  [[nodiscard]] static Result<PlanStore> open(std::filesystem::path dir);
  /// `json` is kept as it is; the answer is the plan's id, "p-...".
  [[nodiscard]] Result<std::string> put(std::string_view json);
  /// Errors: not_found.
  [[nodiscard]] Result<std::string> get(std::string_view id) const;

 private:
  explicit PlanStore(std::filesystem::path dir) : dir_(std::move(dir)) {}
  void drop_oldest() const;
  std::filesystem::path dir_;
};

}  // namespace cupel::coordinator::fs
