/// What the container engine's answers mean. Pure: bytes and status numbers in, values out.
/// Source of the facts: Docker Engine API v1.41 (paths and statuses named per function).
#pragma once

#include "common/core/error.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::engine {

/// Versions of the API that this code knows. An engine below the minimum is refused.
struct ApiVersion {
  unsigned major = 1;
  unsigned minor = 0;
  friend auto operator<=>(const ApiVersion&, const ApiVersion&) = default;
  /// "1.41"
  [[nodiscard]] std::string text() const;
  [[nodiscard]] static std::optional<ApiVersion> parse(std::string_view text);
};
inline constexpr ApiVersion kApiMin{1, 41};
inline constexpr ApiVersion kApiMax{1, 47};

struct EngineVersion {
  ApiVersion api;       ///< The one to speak: min(the engine's, kApiMax).
  std::string name;     ///< "docker" or "podman".
  std::string version;  ///< "20.10.24"
  std::string os;
  std::string arch;  ///< "amd64"
  std::string kernel;
};

struct EngineInfo {
  std::string id;  ///< The engine's own identity; several workers may share one.
  std::string name;
  std::string default_runtime;
  std::vector<std::string> runtimes;
  std::string storage_driver;
  std::string cgroup_version;  ///< "1" or "2"
  std::string root_dir;
  std::string operating_system;
  std::vector<std::string> security_options;
  bool rootless = false;  ///< Podman says it here, Docker among its security options.
  std::uint32_t cpus = 0;
  std::uint64_t memory_bytes = 0;
  bool memory_limit = false;
  bool swap_limit = false;
  bool pids_limit = false;
  bool cpu_cfs_quota = false;
};

/// One container of a list.
struct ContainerSummary {
  std::string id;
  std::string name;  ///< Without the leading slash.
  std::string image_id;
  std::string state;  ///< created, running, paused, restarting, removing, exited, dead
  std::int64_t created_s = 0;
  std::map<std::string, std::string> labels;
};

struct ContainerState {
  std::string status;  ///< As ContainerSummary::state.
  bool running = false;
  std::string started_at;   ///< As the engine writes it; it grows with every start.
  bool oom_killed = false;  ///< True even at exit code 0 when only a child was killed.
  std::int32_t exit_code = -1;
  std::string error;  ///< Of the start.
  std::map<std::string, std::string> labels;

  /// It ran, and doesn't any more: exit_code says how.
  [[nodiscard]] bool ended() const { return !running && (status == "exited" || status == "dead"); }
};

struct ImageFacts {
  std::string id;                    ///< "sha256:..."
  std::vector<std::string> tags;     ///< "repository:tag"
  std::vector<std::string> digests;  ///< "repository@sha256:..."
  std::map<std::string, std::string> labels;
  std::vector<std::string> environment;  ///< "NAME=value", as the image sets it.
  std::vector<std::string> volumes;      ///< Declared volumes: such an image is refused for runs.
  std::string architecture;
  std::string os;
  std::uint64_t size_bytes = 0;
};

struct Created {
  std::string id;
  std::vector<std::string> warnings = {};
};

struct WaitAnswer {
  std::int32_t exit_code = -1;  ///< 0 to 255.
};

/// A line of progress of an image pull or import.
struct TransferProgress {
  std::string status;  ///< "Downloading"
  std::string layer;   ///< Short id; empty for the whole image.
  std::uint64_t current_bytes = 0;
  std::uint64_t total_bytes = 0;
};

// ---- statuses: each function says which ones a call accepts, and why ---------------------------

/// POST create: 201. 404 = the image is not here (image_missing), 409 (Podman: 500) = the name is
/// taken.
[[nodiscard]] Result<void> create_status(unsigned status, std::string_view body,
                                         std::string_view what);
/// POST start: 204; 304 = it runs already (a repeated start after a lost answer).
[[nodiscard]] Result<void> start_status(unsigned status, std::string_view body,
                                        std::string_view what);
/// POST kill: 204; 404 and 409 = it doesn't run, which is what was wanted.
[[nodiscard]] Result<void> kill_status(unsigned status, std::string_view body,
                                       std::string_view what);
enum class Removal : std::uint8_t {
  gone,         ///< 204, 404
  in_progress,  ///< 409 "removal already in progress": wait until it is gone
};
/// DELETE container. Errors: conflict where it runs and the removal is not forced.
[[nodiscard]] Result<Removal> remove_status(unsigned status, std::string_view body,
                                            std::string_view what);
/// Any call that only a 2xx satisfies; 404 becomes not_found.
[[nodiscard]] Result<void> plain_status(unsigned status, std::string_view body,
                                        std::string_view what);
/// The engine's own words of an error answer: {"message": ...}, else the body as it is; capped.
[[nodiscard]] std::string error_message(std::string_view body);

// ---- bodies: errors are engine_protocol --------------------------------------------------------

[[nodiscard]] Result<EngineVersion> parse_version(std::string_view body);
[[nodiscard]] Result<EngineInfo> parse_info(std::string_view body);
[[nodiscard]] Result<Created> parse_created(std::string_view body);
/// The warning of a create that says that a limit was dropped; nothing when all hold. Such a
/// container must not be started: it is not the sandbox that was asked for.
[[nodiscard]] std::optional<std::string> dropped_limit(const std::vector<std::string>& warnings);
/// True for the answer of an engine that doesn't speak the API version of the request's path: it
/// was replaced by another one since the version was agreed.
[[nodiscard]] bool wants_other_version(unsigned status, std::string_view body);
[[nodiscard]] Result<std::vector<ContainerSummary>> parse_containers(std::string_view body);
[[nodiscard]] Result<ContainerState> parse_container(std::string_view body);
/// Errors also: a status code that no process has, or one beside an error of the wait itself.
[[nodiscard]] Result<WaitAnswer> parse_wait(std::string_view body);
[[nodiscard]] Result<ImageFacts> parse_image(std::string_view body);
[[nodiscard]] Result<std::vector<ImageFacts>> parse_images(std::string_view body);

/// Lines of JSON that arrive in pieces (image pull, image import). A line over 64 KiB is an error.
class ProgressLines {
 public:
  /// Complete lines of `bytes`, in order. Errors: engine_protocol; engine_refused for a line that
  /// carries the engine's error (a transfer fails inside an answer of status 200).
  [[nodiscard]] Result<std::vector<TransferProgress>> feed(std::string_view bytes);

 private:
  std::string partial_;
};

/// Percent-encoding for a path segment or a query value.
[[nodiscard]] std::string url_escape(std::string_view text);

/// True for text that may stand as a container id or name in a request path.
[[nodiscard]] bool is_container_ref(std::string_view text);

}  // namespace cupel::engine
