#include "worker/core/go/vet_output.hpp"

#include "common/core/limits.hpp"
#include "worker/core/go/package_list.hpp"
#include "worker/core/go/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <tuple>

namespace cupel::worker::go {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kFindingsMax = 10'000;

std::string word_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

class VetReader {
 public:
  explicit VetReader(bool json) : json_(json) {}

  void stream(std::string_view bytes) {
    std::string text;
    while (!bytes.empty()) {
      // An object begins at the start of a line; everything else is text.
      if (bytes.front() == '{') {
        const std::string_view object = next_json_object(bytes);
        if (object.empty()) {
          out_.complete = false;
          break;
        }
        take(object);
        continue;
      }
      const auto end = bytes.find('\n');
      const std::string_view line = bytes.substr(0, end);
      text += line;
      text += '\n';
      if (end == std::string_view::npos) break;
      bytes.remove_prefix(end + 1);
    }
    BuildText read = read_build_text(text, !json_);
    for (TextProblem& problem : read.problems) out_.text.problems.push_back(std::move(problem));
    if (read.no_packages && !out_.text.no_packages) {
      out_.text.no_packages = true;
      out_.text.no_packages_line = std::move(read.no_packages_line);
    }
  }

  VetOutput finish() { return std::move(out_); }

 private:
  void take(std::string_view object) {
    const Json json = json_too_deep(object) ? Json(Json::value_t::discarded)
                                            : Json::parse(to_utf8(object), nullptr, false);
    if (json.is_discarded() || !json.is_object()) {
      out_.complete = false;
      return;
    }
    for (const auto& [package, analyzers] : json.items()) {
      if (!analyzers.is_object()) continue;
      for (const auto& [analyzer, reports] : analyzers.items()) {
        if (!reports.is_array()) continue;  // {"error": "..."}: the analyzer gave up
        for (const Json& report : reports) add(package, analyzer, report);
      }
    }
  }

  void add(const std::string& package, const std::string& analyzer, const Json& report) {
    if (!report.is_object() || out_.findings.size() >= kFindingsMax) return;
    const std::string posn = word_of(report, "posn");
    const Position position = split_position(posn);
    VetFinding finding{.package = canonical_package(clean_name(package)),
                       .analyzer = clean_name(analyzer),
                       .file = clean_name(position.file),
                       .line = position.line,
                       .column = position.column,
                       .message = clean(word_of(report, "message"), kMessageBytesMax)};
    if (seen_.emplace(finding.package, finding.analyzer, posn, finding.message).second) {
      out_.findings.push_back(std::move(finding));
    }
  }

  bool json_;
  VetOutput out_;
  std::set<std::tuple<std::string, std::string, std::string, std::string>> seen_;
};

}  // namespace

VetOutput read_vet_output(std::string_view out, std::string_view err, bool json) {
  VetReader reader(json);
  reader.stream(out);
  reader.stream(err);
  VetOutput output = reader.finish();
  auto& problems = output.text.problems;
  if (json) {  // Findings come as objects only: a line with a position is a load error.
    for (TextProblem& problem : problems) {
      if (problem.kind != TextProblem::Kind::vet) continue;
      problem.kind = TextProblem::Kind::load;
      problem.package.clear();
    }
    return output;
  }
  for (const TextProblem& problem : problems) {
    if (problem.kind != TextProblem::Kind::vet) continue;
    const Position position = split_position(problem.message);
    output.findings.push_back({.package = canonical_package(problem.package),
                               .analyzer = {},
                               .file = problem.file,
                               .line = problem.line,
                               .column = problem.column,
                               .message = std::string(position.rest)});
  }
  std::erase_if(problems,
                [](const TextProblem& problem) { return problem.kind == TextProblem::Kind::vet; });
  return output;
}

}  // namespace cupel::worker::go
