/// Reader of `go list -e -deps -json=…`: the packages that must end before a pass is proven, fixed
/// before any code of the repository ran (rule P18).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cupel::worker::go {

/// The fields that the list check asks for.
inline constexpr std::string_view kListFields =
    "Dir,ImportPath,Name,Standard,DepOnly,CgoFiles,TestGoFiles,XTestGoFiles,Imports,"
    "TestImports,XTestImports,Error,DepsErrors";

struct ListedPackage {
  std::string import_path;
  std::string dir;  ///< Below the unit ("." for its root); elsewhere as reported.
  bool standard = false;
  bool dep_only = false;                ///< Not matched by the patterns.
  bool uses_cgo = false;                ///< Has files that import "C".
  std::vector<std::string> test_files;  ///< Of the package and of its external test package.
  std::vector<std::string> imports;     ///< Including those of its tests.
  std::string error;                    ///< What keeps it from being loaded, empty = nothing.
};

struct PackageList {
  std::vector<ListedPackage> packages;
  std::unordered_map<std::string, std::size_t> index;  ///< By import path.
  std::unordered_map<std::string, std::size_t>
      dir_index;                    ///< By directory, of what is not standard.
  std::vector<std::size_t> broken;  ///< Those with an error, the first 1,000.
  bool complete = false;            ///< Every object was read and the text ended where it should.

  [[nodiscard]] const ListedPackage* find(std::string_view import_path) const;
  /// The package that a name of go vet is about: it calls the external tests of p "p_test", without
  /// the words in brackets that tell them from a package of that name; only the list knows.
  [[nodiscard]] std::string tested(std::string package) const;
  /// The package of the unit whose directory holds the file (a path below the unit).
  [[nodiscard]] const ListedPackage* owner_of(std::string_view file) const;
  /// The package of that directory (below the unit).
  [[nodiscard]] const ListedPackage* in_dir(std::string_view dir) const;
  [[nodiscard]] std::size_t matched() const;
  /// A package among what `import_path` imports, directly or not, for which `wanted` holds; the
  /// nearest.
  template <typename Predicate>
  [[nodiscard]] const ListedPackage* nearest_import(std::string_view import_path,
                                                    Predicate wanted) const {
    std::vector<const ListedPackage*> queue;
    std::unordered_map<std::string_view, bool> seen;
    if (const ListedPackage* start = find(import_path)) queue.push_back(start);
    for (std::size_t at = 0; at < queue.size(); ++at) {
      for (const std::string& path : queue[at]->imports) {
        const ListedPackage* next = find(path);
        if (next == nullptr || !seen.try_emplace(next->import_path, true).second) continue;
        if (wanted(*next)) return next;
        queue.push_back(next);
      }
    }
    return nullptr;
  }
};

/// Any bytes; what is not a list leaves `complete` false.
[[nodiscard]] PackageList read_package_list(std::string_view bytes, std::string_view unit_dir);

/// Cuts concatenated JSON objects apart without parsing them: the next object at the front of
/// `text`, which is then removed with the blanks before it. Empty at the end or where no object
/// begins.
[[nodiscard]] std::string_view next_json_object(std::string_view& text);
/// More than 32 levels: nothing that the go command writes, and costly to parse.
[[nodiscard]] bool json_too_deep(std::string_view object);

}  // namespace cupel::worker::go
