/// The profile table as a bubblewrap sandbox: the same guarantees as container_spec(), in the words
/// of common/sandbox. Pure. Read it together with docs/security.md.
#pragma once

#include "common/sandbox/jail.hpp"
#include "worker/core/engine/container_spec.hpp"

#include <string>
#include <vector>

namespace cupel::worker {

/// What a machine gives to a run, beside the profile.
struct JailHost {
  std::string image_root;  ///< The image's file system, unpacked.
  /// Files and folders that only tell: the run's control group, and for a run with a network the
  /// host's name servers. Read-only, whatever `writable` says.
  std::vector<BoundMount> views = {};
};

/// Errors: those of container_spec(); unsafe_sandbox for a run with a network that demands that it
/// be enforced: bubblewrap has the host's network or none.
[[nodiscard]] Result<sandbox::Jail> run_jail(const RunRequest& request,
                                             const ProfileContext& context,
                                             const ImageTraits& image, const JailHost& host);

}  // namespace cupel::worker
