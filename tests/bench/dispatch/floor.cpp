#include "tests/bench/dispatch/floor.hpp"

#include "tests/bench/support/figures.hpp"

#include <array>
#include <cstdio>
#include <string>

namespace cupel::bench {

Floor run_floor(const std::filesystem::path& dir, int tasks, std::uint32_t slots, int rate) {
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "cupel_floor_dispatch";
  const std::filesystem::path store = dir / "floor.db";
  const std::string command = "'" + program.string() + "' " + std::to_string(tasks) + " " +
                              std::to_string(slots) + " '" + store.string() + "' " +
                              std::to_string(rate);
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) fail("the floor does not start");
  std::array<char, 512> line{};
  const char* got = std::fgets(line.data(), line.size(), pipe);
  if (::pclose(pipe) != 0 || got == nullptr) fail("the floor failed");
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(store.string() + suffix);
  }
  const auto parsed = nlohmann::json::parse(line.data());
  return {parsed["tasks_s"], parsed["cpu_s_per_1k"], parsed["commits_per_1k"],
          parsed["p50_ms"],  parsed["p99_ms"],       parsed["rss_mb"]};
}

}  // namespace cupel::bench
