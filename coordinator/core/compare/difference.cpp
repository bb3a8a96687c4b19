#include "coordinator/core/compare/difference.hpp"

#include "coordinator/core/compare/wording.hpp"

#include <algorithm>
#include <array>

namespace cupel::coordinator::compare {
namespace {

/// Tests that fail, parents of failing subtests included: "package\0test".
std::set<std::string> failing_tests(const Book& book, const Run& run) {
  std::set<std::string> tests;
  for (const Seen& seen : run.seen) {
    const Mark& mark = book.marks[seen.mark];
    if (family_of(mark) == "test") tests.insert(mark.package + '\0' + mark.test);
  }
  return tests;
}

/// Subtests whose names are others each time (rule C4): one that fails on one side alone, under a
/// parent that fails on both, stands for one of the other side. Where a side has more of them than
/// the other, there is nothing that those could stand for.
class Renamed {
 public:
  Renamed(const Book& book, const Run& before, const Run& after, const Problems& old_ones,
          const Problems& new_ones)
      : before_(failing_tests(book, before)), after_(failing_tests(book, after)) {
    count(book, old_ones, new_ones, alone_before_);
    count(book, new_ones, old_ones, alone_after_);
  }

  [[nodiscard]] bool explains_new(const Mark& mark) const {
    return covered(mark, alone_after_, alone_before_);
  }
  [[nodiscard]] bool explains_gone(const Mark& mark) const {
    return covered(mark, alone_before_, alone_after_);
  }

 private:
  using Counts = std::map<std::string, std::size_t>;

  /// The nearest parent that fails on both sides; empty where there is none.
  [[nodiscard]] std::string failing_parent(const Mark& mark) const {
    if (family_of(mark) != "test") return {};
    for (std::size_t slash = mark.test.rfind('/'); slash != std::string::npos && slash > 0;
         slash = mark.test.rfind('/', slash - 1)) {
      std::string parent = mark.package + '\0' + mark.test.substr(0, slash);
      if (before_.contains(parent) && after_.contains(parent)) return parent;
    }
    return {};
  }

  void count(const Book& book, const Problems& of, const Problems& other, Counts& alone) const {
    for (const auto& [name, problem] : of) {
      if (other.contains(name)) continue;
      const std::string parent = failing_parent(book.marks[problem.mark]);
      if (!parent.empty()) ++alone[parent];
    }
  }

  [[nodiscard]] bool covered(const Mark& mark, const Counts& own, const Counts& others) const {
    const std::string parent = failing_parent(mark);
    if (parent.empty()) return false;
    const auto there = others.find(parent);
    return there != others.end() && own.at(parent) <= there->second;
  }

  std::set<std::string> before_;
  std::set<std::string> after_;
  Counts alone_before_;
  Counts alone_after_;
};

bool is_test_of(const Mark& mark, const std::set<std::string>& packages) {
  return family_of(mark) == "test" && packages.contains(mark.package);
}

/// An inferred finding is as good as any failing test of its package on the other side.
bool package_fails(const Book& book, const Mark& mark, const Problems& other) {
  return mark.inferred && std::ranges::any_of(other, [&](const auto& entry) {
           const Mark& there = book.marks[entry.second.mark];
           return there.package == mark.package && family_of(there) == family_of(mark);
         });
}

/// The first check that both sides ran with different command lines; empty when there is none. A
/// check that only one side came to is no difference of the conditions.
std::string other_command(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::map<std::string_view, std::string_view> known;
  for (const std::string& one : a) {
    const std::string_view text = one;
    known[text.substr(0, text.find(' '))] = text;
  }
  for (const std::string& one : b) {
    const std::string_view check = std::string_view(one).substr(0, one.find(' '));
    const auto other = known.find(check);
    if (other != known.end() && other->second != one) return std::string(check);
  }
  return {};
}

}  // namespace

std::string_view family_of(const Mark& mark) {
  return std::string_view(mark.key).substr(0, mark.key.find('|'));
}

std::set<std::string> stopped_packages(const Book& book, const Run& run) {
  std::set<std::string> packages;
  for (const Seen& seen : run.seen) {
    const Mark& mark = book.marks[seen.mark];
    switch (mark.kind) {
      case FindingKind::build_failure:
      case FindingKind::build_failure_dependent:
      case FindingKind::setup_failure:
      case FindingKind::package_failure:
      case FindingKind::package_unfinished:
      case FindingKind::test_timeout: packages.insert(mark.package); break;
      default: break;
    }
  }
  return packages;
}

std::string identity(const Mark& mark) {
  return mark.inferred ? std::string(family_of(mark)) + "|" + mark.package + "|?" : mark.key;
}

Problems problems_of(const Book& book, const Run& run) {
  Problems problems;
  for (const Seen& seen : run.seen) {
    const Mark& mark = book.marks[seen.mark];
    if (mark.derived) continue;
    const auto [entry, fresh] = problems.try_emplace(identity(mark));
    if (fresh) entry->second.mark = seen.mark;
    entry->second.count += seen.count;
    entry->second.words.insert(wording_of(mark));
  }
  return problems;
}

Difference difference_of(const Book& book, const Run& before, const Run& after) {
  const Problems old_ones = problems_of(book, before);
  const Problems new_ones = problems_of(book, after);
  const Renamed renamed(book, before, after, old_ones, new_ones);
  const auto stopped = stopped_packages(book, after);
  Difference difference;
  for (const auto& [name, problem] : new_ones) {
    const auto known = old_ones.find(name);
    const Item item{name, problem.mark, known == old_ones.end() ? 0 : known->second.count,
                    problem.count};
    const Mark& mark = book.marks[problem.mark];
    if (item.after > item.before) {
      const bool old_news =
          item.before == 0 && (renamed.explains_new(mark) || package_fails(book, mark, old_ones));
      (old_news ? difference.unchanged : difference.introduced).push_back(item);
    } else if (item.after < item.before) {
      difference.resolved.push_back(item);
    } else if (known->second.words != problem.words) {
      difference.altered.push_back(item);
    } else {
      difference.unchanged.push_back(item);
    }
  }
  for (const auto& [name, problem] : old_ones) {
    if (new_ones.contains(name)) continue;
    const Item item{name, problem.mark, problem.count, 0};
    const Mark& mark = book.marks[problem.mark];
    if (is_test_of(mark, stopped)) {
      difference.not_run.push_back(item);
    } else if (renamed.explains_gone(mark) || package_fails(book, mark, new_ones)) {
      difference.unchanged.push_back(item);
    } else {
      difference.resolved.push_back(item);
    }
  }
  return difference;
}

std::string why_incomparable(const Run& before, const Run& after, bool go_changes,
                             std::vector<std::string>& explained) {
  const Conditions& a = before.conditions;
  const Conditions& b = after.conditions;
  struct Row {
    std::string_view what;
    std::string_view a;
    std::string_view b;
    bool changes;
  };
  const std::string parser_a = std::to_string(a.parser_version);
  const std::string parser_b = std::to_string(b.parser_version);
  const std::array rows = {Row{"image", a.image, b.image, go_changes},
                           Row{"Go version", a.go_version, b.go_version, go_changes},
                           Row{"engine", a.engine, b.engine, false},
                           Row{"egress", a.egress, b.egress, false},
                           Row{"proxy mode", a.proxy_mode, b.proxy_mode, false},
                           Row{"build cache", a.build_cache, b.build_cache, false},
                           Row{"wrapper", a.wrapper, b.wrapper, false},
                           Row{"parser", parser_a, parser_b, false}};
  explained.clear();
  for (const Row& row : rows) {
    if (row.a == row.b) continue;
    const std::string text = std::string(row.what) + ": " + std::string(row.a) + " before, " +
                             std::string(row.b) + " after";
    if (!row.changes) return text;
    explained.push_back(text);
  }
  if (const std::string check = other_command(a.commands, b.commands); !check.empty()) {
    const std::string text = "the command line of check " + check + " differs";
    if (!go_changes) return text;
    explained.push_back(text);
  }
  return {};
}

}  // namespace cupel::coordinator::compare
