/// The root file system of an assembled image as a tar stream: base archive, then the toolchain
/// below usr/local/go. Pull style, so that nothing of it is ever whole in memory or on disk.
#pragma once

#include "common/core/error.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace cupel::cli {

class RootTar {
 public:
  /// Errors: io_error.
  [[nodiscard]] static Result<RootTar> open(const std::filesystem::path& base,
                                            const std::filesystem::path& toolchain_zip,
                                            const std::string& zip_prefix);
  RootTar(RootTar&&) noexcept;
  RootTar& operator=(RootTar&&) noexcept;
  ~RootTar();

  /// The next bytes, some hundred KiB; empty at the end. Blocks on the disk only.
  /// Errors: io_error for an archive that can't be read, or that holds a name it should not.
  [[nodiscard]] Result<std::string> next();

 private:
  struct State;
  explicit RootTar(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cupel::cli
