#include "worker/core/go/assess.hpp"

#include "common/core/limits.hpp"
#include "worker/core/go/command_error.hpp"
#include "worker/core/go/keys.hpp"
#include "worker/core/go/text.hpp"

#include <algorithm>

namespace cupel::worker::go {
namespace {

std::string joined(std::string_view dir, std::string_view below) {
  if (dir.empty() || dir == ".") return std::string(below);
  if (below.empty() || below == ".") return std::string(dir);
  return std::string(dir) + "/" + std::string(below);
}

bool is_below(std::string_view path, std::string_view dir) {
  return dir.empty() || dir == "." || path == dir ||
         (path.starts_with(dir) && path.size() > dir.size() && path[dir.size()] == '/');
}

std::string_view parent_of(std::string_view dir) {
  const auto slash = dir.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : dir.substr(0, slash);
}

std::string_view base_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// Tests read what lies beside them and in a testdata folder, their own or one above, and what they
/// name.
bool may_read(std::string_view package_dir, std::string_view file, std::string_view message) {
  const std::string_view base = base_of(file);
  if (base.size() >= 4 && contains(message, base)) return true;
  if (parent_of(file) == (package_dir == "." ? std::string_view{} : package_dir)) return true;
  for (std::string_view dir = package_dir == "." ? std::string_view{} : package_dir;;) {
    if (is_below(file, joined(dir, "testdata"))) return true;
    if (dir.empty()) return false;
    dir = parent_of(dir);
  }
}

}  // namespace

std::string Surroundings::dir_of(std::string_view package) const {
  const ListedPackage* listed = list.find(package);
  if (listed != nullptr && !listed->dir.empty() && !listed->dir.starts_with('/')) {
    return joined(context.unit.dir, listed->dir);
  }
  const std::string& module = context.unit.module_path;
  if (!module.empty() && package.starts_with(module)) {
    std::string_view rest = package.substr(module.size());
    if (rest.empty()) return joined(context.unit.dir, ".");
    if (rest.front() == '/') return joined(context.unit.dir, rest.substr(1));
  }
  return {};
}

void Findings::apply(Reason reason) {
  out_.reason = stronger_reason(out_.reason, reason);
}

Finding& Findings::push(FindingKind kind, std::string_view package, std::string_view test,
                        std::string message) {
  Finding finding;
  finding.kind = kind;
  finding.check = around_.check;
  finding.package = package;
  finding.test = test;
  finding.message = std::move(message);
  const Position position = split_position(finding.message);
  if (position.line != 0) {
    finding.file = source_path(trim(position.file), around_.context.unit.dir);
    finding.line = position.line;
    finding.column = position.column;
  }
  out_.findings.push_back(std::move(finding));
  return out_.findings.back();
}

Finding& Findings::add(FindingKind kind, std::string_view package, std::string_view test,
                       std::string message, bool ended) {
  Finding& finding = push(kind, package, test, std::move(message));
  finding.environment = environment_tag(finding.message);
  const Reason missing = is_conclusive(kind) ? missing_content(finding, {}) : Reason::none;
  if (missing != Reason::none) {
    finding.environment = name(missing);
    apply(missing);
    out_.explained = true;
  } else if (is_conclusive(kind) || kind == FindingKind::io_incomplete) {
    out_.explained = out_.explained || ended;
    out_.failing = out_.failing || ended;
  }
  identify(finding, around_.context.unit);
  return finding;
}

void Findings::note(std::string_view package, std::string message, std::string_view test) {
  Finding& finding = push(FindingKind::note, package, test, std::move(message));
  finding.file.clear();
  finding.line = finding.column = 0;
  identify(finding, around_.context.unit);
}

void Findings::obstacle(FindingKind kind, Reason reason, std::string_view package,
                        std::string_view test, std::string message) {
  identify(push(kind, package, test, std::move(message)), around_.context.unit);
  apply(reason);
  out_.explained = true;
}

Reason Findings::missing_content(const Finding& finding, std::string_view wanted) const {
  const SnapshotNotes& notes = around_.context.notes;
  const std::string& module = around_.context.unit.module_path;
  if (finding.kind == FindingKind::setup_failure || finding.kind == FindingKind::build_failure) {
    for (const std::string& submodule : notes.submodules) {
      if (!is_below(submodule, around_.context.unit.dir)) continue;
      std::string_view below = submodule;
      if (around_.context.unit.dir != "." && !around_.context.unit.dir.empty()) {
        below.remove_prefix(std::min(below.size(), around_.context.unit.dir.size() + 1));
      }
      const std::string path = module + "/" + std::string(below);
      if (is_below(wanted, path) && !wanted.empty()) return Reason::submodule_not_fetched;
      if (contains(finding.message, path) || contains(finding.message, submodule)) {
        return Reason::submodule_not_fetched;
      }
    }
  }
  if (finding.kind == FindingKind::setup_failure && !around_.context.unit.vendored &&
      says_acquire_incomplete(finding.message)) {
    return Reason::acquire_incomplete;
  }
  if (finding.kind == FindingKind::vet) return Reason::none;
  const std::string dir = around_.dir_of(finding.package);
  for (const std::string& pointer : notes.lfs_pointers) {
    if (may_read(dir, pointer, finding.message)) return Reason::lfs_pointer;
  }
  return Reason::none;
}

bool Findings::lacks_cgo(std::string_view package, std::string_view message) const {
  if (contains(message, "C compiler \"") && contains(message, "\" not found")) return true;
  if (around_.context.cgo_available) return false;
  const auto uses_cgo = [](const ListedPackage& listed) {
    return listed.uses_cgo && !listed.standard;
  };
  const ListedPackage* own = around_.list.find(package);
  if (own != nullptr && uses_cgo(*own)) return true;
  // What a package takes from one that needs cgo is not there either.
  return (contains(message, "build constraints exclude all Go files") ||
          contains(message, "undefined: ")) &&
         around_.list.nearest_import(package, uses_cgo) != nullptr;
}

void Findings::broken_package(FindingKind kind, std::string_view package, std::string message,
                              std::string_view wanted) {
  if (around_.out_of_memory() && contains(message, "signal: killed")) {
    obstacle(FindingKind::resource_limit, Reason::resource_memory, package, {}, std::move(message));
    return;
  }
  if (says_no_space(message)) {
    obstacle(FindingKind::resource_limit, Reason::resource_disk, package, {}, std::move(message));
    return;
  }
  if (contains(message, "resource temporarily unavailable") && around_.report.pids_limit_hit) {
    obstacle(FindingKind::resource_limit, Reason::resource_pids, package, {}, std::move(message));
    return;
  }
  if (lacks_cgo(package, message)) {
    obstacle(FindingKind::environment, Reason::cgo_unavailable, package, {}, std::move(message));
    return;
  }
  if (!wanted.empty()) {
    Finding probe;
    probe.kind = kind;
    probe.package = package;
    probe.message = message;
    const Reason missing = missing_content(probe, wanted);
    if (missing != Reason::none) {
      Finding& finding = push(kind, package, {}, std::move(message));
      finding.environment = name(missing);
      identify(finding, around_.context.unit);
      apply(missing);
      out_.explained = true;
      return;
    }
  }
  add(kind, package, {}, std::move(message));
}

void Findings::dependent(std::string_view package, std::string_view culprit) {
  push(FindingKind::build_failure_dependent, package, {},
       culprit.empty() ? std::string("a package that it imports does not build")
                       : "FailedBuild=" + std::string(culprit));
  identify(out_.findings.back(), around_.context.unit);
}

void Findings::command_problem(std::string_view message) {
  if (const auto known = classify_command_error(message)) {
    obstacle(known->kind, known->reason, {}, {}, std::string(message));
    return;
  }
  note({}, "go_command: " + std::string(message));
}

}  // namespace cupel::worker::go
