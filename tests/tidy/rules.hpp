/// Rules of style that no compiler checks, as pure functions over the text of a file.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::tidy {

struct SourceFile {
  std::string path;  ///< From the root of the tree, such as "worker/core/go/judge.cpp".
  std::string text;
};

/// "path:line: what"
using Complaints = std::vector<std::string>;

/// schema -> common -> {coordinator, worker, cli}: read from the #include lines, which need no
/// linking.
[[nodiscard]] Complaints check_arrows(const SourceFile& file);

/// In the folder of a core library: no I/O library, clock, randomness or thread.
[[nodiscard]] Complaints check_purity(const SourceFile& file);

/// Words that may not stand in the tree: detached coroutines, registry hosts, places of one
/// machine.
[[nodiscard]] Complaints check_bans(const SourceFile& file);

/// A rename in a daemon's code has a crash point on one of the lines before it (common/crash).
[[nodiscard]] Complaints check_crash_points(const SourceFile& file);

/// A .cpp with a header of its own includes it first, which proves that the header stands alone.
[[nodiscard]] Complaints check_own_header_first(const SourceFile& file,
                                                const std::set<std::string>& headers);

/// Lines over `lines_max`.
[[nodiscard]] Complaints check_length(const SourceFile& file, std::size_t lines_max);

/// Tests that a file declares: "Suite.Name" in C++, "test_name" in Python.
[[nodiscard]] std::set<std::string> declared_tests(const SourceFile& file);

/// In a document whose tables have a last column "test": each row names at least one test, between
/// backticks, and all that it names are declared.
[[nodiscard]] Complaints check_named_tests(const SourceFile& document,
                                           const std::set<std::string>& declared);

/// Metrics that a file of code names in full, as literals.
[[nodiscard]] std::set<std::string> declared_metrics(const SourceFile& file);

/// A metric that a document names between backticks is declared; `name_*` is the beginning of one.
[[nodiscard]] Complaints check_named_metrics(const SourceFile& document,
                                             const std::set<std::string>& declared);

/// Folders that a CMakeLists.txt makes into a library with LAYER core.
[[nodiscard]] bool declares_core(std::string_view cmake_text);

}  // namespace cupel::tidy
