#include "coordinator/core/compare/side_view.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace cupel::coordinator::compare {
SideView::SideView(const Book& book, const std::vector<Run>& runs) : asked_(runs.size() - 1) {
  for (const Run& run : runs) {
    std::vector<std::string> ignored;
    if (!is_conclusive(run) || !why_incomparable(runs.front(), run, false, ignored).empty()) {
      spoiled_ = &run;
      continue;
    }
    problems_.push_back(problems_of(book, run));
    packages_.push_back(packages_of(book, run, problems_.back()));
  }
}

SideView::Packages SideView::packages_of(const Book& book, const Run& run,
                                         const Problems& problems) {
  Packages out;
  out.all_tested = run.outcome == Outcome::passing || !problems.empty();
  for (const auto& [name, problem] : problems) {
    const Mark& mark = book.marks[problem.mark];
    out.failed.insert(mark.package);
    if (mark.package.empty() || mark.kind == FindingKind::build_failure ||
        mark.kind == FindingKind::setup_failure) {
      out.all_tested = false;
    }
  }
  out.stopped = stopped_packages(book, run);
  return out;
}

std::size_t SideView::failing() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(problems_, [](const Problems& run) { return !run.empty(); }));
}

std::vector<Flake> SideView::flakes(Side side) const {
  struct Hits {
    std::uint32_t mark = 0;
    std::uint32_t count = 0;
  };
  std::map<std::string, Hits> all;
  for (const Problems& run : problems_) {
    for (const auto& [name, problem] : run) {
      Hits& hits = all[name];
      if (hits.count++ == 0) hits.mark = problem.mark;
    }
  }
  const auto runs = static_cast<std::uint32_t>(problems_.size());
  std::vector<Flake> out;
  for (const auto& [name, hits] : all) {
    if (hits.count < runs) out.push_back({hits.mark, side, hits.count, runs});
  }
  return out;
}

bool SideView::passes_but_for_flakes() const {
  std::set<std::string> failed;
  for (const Packages& run : packages_) failed.insert(run.failed.begin(), run.failed.end());
  const bool ever_tested = std::ranges::any_of(packages_, &Packages::all_tested);
  return ever_tested && std::ranges::all_of(failed, [this](const std::string& package) {
           return std::ranges::any_of(packages_, [&package](const Packages& run) {
             return run.all_tested && !run.failed.contains(package);
           });
         });
}

std::size_t SideView::runs_that_show(const Mark& mark) const {
  return static_cast<std::size_t>(std::ranges::count_if(packages_, [&mark](const Packages& run) {
    return run.all_tested && !run.stopped.contains(mark.package);
  }));
}

}  // namespace cupel::coordinator::compare
