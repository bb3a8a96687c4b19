#include "tests/engine_scenarios/runner.hpp"

#include "tests/engine_scenarios/facts.hpp"
#include "tests/engine_scenarios/stage.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <ostream>
#include <sstream>
#include <thread>
#include <utility>

namespace cupel::scenarios {

namespace {

namespace stdfs = std::filesystem;

struct Found {
  std::string name;
  std::string path;
};

std::vector<Found> find_files(const std::string& directory, std::error_code& ec) {
  std::vector<Found> all;
  for (stdfs::directory_iterator it(directory, ec), end; !ec && it != end; it.increment(ec)) {
    const stdfs::path& path = it->path();
    if (path.extension() == ".yaml" || path.extension() == ".yml")
      all.push_back({path.stem().string(), path.string()});
  }
  std::ranges::sort(all, {}, &Found::name);
  return all;
}

std::optional<std::string> read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void tell(std::ostream& out, const Found& file, const Scenario& scenario, const Played& played) {
  std::string covers;
  for (const std::string& one : scenario.covers) covers += (covers.empty() ? " [" : " ") + one;
  if (!covers.empty()) covers += "]";
  out << (played.as_expected() ? "ok       " : "DIFFERS  ") << file.name << covers << ": "
      << scenario.title << " (" << seconds_text(played.took) << " s)\n";
  for (const std::string& difference : played.differences) {
    out << "  " << file.path << ": " << difference << "\n";
  }
  out.flush();
}

/// Plays all on threads of its own; `told` is called in order, from one thread at a time.
template <typename Told>
void play_all(const std::vector<Scenario>& scenarios, std::size_t jobs, Told told) {
  std::vector<std::optional<Played>> played(scenarios.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::condition_variable ready;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < std::min(std::max<std::size_t>(jobs, 1), scenarios.size()); ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < scenarios.size(); at = next++) {
        Played one = play_scenario(scenarios[at]);
        const std::lock_guard lock(mutex);
        played[at] = std::move(one);
        ready.notify_one();
      }
    });
  }
  for (std::size_t at = 0; at < scenarios.size(); ++at) {
    std::unique_lock lock(mutex);
    ready.wait(lock, [&] { return played[at].has_value(); });
    const Played one = *played[at];
    lock.unlock();
    told(at, one);
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int run_directory(const RunnerOptions& options, std::ostream& out, std::ostream& err) {
  std::error_code ec;
  std::vector<Found> files = find_files(options.directory, ec);
  if (ec) {
    err << options.directory << ": " << ec.message() << "\n";
    return kExitBroken;
  }
  if (files.empty()) {
    err << options.directory << ": there is no scenario (*.yaml)\n";
    return kExitBroken;
  }
  for (const std::string& name : options.names) {
    if (std::ranges::find(files, name, &Found::name) != files.end()) continue;
    err << options.directory << ": there is no scenario '" << name << "'\n";
    return kExitBroken;
  }
  if (!options.names.empty()) {
    std::erase_if(files, [&](const Found& file) {
      return std::ranges::find(options.names, file.name) == options.names.end();
    });
  }

  std::vector<Scenario> scenarios;
  std::vector<text::Diagnostic> faults;
  for (const Found& file : files) {
    const std::optional<std::string> text = read_whole(file.path);
    if (!text) {
      faults.push_back(
          {.file = file.path, .code = Errc::io_error, .message = "can't be read", .hint = {}});
      continue;
    }
    ReadScenario read = read_scenario(*text, file.path, options.slower);
    std::ranges::move(read.faults, std::back_inserter(faults));
    if (read.scenario) scenarios.push_back(std::move(*read.scenario));
  }
  if (!faults.empty()) {
    err << text::render(faults);
    return kExitBroken;
  }

  std::size_t differing = 0;
  play_all(scenarios, options.jobs, [&](std::size_t at, const Played& played) {
    tell(out, files[at], scenarios[at], played);
    if (!played.as_expected()) ++differing;
  });
  out << scenarios.size() << " scenarios: " << scenarios.size() - differing << " as expected, "
      << differing << " differ\n";
  return differing == 0 ? 0 : kExitDiffers;
}

}  // namespace cupel::scenarios
