/// Lets a sandbox's user mount what it can't reach by itself: a worker's directories are its own
/// only (0700), and bubblewrap looks at every component of a source's path.
#pragma once

#include "common/core/error.hpp"
#include "common/sandbox/jail.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::bubblewrap {

class StagedSources {
 public:
  StagedSources() = default;
  /// Gives every bind mount of the jail a source below /tmp, where enter() will put it.
  /// Errors: not_found, io_error, with the path.
  [[nodiscard]] static Result<StagedSources> take(sandbox::Jail& jail);

  /// In a child before bubblewrap, as root: a mount namespace of its own in which /tmp holds the
  /// sources and nothing else. Async-signal-safe. False: errno says why.
  [[nodiscard]] bool enter() const noexcept;

 private:
  struct Source {
    std::string path;
    std::string staged;
    bool directory = false;
  };
  std::vector<Source> sources_;
  mutable std::vector<int> opened_;  ///< Room for enter(), which must not ask for memory.
};

}  // namespace cupel::bubblewrap
