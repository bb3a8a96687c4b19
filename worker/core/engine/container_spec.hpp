/// The profile table as code: from a run request to the engine's create request, environment,
/// mounts and all. Pure. This file and its golden tests are the security argument; read them
/// together with docs/security.md.
#pragma once

#include "common/core/error.hpp"
#include "common/core/ids.hpp"
#include "common/core/time.hpp"
#include "common/engine/answers.hpp"
#include "common/engine/quirks.hpp"
#include "worker/core/engine/run.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::worker {

/// What a worker knows of an image: learnt once by inspection, never from the image's own code.
struct ImageTraits {
  engine::ImageFacts facts;
  bool c_compiler = false;  ///< gcc is in it: execute gets CGO_ENABLED=1.
};

/// Facts of the host and the worker's configuration; the same for every run.
struct ProfileContext {
  FleetId fleet;
  WorkerId worker;
  Incarnation incarnation;
  std::string wrapper_path;  ///< Host path of cupel-init, as the engine sees it.
  std::string goproxy;       ///< Proxies only: "direct" and "off" are refused.
  std::string gosumdb;       ///< "off" is refused unless a fixture proxy is in use.
  std::string ca_bundle;  ///< Host path of a PEM file for acquire, mutate and tool; may be empty.
  std::string netrc;  ///< Host path of credentials for the module proxy: acquire and mutate only.
  /// HTTP_PROXY and friends for the same three profiles; may be empty.
  std::map<std::string, std::string> proxy_environment;
  std::string egress_network = "bridge";  ///< Engine network of acquire, mutate and tool.
  /// Engine runtime of a profile, as the engine lists it; none: the engine's default.
  std::map<Profile, std::string> runtimes;
  engine::Quirks quirks = {};
  std::string seccomp_file = {};  ///< Holds seccomp_profile(), where the engine wants a file.
  std::uint32_t engine_cpus = 0;  ///< Of the engine's machine; a run gets no more. 0: not known.
};

/// The way out of a run that has a network.
struct RunEgress {
  /// The only exit is the proxy below, of an internal network or of a namespace that the run joins.
  /// Otherwise the context's network and proxies are used.
  bool enforced = false;
  std::string network = {};
  /// In place of a network: the container whose network namespace the run joins, which has loopback
  /// and nothing else, and that namespace as kNetworkLink names it.
  std::string joined = {};
  std::string network_namespace = {};
  std::string proxy_url = {};  ///< With the run's own credentials.
  std::string goproxy = {};    ///< In place of the context's.
};

/// Where the download cache is mounted.
inline constexpr std::string_view kDownloadsPath = "/downloads";

/// What makes this run's container this run's.
struct RunIdentity {
  std::string run_id;  ///< Hex; also the last part of the container's name.
  WallTime deadline;   ///< Any worker of the fleet may kill it after this.
  RunEgress egress = {};
};

/// One bind mount as the profile decides it.
struct BoundMount {
  std::string host_path;
  std::string path;  ///< In the container.
  bool writable = false;
  friend bool operator==(const BoundMount&, const BoundMount&) = default;
};

/// Keys of the labels.
namespace label {
inline constexpr std::string_view kFleet = "cupel.fleet";
inline constexpr std::string_view kWorker = "cupel.worker";
inline constexpr std::string_view kIncarnation = "cupel.incarnation";
inline constexpr std::string_view kCampaign = "cupel.campaign";
inline constexpr std::string_view kTask = "cupel.task";
inline constexpr std::string_view kRun = "cupel.run";
inline constexpr std::string_view kProfile = "cupel.profile";
inline constexpr std::string_view kToken = "cupel.token";
inline constexpr std::string_view kDeadline = "cupel.deadline";  ///< Unix seconds, decimal.
}  // namespace label

inline constexpr std::string_view kNetrcPath = "/cupel-netrc";
inline constexpr std::string_view kWrapperPath = "/cupel-init";
inline constexpr std::string_view kCaBundlePath = "/cupel-ca.pem";
inline constexpr std::string_view kContainerUser = "65534:65534";
inline constexpr std::uint32_t kContainerUid = 65534;

/// "cupel-w-abc-<run id>"
[[nodiscard]] std::string container_name(const ProfileContext& context, const RunIdentity& run);
[[nodiscard]] std::map<std::string, std::string> container_labels(const RunRequest& request,
                                                                  const ProfileContext& context,
                                                                  const RunIdentity& run);

/// The mounts of the request in the modes of its profile, without the wrapper and the CA bundle.
/// Errors: refused_by_policy for a role that the profile doesn't have, a missing one that it
/// demands, or a path that is not absolute and clean.
[[nodiscard]] Result<std::vector<BoundMount>> profile_mounts(const RunRequest& request);

/// The profile's mounts, the wrapper before them, the CA bundle and the credentials behind them.
/// Errors: those of profile_mounts(); refused_by_policy for a path of the context likewise.
[[nodiscard]] Result<std::vector<BoundMount>> run_mounts(const RunRequest& request,
                                                         const ProfileContext& context,
                                                         const RunEgress& egress = {});

/// Names of all variables that the command may see, for the wrapper to remove the others: the
/// profile's and HOSTNAME. Empty where the engine leaves no others.
/// Errors: those of profile_environment().
[[nodiscard]] Result<std::vector<std::string>> kept_variables(const RunRequest& request,
                                                              const ProfileContext& context,
                                                              const ImageTraits& image,
                                                              const RunEgress& egress);

/// Where the command begins, in the container. Errors: refused_by_policy.
[[nodiscard]] Result<std::string> run_workdir(const RunRequest& request);

/// What no sandbox runs. Errors: refused_by_policy (an empty command, an image by tag, limits that
/// make no sense), unsafe_sandbox (an image that declares volumes).
[[nodiscard]] Result<void> check_request(const RunRequest& request, const ImageTraits& image);

/// Size of /tmp: a full one must be "no space left", never an out-of-memory kill.
[[nodiscard]] std::uint64_t run_tmp_bytes(const RunLimits& limits);
inline constexpr std::uint64_t kRunShmBytes = 64ULL << 20U;
inline constexpr std::uint32_t kRunOpenFilesMax = 4096;

/// True for a run that is not cut off from every network.
[[nodiscard]] bool has_network(const RunRequest& request);

/// True where the run gets the netrc file: the profiles that fetch modules with the toolchain's own
/// commands, never one that runs repository code.
/// On the egress network nobody does: the proxy adds them itself.
[[nodiscard]] bool sees_credentials(const RunRequest& request, const ProfileContext& context,
                                    const RunEgress& egress = {});

/// Exactly the variables that the profile sets, by name.
/// Errors: refused_by_policy for a proxy or checksum database setting that the profile can't have.
[[nodiscard]] Result<std::map<std::string, std::string>> profile_environment(
    const RunRequest& request, const ProfileContext& context, const ImageTraits& image,
    const RunEgress& egress = {});

/// The body of the create call. Errors: refused_by_policy (as above, an empty command, an image by
/// tag, limits that make no sense), unsafe_sandbox (an image that declares volumes).
[[nodiscard]] Result<std::string> container_spec(const RunRequest& request,
                                                 const ProfileContext& context,
                                                 const ImageTraits& image, const RunIdentity& run);

/// The body of a create call for a container that is never started: only to look into an image.
[[nodiscard]] std::string inspection_spec(const std::string& image, const ProfileContext& context,
                                          const RunIdentity& run);

/// Bound of one stored log: more than twice the cap, with the engine's overhead per line.
[[nodiscard]] std::uint64_t log_bytes_bound(const RunLimits& limits);

}  // namespace cupel::worker
