/// The sum of a module's zip, as go.sum and the checksum database write it. Blocking.
#pragma once

#include "common/core/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace cupel::worker {

struct ZipLimits {
  std::uint64_t unpacked_bytes = 512ULL
                                 << 20U;  ///< More than any module that the go command takes.
  std::uint64_t files = 200'000;
};

/// "h1:...". Errors: too_large (by what is really unpacked), io_error (no zip).
[[nodiscard]] Result<std::string> zip_sum(const std::filesystem::path& zip,
                                          const ZipLimits& limits = {});

}  // namespace cupel::worker
