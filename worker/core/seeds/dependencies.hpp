/// Which packages of a unit's dependencies are compiled beforehand, and the program that has them
/// compiled. Pure. Why such a run executes nothing of the repository: docs/security.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::seeds {

/// The fields of `go list -e -deps -test -json=...` that are needed.
inline constexpr std::string_view kListFields =
    "ImportPath,Name,Standard,ForTest,Module,CgoFiles,SwigFiles,SwigCXXFiles,SysoFiles,Imports,"
    "TestImports,XTestImports,Error";

/// What the unit's packages and tests import of other modules, sorted. Left out is whatever can't
/// be compiled apart from the repository, or gives a C compiler or its linker something to read:
/// packages of the main module, of directories that replace a module, those that use cgo or bring
/// object files, and what imports one of these. `complete` is false where the text is no whole
/// list.
struct DependencyImports {
  std::vector<std::string> paths;
  bool complete = false;
};
[[nodiscard]] DependencyImports dependency_imports(std::string_view list);

/// A package of ours that imports them and does nothing. Only paths that dependency_imports() gave.
[[nodiscard]] std::string importing_program(const std::vector<std::string>& paths);

/// A test beside it, since go test vets with flags of its own and compiles for the race detector.
inline constexpr std::string_view kSeedTest =
    "package seed\n\nimport \"testing\"\n\nfunc TestNothing(*testing.T) {}\n";

}  // namespace cupel::worker::seeds
