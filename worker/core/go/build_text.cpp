#include "worker/core/go/build_text.hpp"

#include "common/core/limits.hpp"
#include "worker/core/go/text.hpp"

#include <algorithm>
#include <array>

namespace cupel::worker::go {
namespace {

using Kind = TextProblem::Kind;

constexpr std::size_t kProblemsMax = 10'000;

/// Progress of the go command that says nothing about the code.
bool is_chatter(std::string_view line) {
  constexpr std::array<std::string_view, 7> kStarts = {
      "go: downloading ", "go: finding ", "go: extracting ", "go: warning: ",
      "go: found ",       "go: added ",   "go: upgraded "};
  return std::ranges::any_of(kStarts,
                             [&](std::string_view start) { return line.starts_with(start); });
}

bool says_no_packages(std::string_view line) {
  return line.find("matched no packages") != std::string_view::npos ||
         line == "no packages to test" || line == "no packages to vet" ||
         line == "go: no packages to test" || line == "go: no packages to vet";
}

/// "package a" or "package a (test)" + "\timports b" chains, "a: build constraints exclude …", "…
/// in /src/p".
std::string package_of_load_error(std::string_view line) {
  if (line.starts_with("package ")) {
    std::string_view path = line.substr(8);
    path = path.substr(0, path.find(": "));
    constexpr std::string_view kOfItsTests = " (test)";
    if (path.ends_with(kOfItsTests)) path.remove_suffix(kOfItsTests.size());
    return std::string(path);
  }
  const auto excluded = line.find(": build constraints exclude all Go files");
  if (excluded != std::string_view::npos &&
      line.substr(0, excluded).find(' ') == std::string_view::npos) {
    return std::string(line.substr(0, excluded));
  }
  if (line.starts_with("pattern ")) {
    const std::string_view pattern = line.substr(8);
    return std::string(pattern.substr(0, pattern.find(':')));
  }
  return {};
}

class Reader {
 public:
  explicit Reader(bool vet) : vet_(vet) {}

  void line(std::string_view text) {
    if (says_no_packages(text)) {
      if (!out_.no_packages) out_.no_packages_line = clean(text, kMessageBytesMax);
      out_.no_packages = true;
      return;
    }
    if (trim(text).empty() || is_chatter(text) || text == "{}") return;
    if (text.starts_with("# [") && text.ends_with("]")) {
      header_ = std::string(text.substr(3, text.size() - 4));
      under_vet_ = true;
      open_ = false;
      return;
    }
    if (text.starts_with("# ")) {
      header_ = std::string(text.substr(2));
      under_vet_ = false;
      open_ = false;
      return;
    }
    if (text.starts_with("go: ") || text.starts_with("go build: ") ||
        text.starts_with("go test: ")) {
      header_.clear();
      start(Kind::command, "", text);
    } else if (text.front() == '\t' || text.front() == ' ') {
      append(text);
    } else {
      problem(text);
    }
  }

  BuildText finish() { return std::move(out_); }

 private:
  void problem(std::string_view text) {
    const bool vet_prefix = text.starts_with("vet: ");
    if (vet_prefix) text.remove_prefix(5);
    const Position position = split_position(text);
    if (!header_.empty() && !under_vet_) {
      // One compile is one problem, however many errors it has.
      if (open_ && out_.problems.back().kind == Kind::compile) {
        append(text);
      } else {
        start(Kind::compile, header_, text);
      }
    } else if (vet_prefix) {
      start(Kind::compile, header_, text);  // vet's type checker: the compiler would say the same
    } else if (!header_.empty()) {
      start(Kind::vet, header_, text);
    } else if (open_ && out_.problems.back().kind == Kind::command && position.line != 0 &&
               !position.file.ends_with(".go")) {
      append(text);  // "go: errors parsing go.mod:" + "go.mod:5: …"
    } else {
      start(vet_ && position.line != 0 ? Kind::vet : Kind::load, package_of_load_error(text), text);
    }
  }

  void start(Kind kind, std::string_view package, std::string_view text) {
    open_ = out_.problems.size() < kProblemsMax;
    if (!open_) return;
    const Position position = split_position(text);
    TextProblem problem;
    problem.kind = kind;
    problem.package = clean_name(package);
    if (position.line != 0) {
      problem.file = clean_name(position.file);
      problem.line = position.line;
      problem.column = position.column;
    }
    problem.message = clean(text, kMessageBytesMax);
    out_.problems.push_back(std::move(problem));
  }

  void append(std::string_view text) {
    if (!open_ || out_.problems.empty()) return;
    std::string& message = out_.problems.back().message;
    if (message.size() >= kMessageBytesMax) return;
    message += '\n';
    message += clean(text, kMessageBytesMax - std::min(kMessageBytesMax, message.size()));
  }

  bool vet_;
  BuildText out_;
  std::string header_;
  bool under_vet_ = false;
  bool open_ = false;  ///< The next indented line belongs to the last problem.
};

}  // namespace

BuildText read_build_text(std::string_view bytes, bool vet) {
  Reader reader(vet);
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    std::string_view line = bytes.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) reader.line(line);
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
  }
  return reader.finish();
}

std::string canonical_package(std::string_view import_path) {
  std::string_view path = import_path;
  std::string_view binary;
  const auto bracket = path.find(" [");
  if (bracket != std::string_view::npos && path.ends_with("]")) {
    binary = path.substr(bracket + 2, path.size() - bracket - 3);
    path = path.substr(0, bracket);
  }
  constexpr std::string_view kSuffix = ".test";
  if (binary.ends_with(kSuffix)) {
    const std::string_view tested = binary.substr(0, binary.size() - kSuffix.size());
    if (path.size() == tested.size() + 5 && path.starts_with(tested) && path.ends_with("_test")) {
      return std::string(tested);
    }
    if (path == binary) return std::string(tested);
    return std::string(path);
  }
  if (path.ends_with(kSuffix)) path.remove_suffix(kSuffix.size());
  return std::string(path);
}

}  // namespace cupel::worker::go
