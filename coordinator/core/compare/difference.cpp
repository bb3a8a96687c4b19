#include "coordinator/core/compare/difference.hpp"

#include <algorithm>
#include <array>

namespace cupel::coordinator::compare {
namespace {

std::string_view family(const Mark& mark) {
  return std::string_view(mark.key).substr(0, mark.key.find('|'));
}

/// Packages in which tests can't have run to their end.
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

/// Tests that fail, parents of failing subtests included: "package\0test".
std::set<std::string> failing_tests(const Book& book, const Run& run) {
  std::set<std::string> tests;
  for (const Seen& seen : run.seen) {
    const Mark& mark = book.marks[seen.mark];
    if (family(mark) == "test") tests.insert(mark.package + '\0' + mark.test);
  }
  return tests;
}

/// A failing subtest counts as known when a parent of it fails on both sides (rule C4).
bool parent_fails(const Mark& mark, const std::set<std::string>& before,
                  const std::set<std::string>& after) {
  if (family(mark) != "test") return false;
  for (std::size_t slash = mark.test.rfind('/'); slash != std::string::npos && slash > 0;
       slash = mark.test.rfind('/', slash - 1)) {
    const std::string parent = mark.package + '\0' + mark.test.substr(0, slash);
    if (before.contains(parent) && after.contains(parent)) return true;
  }
  return false;
}

bool is_test_of(const Mark& mark, const std::set<std::string>& packages) {
  return family(mark) == "test" && packages.contains(mark.package);
}

/// An inferred finding is as good as any failing test of its package on the other side.
bool package_fails(const Book& book, const Mark& mark, const Problems& other) {
  return mark.inferred && std::ranges::any_of(other, [&](const auto& entry) {
           const Mark& there = book.marks[entry.second.mark];
           return there.package == mark.package && family(there) == family(mark);
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

std::string identity(const Mark& mark) {
  return mark.inferred ? std::string(family(mark)) + "|" + mark.package + "|?" : mark.key;
}

Problems problems_of(const Book& book, const Run& run) {
  Problems problems;
  for (const Seen& seen : run.seen) {
    const Mark& mark = book.marks[seen.mark];
    if (mark.derived) continue;
    const auto [entry, fresh] = problems.try_emplace(identity(mark));
    if (fresh) entry->second.mark = seen.mark;
    entry->second.count += seen.count;
    entry->second.signatures.insert(mark.signature);
  }
  return problems;
}

Difference difference_of(const Book& book, const Run& before, const Run& after) {
  const Problems old_ones = problems_of(book, before);
  const Problems new_ones = problems_of(book, after);
  const auto tests_before = failing_tests(book, before);
  const auto tests_after = failing_tests(book, after);
  const auto stopped = stopped_packages(book, after);
  Difference difference;
  for (const auto& [name, problem] : new_ones) {
    const auto known = old_ones.find(name);
    const Item item{name, problem.mark, known == old_ones.end() ? 0 : known->second.count,
                    problem.count};
    const Mark& mark = book.marks[problem.mark];
    if (item.after > item.before) {
      const bool old_news = item.before == 0 && (parent_fails(mark, tests_before, tests_after) ||
                                                 package_fails(book, mark, old_ones));
      (old_news ? difference.unchanged : difference.introduced).push_back(item);
    } else if (item.after < item.before) {
      difference.resolved.push_back(item);
    } else if (known->second.signatures != problem.signatures) {
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
    } else if (parent_fails(mark, tests_before, tests_after) ||
               package_fails(book, mark, new_ones)) {
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
