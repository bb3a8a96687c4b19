/// The verbs of `cupel image`, as coroutines over the engine client.
#pragma once

#include "cli/image/commands.hpp"
#include "cli/image/parts.hpp"
#include "common/docker/client.hpp"
#include "common/images/select.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <iosfwd>
#include <vector>

namespace cupel::cli {

/// What every verb works with; outlives the verb.
struct ImageContext {
  ImageRequest request;
  images::Table table;
  PartsPlace place;
  docker::Client* client = nullptr;  ///< Null where no engine is asked.
  std::filesystem::path image_dir;   ///< Of unpacked images.
  std::ostream* out = nullptr;
};

using ExitCode = boost::asio::awaitable<Result<int>>;

// Each returns the exit code: 0, or 1 when a part of it did not go well (said on `out`).
[[nodiscard]] ExitCode image_ls(ImageContext& context);
[[nodiscard]] ExitCode image_pull(ImageContext& context);
[[nodiscard]] ExitCode image_build(ImageContext& context);
[[nodiscard]] ExitCode image_verify(ImageContext& context);

/// The toolchain images that the engine holds, or without one those that are unpacked.
[[nodiscard]] boost::asio::awaitable<Result<std::vector<images::Available>>> present_images(
    ImageContext& context);

/// The entries that the request names. Errors: usage for none, bad_value for one that is unknown.
[[nodiscard]] Result<std::vector<images::ImageEntry>> requested_entries(
    const ImageContext& context);

}  // namespace cupel::cli
