#include "worker/core/go/merge_findings.hpp"

#include "common/core/limits.hpp"
#include "worker/core/go/keys.hpp"
#include "worker/core/go/text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace cupel::worker::go {
namespace {

bool is_build_family(FindingKind kind) {
  return kind == FindingKind::build_failure || kind == FindingKind::build_failure_dependent ||
         kind == FindingKind::setup_failure;
}

class Merger {
 public:
  /// `by_text`: the same words about another package are the same problem as well.
  void add(Finding finding, bool by_text) {
    if (const auto known = known_.find(finding.key); known != known_.end()) {
      add_place(known->second, finding);
      return;
    }
    if (kept_.size() > kFindingsPerResultMax) return;  // One over: it will be seen to be cut.
    if (absorbed(finding, by_text)) return;
    known_.emplace(finding.key, Known{kept_.size(), {{finding.line, finding.column}}});
    if (finding.kind == FindingKind::vet) vet_.insert(vet_place(finding));
    if (says_why_broken(finding.kind) && broken_.size() < kBrokenTextsMax) {
      broken_.push_back(finding.message);
    }
    kept_.push_back(std::move(finding));
  }

  std::vector<Finding> finish() { return std::move(kept_); }

 private:
  static constexpr std::size_t kBrokenTextsMax = 500;

  struct Known {
    std::size_t at;                        ///< In kept_.
    std::set<std::pair<int, int>> places;  ///< Line and column.
  };

  /// Keys have no lines: of two sides the one with a second equal problem in a file would not
  /// differ. Vet's keys are those of a file; the check that said it first counts.
  void add_place(Known& known, const Finding& finding) {
    Finding& first = kept_.at(known.at);
    if (finding.kind != FindingKind::vet || finding.check != first.check) return;
    if (known.places.size() == kFindingsPerResultMax) return;
    if (known.places.emplace(finding.line, finding.column).second) ++first.more_places;
  }

  static bool says_why_broken(FindingKind kind) {
    return is_build_family(kind) || kind == FindingKind::environment ||
           kind == FindingKind::resource_limit;
  }
  static std::string vet_place(const Finding& finding) {
    return finding.package + '\n' + finding.file + '\n' + normalise(finding.message);
  }

  [[nodiscard]] bool absorbed(const Finding& finding, bool by_text) const {
    // Inside go test vet doesn't name its analyzer (rule B3).
    if (finding.kind == FindingKind::vet && finding.analyzer.empty()) {
      return vet_.contains(vet_place(finding));
    }
    // The package of a load error is not always said; go test has told it then.
    if (!by_text || finding.kind != FindingKind::setup_failure) return false;
    const std::string_view said = split_position(first_line_said(finding.message)).rest;
    return !said.empty() && std::ranges::any_of(broken_, [&](const std::string& message) {
      return message.find(said) != std::string::npos;
    });
  }

  std::map<std::string, Known> known_;
  std::set<std::string> vet_;
  std::vector<std::string> broken_;
  std::vector<Finding> kept_;
};

}  // namespace

std::vector<Finding> merge_findings(std::vector<SaidByCheck> all) {
  Merger merger;
  const auto take = [&](CheckKind check, auto wanted) {
    for (SaidByCheck& said : all) {
      if (said.check != check) continue;
      for (Finding& finding : said.findings) {
        if (wanted(finding)) merger.add(std::move(finding), check != CheckKind::test);
      }
    }
  };
  const auto is_vet = [](const Finding& finding) { return finding.kind == FindingKind::vet; };
  const auto any = [](const Finding&) { return true; };
  take(CheckKind::test, [&](const Finding& finding) { return !is_vet(finding); });
  take(CheckKind::vet, any);
  // A moved-from finding has an empty key; those were taken above.
  take(CheckKind::test,
       [&](const Finding& finding) { return is_vet(finding) && !finding.key.empty(); });
  take(CheckKind::build, any);
  take(CheckKind::list, any);
  take(CheckKind::scan, any);
  take(CheckKind::custom, any);
  return merger.finish();
}

}  // namespace cupel::worker::go
