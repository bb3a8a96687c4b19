// Which tests the sources of a package declare; just enough of Go's grammar for that.
#include "common/core/limits.hpp"
#include "worker/core/go/judge.hpp"
#include "worker/core/go/keys.hpp"
#include "worker/core/go/text.hpp"

#include <algorithm>
#include <set>

namespace cupel::worker {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// "func TestName(" at the start of a line, as gofmt writes it; names as go test takes them.
std::string declared_test(std::string_view line) {
  constexpr std::string_view kKeyword = "func ";
  if (!line.starts_with(kKeyword)) return {};
  line.remove_prefix(kKeyword.size());
  std::size_t end = 0;
  while (end < line.size() && is_name_char(line[end])) ++end;
  const std::string_view name = line.substr(0, end);
  if (end >= line.size() || line[end] != '(' || name == "TestMain") return {};
  for (const std::string_view prefix : {"Test", "Fuzz"}) {
    if (!name.starts_with(prefix)) continue;
    const bool lower =
        name.size() > prefix.size() && name[prefix.size()] >= 'a' && name[prefix.size()] <= 'z';
    return lower ? std::string{} : std::string(name);
  }
  return {};
}

}  // namespace

void note_tests_not_run(Judgement& judgement, const CutShort& package, const UnitInfo& unit,
                        std::span<const std::string> sources) {
  std::set<std::string> missing;
  for (const std::string& source : sources) {
    for (const std::string_view line : go::lines_of(source)) {
      std::string test = declared_test(line);
      if (!test.empty()) missing.insert(std::move(test));
    }
  }
  for (const std::string& seen : package.seen) missing.erase(seen);
  for (const std::string& test : missing) {
    if (judgement.findings.size() >= kFindingsPerResultMax) {
      judgement.findings_truncated = true;
      return;
    }
    Finding finding;
    finding.kind = FindingKind::note;
    finding.check = CheckKind::test;
    finding.package = package.package;
    finding.test = test;
    finding.message = "not_run: the package ended first";
    go::identify(finding, unit);
    judgement.findings.push_back(std::move(finding));
    for (CheckRecord& check : judgement.checks) {
      if (check.check == CheckKind::test) ++check.tests_not_run;
    }
  }
}

}  // namespace cupel::worker
