#include "worker/downloads/run_modules.hpp"

#include <algorithm>
#include <fcntl.h>
#include <map>
#include <string_view>
#include <utility>

namespace cupel::worker {

namespace {

namespace stdfs = std::filesystem;

constexpr std::size_t kDepthMax = 32;

using Found = std::map<sumdb::ModuleVersion, RunModule>;

std::vector<std::string> names_in(const fs::Fd& directory, std::size_t& entries_left) {
  std::vector<std::string> names;
  std::error_code failure;
  for (stdfs::directory_iterator item("/proc/self/fd/" + std::to_string(directory.get()), failure),
       end;
       !failure && item != end && entries_left > 0; item.increment(failure)) {
    --entries_left;
    names.push_back(item->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

void note_file(const std::string& folder, std::string_view name, Found& found) {
  const bool zip = name.ends_with(".zip");
  if (!zip && !name.ends_with(".mod")) return;
  name.remove_suffix(4);
  auto module = sumdb::parse_escaped(folder, name);
  if (!module) return;
  RunModule& one = found[*module];
  one.module = *std::move(module);
  (zip ? one.zip : one.go_mod) = true;
}

}  // namespace

Result<RunModules> RunModules::open(const stdfs::path& modcache) {
  const auto top = fs::open_dir(modcache);
  if (!top) return top.error();
  auto root = fs::open_beneath(*top, "cache/download", O_RDONLY | O_DIRECTORY);
  if (!root) return root.error();
  return RunModules(*std::move(root));
}

std::vector<RunModule> RunModules::list(std::size_t entries_max) const {
  Found found;
  std::vector<std::pair<std::string, std::size_t>> open{{"", 0}};
  while (!open.empty() && entries_max > 0) {
    const auto [folder, depth] = std::move(open.back());
    open.pop_back();
    fs::Fd below;
    if (!folder.empty()) {
      auto directory = fs::open_beneath(root_, folder, O_RDONLY | O_DIRECTORY);
      if (!directory) continue;  // a file, or a link
      below = *std::move(directory);
    }
    const fs::Fd& at = folder.empty() ? root_ : below;
    const bool versions = folder.ends_with("/@v");
    for (const std::string& name : names_in(at, entries_max)) {
      if (versions) {
        note_file(folder.substr(0, folder.size() - 3), name, found);
      } else if (depth < kDepthMax && !(folder.empty() && name == "sumdb")) {
        std::string path = folder;
        if (!path.empty()) path += '/';
        path += name;
        open.emplace_back(std::move(path), depth + 1);
      }
    }
  }
  std::vector<RunModule> modules;
  modules.reserve(found.size());
  for (auto& [name, module] : found) modules.push_back(std::move(module));
  return modules;
}

Result<fs::Fd> RunModules::open_file(const sumdb::ModuleVersion& module,
                                     const std::string& ending) const {
  return fs::open_beneath(root_, sumdb::file_stem(module) + "." + ending, O_RDONLY | O_NONBLOCK);
}

}  // namespace cupel::worker
