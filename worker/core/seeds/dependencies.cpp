#include "worker/core/seeds/dependencies.hpp"

#include "worker/core/go/package_list.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <unordered_map>

namespace cupel::worker::seeds {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kPackagesMax = 100'000;
constexpr std::size_t kPathsMax = 5'000;
constexpr std::size_t kPathBytesMax = 1'000;

struct Package {
  bool standard = false;
  bool own = false;       ///< Of the repository: main module, or a directory in a module's place.
  bool unusable = false;  ///< Broken, a command, or of a C compiler's concern.
  std::vector<std::string> imports;
};

using Packages = std::unordered_map<std::string, Package>;

bool flag_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::string text_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

bool has_items(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_array() && !found->empty();
}

/// A module of the cache has a version, its own or that of the module in its place.
bool is_own(const Json& object) {
  const auto module = object.find("Module");
  if (module == object.end() || !module->is_object()) return true;
  if (flag_at(*module, "Main")) return true;
  const auto replaced = module->find("Replace");
  if (replaced != module->end() && replaced->is_object())
    return text_at(*replaced, "Version").empty();
  return text_at(*module, "Version").empty();
}

Package package_from(const Json& object) {
  Package package;
  package.standard = flag_at(object, "Standard");
  package.own = !package.standard && is_own(object);
  package.unusable = object.contains("Error") || text_at(object, "Name") == "main";
  std::vector<const char*> kinds = {"Imports"};
  if (package.own) kinds.insert(kinds.end(), {"TestImports", "XTestImports"});
  for (const char* const kind : kinds) {
    const auto found = object.find(kind);
    if (found == object.end() || !found->is_array()) continue;
    for (const Json& path : *found) {
      if (path.is_string()) package.imports.push_back(path.get<std::string>());
    }
  }
  for (const char* const kind : {"CgoFiles", "SwigFiles", "SwigCXXFiles", "SysoFiles"}) {
    if (!package.standard && has_items(object, kind)) package.unusable = true;
  }
  return package;
}

/// False: no whole list.
bool read(std::string_view list, Packages& packages) {
  while (true) {
    const std::string_view object = go::next_json_object(list);
    if (object.empty()) return list.empty() && !packages.empty();
    if (packages.size() == kPackagesMax || go::json_too_deep(object)) return false;
    const Json parsed = Json::parse(object, nullptr, false);
    if (!parsed.is_object()) return false;
    // The same package once more as a test sees it; what it imports is known.
    if (!text_at(parsed, "ForTest").empty()) continue;
    packages.emplace(text_at(parsed, "ImportPath"), package_from(parsed));
  }
}

/// What may stand in an import line of ours without becoming anything else there.
bool is_plain_path(const std::string& path) {
  return !path.empty() && path.size() <= kPathBytesMax &&
         std::ranges::all_of(path, [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  c == '/' || c == '.' || c == '-' || c == '_' || c == '~' || c == '+';
         });
}

class Compilable {
 public:
  explicit Compilable(const Packages& packages) : packages_(packages) {
    // What imports something unusable is unusable as well; found from there upwards, so that no
    // chain of imports is ever followed by recursion.
    std::unordered_map<std::string, std::vector<std::string>> importers;
    std::vector<std::string> spoilt;
    for (const auto& [path, package] : packages) {
      if (package.standard) continue;
      for (const std::string& import : package.imports) importers[import].push_back(path);
      // `unsafe` is listed by some releases and not by others.
      const bool misses = std::ranges::any_of(package.imports, [&](const std::string& import) {
        return import != "unsafe" && (import == "C" || !packages.contains(import));
      });
      if (package.own || package.unusable || misses) spoilt.push_back(path);
    }
    while (!spoilt.empty()) {
      const std::string path = std::move(spoilt.back());
      spoilt.pop_back();
      if (!spoilt_.insert(path).second) continue;
      for (const std::string& importer : importers[path]) spoilt.push_back(importer);
    }
  }

  [[nodiscard]] bool holds(const std::string& path) const {
    const auto found = packages_.find(path);
    return found != packages_.end() && !found->second.standard && !spoilt_.contains(path);
  }

 private:
  const Packages& packages_;
  std::set<std::string> spoilt_;
};

}  // namespace

DependencyImports dependency_imports(std::string_view list) {
  DependencyImports found;
  Packages packages;
  found.complete = read(list, packages);
  if (!found.complete) return found;
  const Compilable compilable(packages);
  std::set<std::string> wanted;
  for (const auto& [path, package] : packages) {
    if (!package.own) continue;
    for (const std::string& import : package.imports) {
      if (is_plain_path(import) && compilable.holds(import)) wanted.insert(import);
    }
  }
  found.paths.assign(wanted.begin(), wanted.end());
  if (found.paths.size() > kPathsMax) found.paths.resize(kPathsMax);
  return found;
}

std::string importing_program(const std::vector<std::string>& paths) {
  std::string text = "package seed\n\nimport (\n";
  for (const std::string& path : paths) text += "\t_ \"" + path + "\"\n";
  return text + ")\n";
}

}  // namespace cupel::worker::seeds
