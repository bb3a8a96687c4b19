#include "worker/core/go/judge.hpp"

#include "common/core/limits.hpp"
#include "worker/core/go/assess.hpp"
#include "worker/core/go/keys.hpp"
#include "worker/core/go/merge_findings.hpp"
#include "worker/core/go/proof.hpp"
#include "worker/core/go/text.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

namespace cupel::worker {
namespace {

using go::Assessment;
using go::Surroundings;

bool asks_json(const CheckRun& run) {
  return std::ranges::find(run.command, "-json") != run.command.end();
}

struct Judged {
  const CheckRun* run = nullptr;
  Assessment said;
  Reason doubt = Reason::none;
};

Assessment assess(const CheckRun& run, const Surroundings& around) {
  if (run.report.error || !run.report.started) return {};
  switch (run.check) {
    case CheckKind::list: return go::assess_list(around);
    case CheckKind::build: return go::assess_build(around);
    case CheckKind::vet: return go::assess_vet(around, asks_json(run));
    case CheckKind::test: return go::assess_test(around);
    case CheckKind::scan: return go::assess_scan(around);
    case CheckKind::custom: return go::assess_custom(around, run.name);
  }
  return {};
}

// ---- one check ----------------------------------------------------------------------------------

CheckRecord record_of(const Judged& judged, bool list_usable) {
  const CheckRun& run = *judged.run;
  const RunReport& report = run.report;
  CheckRecord record;
  record.check = run.check;
  record.name = run.name;
  record.command = run.command;
  record.exit_code = report.exit_code;
  record.truncated = report.out.truncated || report.err.truncated;
  record.duration_us = static_cast<std::uint64_t>(std::max<std::int64_t>(
      0, std::chrono::duration_cast<std::chrono::microseconds>(report.wall).count()));
  record.packages = judged.said.packages;
  record.tests = judged.said.tests;
  record.tests_not_run = judged.said.tests_not_run;

  const Reason said = judged.said.reason;
  if (report.ended_by == EndedBy::cancelled && !report.error) {
    record.outcome = Outcome::cancelled;
  } else if (judged.doubt != Reason::none) {
    record.outcome = Outcome::inconclusive;
    record.reason =
        class_of(said) == Outcome::refused ? judged.doubt : stronger_reason(judged.doubt, said);
  } else if (class_of(said) == Outcome::refused) {
    record.outcome = Outcome::refused;
    record.reason = said;
  } else if (judged.said.failing) {
    record.outcome = Outcome::failing;
  } else if (said != Reason::none) {
    record.reason = said;
  } else if (report.exit_code != 0) {
    record.reason = Reason::unexplained_exit;
  } else if (run.check == CheckKind::test && !list_usable) {
    record.reason = Reason::incomplete_stream;  // Nothing says which packages had to end.
  } else {
    record.outcome = Outcome::passing;
  }
  return record;
}

int weight(const Finding& finding) {
  if (finding.kind == FindingKind::vuln) return 1;  // Most of them are known and don't fail.
  if (is_conclusive(finding.kind)) return finding.environment.empty() ? 0 : 1;
  switch (finding.kind) {
    case FindingKind::note: return 5;
    case FindingKind::test_failure_derived:
    case FindingKind::build_failure_dependent: return 4;
    default: return 2;
  }
}

void arrange(Judgement& judgement) {
  const auto rank = [](const Finding& finding) {
    return std::tuple(weight(finding), std::string_view(finding.package),
                      std::string_view(finding.test), std::string_view(finding.file), finding.line,
                      finding.column, std::string_view(finding.key),
                      std::string_view(finding.message));
  };
  std::ranges::sort(judgement.findings,
                    [&](const Finding& a, const Finding& b) { return rank(a) < rank(b); });
  if (judgement.findings.size() > kFindingsPerResultMax) {
    judgement.findings.resize(kFindingsPerResultMax);
    judgement.findings_truncated = true;
  }
}

// ---- notes -------------------------------------------------------------------------------------

void add_note(Judgement& judgement, const UnitInfo& unit, CheckKind check, std::string message) {
  Finding finding;
  finding.kind = FindingKind::note;
  finding.check = check;
  finding.message = std::move(message);
  go::identify(finding, unit);
  for (const Finding& other : judgement.findings) {
    if (other.key == finding.key) return;
  }
  judgement.findings.push_back(std::move(finding));
}

void run_notes(Judgement& judgement, const UnitInfo& unit, const Judged& judged) {
  const RunReport& report = judged.run->report;
  const std::string check(name(judged.run->check));
  for (const std::string& note : report.notes) {
    judgement.notes.push_back(check);
    judgement.notes.back().append(": ").append(note);
  }
  if (report.error || report.ended_by == EndedBy::cancelled) return;
  if (judged.doubt != Reason::none) {
    add_note(judgement, unit, judged.run->check,
             std::string(name(judged.doubt)) + ": " + check + ": " +
                 go::doubt_text(judged.doubt, report));
  }
  if (report.leftover_processes) {
    add_note(judgement, unit, judged.run->check,
             "leftover_processes: " + check + " left processes behind, which were killed");
  }
}

void snapshot_notes(Judgement& judgement, const JudgeContext& context) {
  const auto listed = [&](std::string_view word, const std::vector<std::string>& paths) {
    if (paths.empty()) return;
    std::string message(word);
    message += ": ";
    for (std::size_t i = 0; i < std::min<std::size_t>(paths.size(), 20); ++i) {
      if (i > 0) message += ", ";
      message += go::clean_name(paths[i]);
    }
    if (paths.size() > 20) message += ", and " + std::to_string(paths.size() - 20) + " more";
    add_note(judgement, context.unit, CheckKind::list, std::move(message));
  };
  listed("symlink_escapes_tree", context.notes.escaping_links);
  listed("submodule_not_fetched", context.notes.submodules);
  listed("lfs_pointer", context.notes.lfs_pointers);
}

/// What a limit ended without any line that names the victim still gets its finding.
void limit_findings(Judgement& judgement, const UnitInfo& unit, const std::vector<Judged>& all) {
  for (const Judged& judged : all) {
    const Reason reason = judged.doubt;
    if (reason != Reason::resource_memory && reason != Reason::resource_disk &&
        reason != Reason::resource_pids) {
      continue;
    }
    const bool told = std::ranges::any_of(judgement.findings, [&](const Finding& finding) {
      return finding.kind == FindingKind::resource_limit && finding.check == judged.run->check;
    });
    if (told) continue;
    Finding finding;
    finding.kind = FindingKind::resource_limit;
    finding.check = judged.run->check;
    finding.message = go::doubt_text(reason, judged.run->report);
    go::identify(finding, unit);
    if (std::ranges::find(judgement.findings, finding.key, &Finding::key) !=
        judgement.findings.end()) {
      continue;
    }
    judgement.findings.push_back(std::move(finding));
  }
}

/// A scan that was wanted and could not even start.
void scan_without_run(Judgement& judgement, const JudgeContext& context) {
  if (!context.scan || context.scan->problem == Reason::none) return;
  CheckRecord record;
  record.check = CheckKind::scan;
  record.outcome = Outcome::inconclusive;
  record.reason = context.scan->problem;
  judgement.checks.push_back(std::move(record));
  judgement.findings.push_back(go::scan_problem(context.unit, context.scan->message));
}

// ---- all checks ---------------------------------------------------------------------------------

void conclude(Judgement& judgement) {
  const auto first = [&](Outcome outcome) {
    return std::ranges::find(judgement.checks, outcome, &CheckRecord::outcome);
  };
  const auto none = judgement.checks.end();
  if (judgement.fleet_error) {
    judgement.outcome = Outcome::inconclusive;
    judgement.reason =
        judgement.fleet_error->code == Errc::image_missing ? Reason::image_missing : Reason::engine;
  } else if (first(Outcome::cancelled) != none) {
    judgement.outcome = Outcome::cancelled;
  } else if (const auto refused = first(Outcome::refused); refused != none) {
    judgement.outcome = Outcome::refused;
    judgement.reason = refused->reason;
  } else if (first(Outcome::failing) != none) {
    judgement.outcome = Outcome::failing;
  } else if (first(Outcome::inconclusive) != none || judgement.checks.empty()) {
    judgement.outcome = Outcome::inconclusive;
    for (const CheckRecord& check : judgement.checks) {
      judgement.reason = stronger_reason(judgement.reason, check.reason);
    }
    if (judgement.reason == Reason::none) judgement.reason = Reason::engine;  // Nothing ran.
  } else {
    judgement.outcome = Outcome::passing;
  }
}

std::string headline(const Finding& finding) {
  std::string text(name(finding.kind));
  if (!finding.package.empty()) text += " " + finding.package;
  if (!finding.test.empty()) text += " " + finding.test;
  const std::string line = headline_of(finding.message);
  if (!line.empty()) text += ": " + line;
  return text;
}

std::string message_of(const Judgement& judgement) {
  if (judgement.fleet_error) return judgement.fleet_error->what;
  if (judgement.outcome == Outcome::passing || judgement.outcome == Outcome::cancelled) return {};
  std::size_t conclusive = 0;
  for (const Finding& finding : judgement.findings) {
    if (is_conclusive(finding.kind)) ++conclusive;
  }
  const bool failing = judgement.outcome == Outcome::failing;
  std::string text = failing ? std::string{} : std::string(name(judgement.reason));
  const auto cause = std::ranges::find_if(judgement.findings, [&](const Finding& finding) {
    if (failing) return is_conclusive(finding.kind) || finding.kind == FindingKind::io_incomplete;
    if (finding.kind == FindingKind::note) {
      return finding.message.starts_with(name(judgement.reason));
    }
    return !is_conclusive(finding.kind) || finding.environment == name(judgement.reason);
  });
  if (cause != judgement.findings.end()) {
    const bool note = cause->kind == FindingKind::note;
    if (!text.empty()) text = note ? std::string{} : text + ": ";
    text += note ? std::string(go::first_line_said(cause->message)) : headline(*cause);
    if (failing && conclusive > 1) text += " (and " + std::to_string(conclusive - 1) + " more)";
  }
  return std::string(go::cut(text, kMessageBytesMax));
}

}  // namespace

Judgement judge(const JudgeContext& context, std::span<const CheckRun> runs) {
  Judgement judgement;
  go::PackageList list;
  bool list_usable = false;
  for (const CheckRun& run : runs) {
    if (run.check != CheckKind::list) continue;
    list = go::read_package_list(run.report.out.bytes, context.unit.dir);
    list_usable = list.complete && list.matched() > 0 && run.report.exit_code == 0 &&
                  go::doubt_of(run.report) == Reason::none;
    break;
  }

  std::vector<Judged> all;
  for (const CheckRun& run : runs) {
    const Surroundings around{.context = context,
                              .list = list,
                              .list_usable = list_usable,
                              .check = run.check,
                              .report = run.report};
    all.push_back({.run = &run, .said = assess(run, around), .doubt = go::doubt_of(run.report)});
    judgement.checks.push_back(record_of(all.back(), list_usable));
    if (run.report.error && !judgement.fleet_error) judgement.fleet_error = run.report.error;
    const bool filtered = !context.settings.test.run.empty() || !context.settings.test.skip.empty();
    if (judgement.checks.back().outcome == Outcome::passing ||
        judgement.checks.back().outcome == Outcome::failing) {
      if (all.back().said.scan) judgement.scan = std::move(all.back().said.scan);
    }
    if (run.check == CheckKind::test && !filtered) {
      judgement.cut_short = all.back().said.cut_short;
    }
  }
  std::vector<go::SaidByCheck> said;
  said.reserve(all.size());
  for (Judged& judged : all) said.push_back({judged.run->check, std::move(judged.said.findings)});
  judgement.findings = go::merge_findings(std::move(said));
  limit_findings(judgement, context.unit, all);
  for (const Judged& judged : all) run_notes(judgement, context.unit, judged);
  snapshot_notes(judgement, context);
  scan_without_run(judgement, context);
  conclude(judgement);
  arrange(judgement);
  judgement.message = message_of(judgement);
  return judgement;
}

}  // namespace cupel::worker
