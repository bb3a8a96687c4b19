/// What a campaign may say about how its units are run. Plain values with defaults: the campaign
/// parser fills them, messages carry them, and the worker clamps them to its own bounds. Nothing
/// here names a mount, a network, a user or an environment variable.
#pragma once

#include "common/core/outcome.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel {

/// Limits of one run (design table "default limits").
struct RunLimits {
  std::uint32_t cpu_millis = 2000;
  std::uint64_t memory_bytes = 2ULL << 30;  ///< Memory and swap together.
  std::uint32_t pids = 512;
  std::uint64_t tmp_bytes = 1ULL << 30;     ///< Size of /tmp; kept below the memory limit.
  std::uint64_t output_bytes = 4ULL << 20;  ///< Kept per stream, head and tail together.
  friend bool operator==(const RunLimits&, const RunLimits&) = default;
};

struct TestSettings {
  bool enabled = true;
  std::uint64_t timeout_s = 600;  ///< go test -timeout; 0 = none (the check limit still holds).
  std::uint32_t count = 1;
  bool race = false;
  bool short_mode = false;
  std::string shuffle;  ///< "", "off", "on" or a seed.
  std::string run;      ///< -run
  std::string skip;     ///< -skip
  friend bool operator==(const TestSettings&, const TestSettings&) = default;
};

/// What a custom check's output says beside its exit code.
enum class CheckParser : std::uint8_t {
  exit_code,  ///< Nothing: one finding for a failure.
  lines,      ///< "file:line:col: message" or "file:line: message", one finding a line.
  sarif,      ///< SARIF 2.1.0 on standard output, one finding a result.
};
[[nodiscard]] std::string_view name(CheckParser value);
template <>
std::optional<CheckParser> parse_name<CheckParser>(std::string_view text);
template <>
std::size_t count_of<CheckParser>();

/// A command line of the campaign, run in the execute profile with a fresh build cache of its own.
struct CustomCheck {
  std::string name;                  ///< [a-z0-9-]{1,32}
  std::vector<std::string> command;  ///< argv; no shell.
  std::uint64_t limit_s = 600;
  CheckParser parser = CheckParser::exit_code;
  friend bool operator==(const CustomCheck&, const CustomCheck&) = default;
};

enum class BuildCache : std::uint8_t {
  seeded,  ///< Starts with the image's own standard library, hard-linked read-only.
  empty,
  dependencies,  ///< As seeded, and with the dependencies of the module.
};
[[nodiscard]] std::string_view name(BuildCache value);
template <>
std::optional<BuildCache> parse_name<BuildCache>(std::string_view text);
template <>
std::size_t count_of<BuildCache>();

/// How units are validated: the same for both sides of a comparison.
struct ValidationSettings {
  RunLimits limits;
  std::vector<std::string> packages = {"./..."};
  std::vector<std::string> tags;
  bool build = true;
  bool vet = true;
  TestSettings test;
  std::vector<CustomCheck> custom;
  std::uint64_t check_limit_s =
      0;  ///< 0: derived (test.timeout + 75 s for test, 900 s for others).
  std::uint64_t acquire_limit_s = 600;
  BuildCache build_cache = BuildCache::seeded;
  std::string image = "auto";  ///< "auto", a Go minor such as "1.26", or an image identity.
  bool image_without_c_compiler = false;  ///< Take the variant of the image that has no gcc.
  // Patterns as the go command takes them (comma separated); checked for shape, never a host list.
  std::string go_private;
  std::string go_nosumdb;
  bool require_enforced_egress = false;  ///< Runs with a network only where that is enforced.
  friend bool operator==(const ValidationSettings&, const ValidationSettings&) = default;
};

}  // namespace cupel
