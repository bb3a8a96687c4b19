/// What a worker of this machine needs of its container engine, asked before anything is started.
#pragma once

#include "common/core/error.hpp"
#include "common/engine/answers.hpp"
#include "common/engine/confinement.hpp"

#include <cstddef>
#include <string>

namespace cupel::cli {

struct EngineAnswer {
  std::string version;
  std::string api;
  engine::Confinement confinement;
  engine::EngineVersion engine;  ///< Of a container engine, like what follows.
  engine::EngineInfo info;
  std::size_t images = 0;  ///< Toolchain images that it holds.
};

/// The engine's socket as a local worker takes it: `named`, else that of the environment
/// (DOCKER_HOST) or a usual one. Errors: engine_unreachable, bad_value.
[[nodiscard]] Result<std::string> engine_socket(const std::string& named);

/// The folder of bubblewrap's images as a local worker takes it: `named`, else where `cupel image
/// build` puts them.
[[nodiscard]] std::string bubblewrap_images(const std::string& named);

/// Makes one empty sandbox. `api` is the user that runs belong to. Errors: not_found,
/// unsafe_sandbox.
[[nodiscard]] Result<EngineAnswer> ask_bubblewrap(const std::string& image_dir);

/// Blocks for a few short calls. Errors: those of the engine client.
[[nodiscard]] Result<EngineAnswer> ask_engine(const std::string& socket);

}  // namespace cupel::cli
