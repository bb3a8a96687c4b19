#include "worker/core/go/package_list.hpp"

#include "worker/core/go/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace cupel::worker::go {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kPackagesMax = 100'000;
constexpr std::size_t kBrokenMax = 1000;
constexpr std::size_t kErrorBytes = 1024;
constexpr int kDepthMax = 32;

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

bool flag_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

bool has_items(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_array() && !found->empty();
}

void add_strings(const Json& object, const char* name, std::vector<std::string>& out) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return;
  for (const Json& item : *found) {
    if (item.is_string()) out.push_back(clean_name(item.get<std::string>()));
  }
}

std::string dir_below_unit(const std::string& dir, std::string_view unit_dir) {
  if (dir == "/src" || dir == "/src/" + std::string(unit_dir)) return ".";
  return source_path(dir, unit_dir);
}

ListedPackage package_from(const Json& object, std::string_view unit_dir) {
  ListedPackage package;
  package.import_path = clean_name(text_of(object, "ImportPath"));
  package.dir = dir_below_unit(clean_name(text_of(object, "Dir")), unit_dir);
  package.standard = flag_of(object, "Standard");
  package.dep_only = flag_of(object, "DepOnly");
  package.uses_cgo = has_items(object, "CgoFiles");
  for (const char* name : {"TestGoFiles", "XTestGoFiles"}) {
    add_strings(object, name, package.test_files);
  }
  for (const char* name : {"Imports", "TestImports", "XTestImports"}) {
    add_strings(object, name, package.imports);
  }
  const auto error = object.find("Error");
  if (error != object.end() && error->is_object()) {
    package.error = clean(text_of(*error, "Err"), kErrorBytes);
  }
  return package;
}

}  // namespace

bool json_too_deep(std::string_view object) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < object.size(); ++i) {
    const char c = object[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDepthMax) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

std::string_view next_json_object(std::string_view& text) {
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) {
    text = {};
    return {};
  }
  if (text[start] != '{') return {};
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = start; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      const std::string_view object = text.substr(start, i + 1 - start);
      text.remove_prefix(i + 1);
      return object;
    }
  }
  return {};
}

const ListedPackage* PackageList::find(std::string_view import_path) const {
  const auto found = index.find(std::string(import_path));
  return found == index.end() ? nullptr : &packages[found->second];
}

std::string PackageList::tested(std::string package) const {
  constexpr std::string_view kTests = "_test";
  if (!package.ends_with(kTests) || find(package) != nullptr) return package;
  const std::string without = package.substr(0, package.size() - kTests.size());
  return find(without) == nullptr ? package : without;
}

const ListedPackage* PackageList::in_dir(std::string_view dir) const {
  while (dir.ends_with('/')) dir.remove_suffix(1);
  const auto found = dir_index.find(std::string(dir));
  return found == dir_index.end() ? nullptr : &packages[found->second];
}

const ListedPackage* PackageList::owner_of(std::string_view file) const {
  const auto slash = file.rfind('/');
  return in_dir(slash == std::string_view::npos ? std::string_view(".") : file.substr(0, slash));
}

std::size_t PackageList::matched() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      packages, [](const ListedPackage& package) { return !package.dep_only; }));
}

PackageList read_package_list(std::string_view bytes, std::string_view unit_dir) {
  PackageList list;
  std::string_view rest = bytes;
  while (true) {
    const std::string_view object = next_json_object(rest);
    if (object.empty()) break;
    if (list.packages.size() >= kPackagesMax || json_too_deep(object)) return list;
    const Json json = Json::parse(to_utf8(object), nullptr, false);
    if (json.is_discarded()) return list;
    ListedPackage package = package_from(json, unit_dir);
    if (package.import_path.empty()) return list;
    const std::size_t at = list.packages.size();
    if (!list.index.try_emplace(package.import_path, at).second) continue;
    if (!package.standard && !package.dir.empty()) list.dir_index.try_emplace(package.dir, at);
    if (!package.error.empty() && list.broken.size() < kBrokenMax) list.broken.push_back(at);
    list.packages.push_back(std::move(package));
  }
  list.complete = trim(rest).empty();
  return list;
}

}  // namespace cupel::worker::go
