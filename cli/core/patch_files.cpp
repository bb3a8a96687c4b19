#include "cli/core/patch_files.hpp"

#include <set>

namespace cupel::cli {
namespace {

std::set<std::string> files_of(const json& manifest) {
  std::set<std::string> files;
  for (const json& entry : list_of(manifest, "patches")) {
    const std::string file = text_of(entry, "file");
    if (is_plain_name(file) && file.ends_with(".patch")) files.insert(file);
  }
  return files;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 200 && name.front() != '.' &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

std::vector<std::string> stale_patches(const json& earlier, const json& now) {
  std::vector<std::string> stale;
  const std::set<std::string> current = files_of(now);
  for (const std::string& file : files_of(earlier)) {
    if (!current.contains(file)) stale.push_back(file);
  }
  return stale;
}

}  // namespace cupel::cli
