/// What the go command and the tools behind it write as text: build errors, load errors, vet
/// findings and its own complaints ("go: …").
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::go {

/// One problem in the text, with the lines that belong to it.
struct TextProblem {
  enum class Kind {
    compile,  ///< Under "# package": compiler, assembler, linker, cgo.
    load,     ///< Without such a header: the package can't be loaded.
    vet,      ///< A finding of vet.
    command,  ///< The go command itself, "go: …".
  };
  Kind kind = Kind::load;
  std::string package;  ///< As the header or the message says; empty where it says none.
  std::string file;     ///< Of the first position, as written.
  int line = 0;
  int column = 0;
  std::string message;  ///< Cleaned; several lines of one compile are together.
};

struct BuildText {
  std::vector<TextProblem> problems;  ///< At most 10,000.
  bool no_packages = false;           ///< "matched no packages", "no packages to test"
  std::string no_packages_line;
};

/// stderr of go build, go vet and (up to Go 1.23) go test. `vet` tells whether lines with a
/// position and without a header are findings of vet or load errors: both look the same.
[[nodiscard]] BuildText read_build_text(std::string_view bytes, bool vet);

/// The package that an import path of a build belongs to (rule P5): "p [q.test]" and "p.test" are
/// p, "p_test [p.test]" is the external test package of p.
[[nodiscard]] std::string canonical_package(std::string_view import_path);

}  // namespace cupel::worker::go
