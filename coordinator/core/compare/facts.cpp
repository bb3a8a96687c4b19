#include "coordinator/core/compare/facts.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace cupel::coordinator::compare {
namespace {

constexpr std::size_t kMarkMessageBytes = 512;
constexpr std::uint32_t kMorePlacesMax = 10'000;  ///< A sum of them stays a number.

bool is_version_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         c == '-' || c == '+';
}

std::string cut_text(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) --bytes;
  return std::string(text.substr(0, bytes));
}

Mark mark_of(const Finding& finding) {
  Mark mark;
  mark.kind = finding.kind;
  mark.check = finding.check;
  mark.key = without_versions(finding.key);
  mark.signature = without_versions(finding.signature);
  mark.package = finding.package;
  mark.test = finding.test;
  mark.analyzer = finding.analyzer;
  mark.file = finding.file;
  mark.line = finding.line;
  mark.message = cut_text(finding.message, kMarkMessageBytes);
  mark.environment = finding.environment;
  mark.inferred = finding.inferred;
  mark.derived = finding.kind == FindingKind::test_failure_derived;
  return mark;
}

std::string name_of(const Mark& mark) {
  return mark.key + '\0' + mark.signature + '\0' + (mark.inferred ? 'i' : '-') +
         (mark.derived ? 'd' : '-');
}

std::string first_word(const std::string& text, char end) {
  return text.substr(0, text.find(end));
}

Conditions conditions_of(const TaskResult& result) {
  const Evidence& evidence = result.evidence;
  std::vector<std::string> commands;
  for (const CheckRecord& check : result.checks) {
    std::string line;
    for (const std::string& word : check.command) line += word + '\0';
    commands.push_back(std::string(name(check.check)) +
                       (check.name.empty() ? "" : ":" + check.name) + " " +
                       sha256(line).hex().substr(0, 16));
  }
  std::ranges::sort(commands);
  return {evidence.image,   evidence.go_version,     evidence.engine,
          evidence.egress,  evidence.proxy_mode,     first_word(evidence.build_cache, ':'),
          evidence.wrapper, evidence.parser_version, std::move(commands)};
}

bool is_below(std::string_view path, std::string_view module) {
  return path.starts_with(module) &&
         (path.size() == module.size() || path[module.size()] == '/' || path[module.size()] == '.');
}

}  // namespace

std::string without_versions(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const bool version = text[at] == '@' && at + 2 < text.size() && text[at + 1] == 'v' &&
                         text[at + 2] >= '0' && text[at + 2] <= '9';
    out += text[at++];
    if (!version) continue;
    out += text[at++];
    while (at < text.size() && is_version_char(text[at])) ++at;
  }
  return out;
}

Run run_of(Book& book, const TaskResult& result) {
  Run run;
  run.task = result.task;
  run.outcome = result.outcome;
  run.reason = result.reason;
  run.message = cut_text(result.message, kMarkMessageBytes);
  run.conditions = conditions_of(result);
  // Findings that were too large for a message are an artifact: not all of them are at hand.
  run.cut = result.findings_truncated || result.findings_artifact != Digest{};
  for (const CheckRecord& check : result.checks) {
    run.cut = run.cut || (check.truncated && check.outcome != Outcome::passing);
    if (check.check != CheckKind::test) continue;
    run.packages = check.packages;
    run.tests = check.tests;
    run.tests_not_run = check.tests_not_run;
  }
  std::map<std::string, std::uint32_t> known;
  for (std::uint32_t i = 0; i < book.marks.size(); ++i) known.emplace(name_of(book.marks[i]), i);
  std::map<std::uint32_t, std::uint32_t> counts;
  for (const Finding& finding : result.findings) {
    const bool derived = finding.kind == FindingKind::test_failure_derived;
    if (!cupel::is_conclusive(finding.kind) && !derived) continue;
    if (counts.size() == kMarksPerRunMax) {
      run.cut = true;
      break;
    }
    Mark mark = mark_of(finding);
    const auto [entry, fresh] =
        known.emplace(name_of(mark), static_cast<std::uint32_t>(book.marks.size()));
    if (fresh) book.marks.push_back(std::move(mark));
    counts[entry->second] += 1 + std::min(finding.more_places, kMorePlacesMax);
  }
  for (const auto& [mark, count] : counts) run.seen.push_back({mark, count});
  return run;
}

ChangeNote note_of(const ChangeFacts& facts, TaskId task) {
  return {task,        facts.tree,       facts.not_affected, facts.resolved,
          facts.moved, facts.go_before,  facts.go_after,     facts.gates,
          facts.patch, facts.patch_bytes};
}

Readiness readiness_of(const TaskResult& result, const ChangeNote& change, bool as_written) {
  Readiness out;
  out.task = result.task;
  if (result.outcome != Outcome::passing || !result.change) {
    out.message = result.message.empty() ? std::string(name(result.reason)) : result.message;
    return out;
  }
  out.conclusive = true;
  const ChangeFacts& now = *result.change;
  out.gates = now.gates;
  const bool told = std::ranges::any_of(
      out.gates, [](const GateFinding& one) { return one.gate == Gate::candidate_tree_mismatch; });
  if (!told && (now.tree != change.tree || (!as_written && now.patch != change.patch))) {
    out.gates.push_back({Gate::candidate_tree_mismatch,
                         "the after side that was run is not what the patch makes of the commit"});
  }
  if (as_written) {
    std::erase_if(out.gates, [](const GateFinding& one) {
      return one.gate == Gate::not_tidy || one.gate == Gate::tidy_failed;
    });
  }
  return out;
}

bool is_conclusive(const Run& run) {
  return !run.cut && (run.outcome == Outcome::passing || run.outcome == Outcome::failing);
}

const ModuleMove* dependency_of(const Mark& mark, const ChangeNote& change) {
  const ModuleMove* best = nullptr;
  for (const ModuleMove& move : change.moved) {
    if (move.module.empty()) continue;
    const bool named = is_below(mark.package, move.module) ||
                       mark.message.find(move.module + "@") != std::string::npos ||
                       mark.message.find(move.module + ".") != std::string::npos ||
                       mark.message.find(move.module + "/") != std::string::npos;
    if (named && (best == nullptr || move.module.size() > best->module.size())) best = &move;
  }
  return best;
}

}  // namespace cupel::coordinator::compare
