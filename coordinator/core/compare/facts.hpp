/// What a comparison needs of the runs of a unit, kept small: equal findings of several runs are
/// one mark, and a run says which marks it had.
#pragma once

#include "common/core/change.hpp"
#include "common/core/task.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::coordinator::compare {

/// A conclusive finding. Two findings are one mark when kind family, key and signature agree after
/// what depends on a dependency's version is taken out.
struct Mark {
  FindingKind kind = FindingKind::note;
  CheckKind check = CheckKind::test;
  std::string key;        ///< Of the finding, without "@v1.2.3" in paths (rule C1).
  std::string signature;  ///< Likewise.
  std::string package;
  std::string test;
  std::string analyzer;
  std::string file;
  std::int32_t line = 0;    ///< Of the first finding; for people.
  std::string message;      ///< Likewise, at most 512 bytes.
  std::string environment;  ///< Probably the sandbox's doing.
  bool inferred = false;    ///< Compared by its package (rule C3).
  bool derived = false;     ///< A parent that fails because of its child: only for rule C4.
  friend bool operator==(const Mark&, const Mark&) = default;
};

struct Seen {
  std::uint32_t mark = 0;   ///< Index in Book::marks.
  std::uint32_t count = 1;  ///< Equal findings in this run.
  friend bool operator==(const Seen&, const Seen&) = default;
};

/// What must be equal before two runs may be compared. Limits and settings are the campaign's, so
/// they are equal by construction.
struct Conditions {
  std::string image;
  std::string go_version;
  std::string engine;
  std::string egress;
  std::string proxy_mode;
  std::string build_cache;  ///< "seeded" or "empty"; how it was seeded doesn't matter.
  std::string wrapper;
  std::uint32_t parser_version = 0;
  std::vector<std::string> commands;  ///< "CHECK DIGEST" of the command line of each check, sorted.
  friend bool operator==(const Conditions&, const Conditions&) = default;
};

struct Run {
  TaskId task;
  WorkerId worker;  ///< Who made it; 0 = not known.
  Outcome outcome = Outcome::inconclusive;
  Reason reason = Reason::none;
  std::string message;
  bool cut = false;  ///< Findings or a stream were cut: nothing is concluded from this run.
  std::vector<Seen> seen;
  Conditions conditions;
  std::uint32_t packages = 0;  ///< Of the test check.
  std::uint32_t tests = 0;
  std::uint32_t tests_not_run = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

/// The change as far as a comparison, a patch and a repetition need it.
struct ChangeNote {
  TaskId task;
  std::string tree;
  NotAffected not_affected = NotAffected::none;
  std::vector<ModuleTarget> resolved;
  std::vector<ModuleMove> moved;
  std::string go_before;
  std::string go_after;
  std::vector<GateFinding> gates;
  Digest patch;
  std::uint64_t patch_bytes = 0;
  friend bool operator==(const ChangeNote&, const ChangeNote&) = default;
};

/// What the last look at an after side said, just before its patch may be handed out.
struct Readiness {
  TaskId task;
  bool conclusive = false;
  std::string message;  ///< Why it isn't conclusive.
  std::vector<GateFinding> gates;

  [[nodiscard]] bool good() const { return conclusive && gates.empty(); }
  friend bool operator==(const Readiness&, const Readiness&) = default;
};

struct Book {
  std::vector<Mark> marks;
  std::vector<Run> before;  ///< [0] is the first; the others are repeats.
  std::vector<Run> after;
  std::optional<ChangeNote> change;
  std::optional<Readiness> readiness;
  // The first conclusive scan of each side, of a campaign that scans.
  std::optional<ScanFacts> scan_before;
  std::optional<ScanFacts> scan_after;
  friend bool operator==(const Book&, const Book&) = default;
};

/// Marks kept of one run; what is above it makes the run `cut`.
inline constexpr std::size_t kMarksPerRunMax = 2'000;

/// The run that a result of an execute task means; its marks are added to the book.
[[nodiscard]] Run run_of(Book& book, const TaskResult& result);
[[nodiscard]] ChangeNote note_of(const ChangeFacts& facts, TaskId task);
/// What a readiness task's result means for the patch of `change`. `as_written`: the patch is the
/// campaign's own diff, which owes nobody a tidy manifest.
[[nodiscard]] Readiness readiness_of(const TaskResult& result, const ChangeNote& change,
                                     bool as_written);

/// True for passing and failing runs of which everything is known.
[[nodiscard]] bool is_conclusive(const Run& run);

/// "example.com/m@v1.2.3/x.go" -> "example.com/m@v/x.go": where a dependency lies is no difference.
[[nodiscard]] std::string without_versions(std::string_view text);

/// The moved module that a mark is about: its package is the module's, or its text names the
/// module's folder; the longest path wins. Nullptr where there is none.
[[nodiscard]] const ModuleMove* dependency_of(const Mark& mark, const ChangeNote& change);

}  // namespace cupel::coordinator::compare
