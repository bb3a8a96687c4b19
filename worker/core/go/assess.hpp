/// What the output of one check says, before it is asked how far its run can be believed. Internal
/// to the judge.
#pragma once

#include "common/core/finding.hpp"
#include "worker/core/go/build_text.hpp"
#include "worker/core/go/check_output.hpp"
#include "worker/core/go/judge.hpp"
#include "worker/core/go/package_list.hpp"
#include "worker/core/go/test_stream.hpp"
#include "worker/core/go/vet_output.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::go {

struct Assessment {
  std::vector<Finding> findings;
  Reason reason = Reason::none;  ///< The strongest reason in the content that is no plain failure.
  bool failing = false;          ///< A finding proves a failure, provided that the run is whole.
  bool explained = false;        ///< Something said accounts for an exit code other than 0.
  std::uint32_t packages = 0;
  std::uint32_t tests = 0;
  std::uint32_t tests_not_run = 0;
  std::vector<CutShort> cut_short;
  std::optional<ScanFacts> scan;
};

/// What an assessment may know beside the output itself.
struct Surroundings {
  const JudgeContext& context;
  const PackageList& list;
  bool list_usable = false;
  CheckKind check = CheckKind::test;
  const RunReport& report;

  [[nodiscard]] bool out_of_memory() const {
    return report.oom_kills > 0 || report.engine_oom_killed;
  }
  /// Words about refused processes may be true. Where the sandbox counts what it refuses, its count
  /// says so; elsewhere there is nothing but the words.
  [[nodiscard]] bool may_lack_processes() const {
    return report.pids_limit_hit || !report.pids_counted;
  }
  [[nodiscard]] bool hit_limit() const {
    return report.ended_by == EndedBy::check_limit || report.ended_by == EndedBy::wrapper_limit;
  }
  /// Where the package lies below the snapshot's root; empty where that is unknown.
  [[nodiscard]] std::string dir_of(std::string_view package) const;
};

/// Adds findings with key and signature; knows what each kind means for the check.
class Findings {
 public:
  Findings(const Surroundings& around, Assessment& out) : around_(around), out_(out) {}

  /// The finding is complete when this returns. `ended`: its package has ended, so it may prove a
  /// failure.
  Finding& add(FindingKind kind, std::string_view package, std::string_view test,
               std::string message, bool ended = true);
  /// One advisory; the scan fails when the vulnerable code is reached.
  void vulnerability(const Vulnerability& found);
  /// What a custom check reported; `remark`: its tool let it pass.
  void reported(const Reported& one, std::string_view check, bool remark);
  void note(std::string_view package, std::string message, std::string_view test = {});
  /// A note of which there may be several, each about something else.
  void note_about(std::string_view subject, std::string message);
  /// A finding that says why there is no answer.
  void obstacle(FindingKind kind, Reason reason, std::string_view package, std::string_view test,
                std::string message);
  /// A package that can't be built or loaded: its own fault, the sandbox's or the snapshot's.
  void broken_package(FindingKind kind, std::string_view package, std::string message,
                      std::string_view wanted = {});
  void dependent(std::string_view package, std::string_view culprit);
  /// A complaint of the go command itself.
  void command_problem(std::string_view message);
  void apply(Reason reason);
  /// What is said of the package comes from there being no C compiler.
  [[nodiscard]] bool lacks_cgo(std::string_view package, std::string_view message) const;

 private:
  Finding& push(FindingKind kind, std::string_view package, std::string_view test,
                std::string message);
  /// A tag that takes a failure's weight: what it needs is not in the snapshot or the cache.
  [[nodiscard]] Reason missing_content(const Finding& finding, std::string_view wanted) const;

  const Surroundings& around_;
  Assessment& out_;
};

[[nodiscard]] Assessment assess_list(const Surroundings& around);
[[nodiscard]] Assessment assess_build(const Surroundings& around);
[[nodiscard]] Assessment assess_vet(const Surroundings& around, bool json);
[[nodiscard]] Assessment assess_test(const Surroundings& around);
[[nodiscard]] Assessment assess_scan(const Surroundings& around);
/// The finding that says why there is no scan.
[[nodiscard]] Finding scan_problem(const UnitInfo& unit, std::string message);
[[nodiscard]] Assessment assess_custom(const Surroundings& around, std::string_view name);

/// Problems of build text as findings; load errors get their package from the list.
void add_build_problems(const Surroundings& around, const BuildText& text, Findings& findings);

}  // namespace cupel::worker::go
