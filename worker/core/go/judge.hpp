/// From what the runs of a validation left behind to its outcome. Pure: the same reports give the
/// same judgement, byte for byte.
#pragma once

#include "common/core/error.hpp"
#include "common/core/finding.hpp"
#include "common/core/outcome.hpp"
#include "common/core/settings.hpp"
#include "common/core/task.hpp"
#include "worker/core/engine/run.hpp"
#include "worker/core/scan/not_loaded.hpp"
#include "worker/core/scan/stream.hpp"
#include "worker/core/source/notes.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cupel::worker {

/// Grows whenever the same bytes could give other findings, keys or outcomes: results of different
/// parser versions are not compared.
inline constexpr std::uint32_t kParserVersion = 3;

/// One check that ran, and what its run left.
struct CheckRun {
  CheckKind check = CheckKind::list;
  std::string name;  ///< Custom check's name, else empty.
  std::vector<std::string> command;
  RunReport report;
};

/// What a scan was set up with.
struct ScanContext {
  scan::Expected expected;
  std::string database_id;
  /// Not `none`: there is no scanner or no database, and the check scan says so without a run.
  Reason problem = Reason::none;
  std::string message;
  std::vector<scan::Required> required;  ///< What the unit's go.mod asks for.
  scan::Advisories advisories;           ///< The database's word on those.
};

struct JudgeContext {
  UnitInfo unit;
  ValidationSettings settings;
  SnapshotNotes notes;
  bool cgo_available = true;        ///< The image has a C compiler, so CGO_ENABLED is 1.
  std::optional<ScanContext> scan;  ///< Of a validation that scans.
};

/// A package whose test binary ended before its tests had: what its files declare and the stream
/// never named did not run.
struct CutShort {
  std::string package;
  std::string dir;                 ///< Below the snapshot's root.
  std::vector<std::string> files;  ///< Its test files, names only.
  std::vector<std::string> seen;   ///< Top-level tests that the stream named.
};

struct Judgement {
  std::vector<CheckRecord> checks;  ///< In the order of the runs.
  std::vector<Finding> findings;    ///< At most kFindingsPerResultMax, conclusive ones first.
  bool findings_truncated = false;
  Outcome outcome = Outcome::inconclusive;
  Reason reason = Reason::none;
  std::string message;              ///< One line: the first cause. Empty for a pass.
  std::vector<CutShort> cut_short;  ///< For note_tests_not_run().
  std::vector<std::string> notes;   ///< For the evidence: failed post-run calls and the like.
  std::optional<ScanFacts> scan;    ///< Of a conclusive scan.
  /// An engine or host failed in one of the runs: the outcome is inconclusive:engine, and the
  /// caller decides whether the attempt counts as interrupted.
  std::optional<Error> fleet_error;
};

/// A pass is proven only by checks that all ended by themselves with exit code 0 (of the engine and
/// of the end marker alike), whole streams that were read to their end, and an end for every listed
/// package. A failure is proven by a whole run with a finding that explains its exit code. A
/// truncated run is inconclusive, whatever it holds. Anything else is inconclusive with the
/// strongest reason that applies, or refused where the manifests can't be used.
[[nodiscard]] Judgement judge(const JudgeContext& context, std::span<const CheckRun> runs);

/// Adds a note "not_run" for every test that the sources of a package declare and that was not
/// named in the stream. `sources` are the contents of CutShort::files.
void note_tests_not_run(Judgement& judgement, const CutShort& package, const UnitInfo& unit,
                        std::span<const std::string> sources);

}  // namespace cupel::worker
