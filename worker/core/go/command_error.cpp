#include "worker/core/go/command_error.hpp"

#include "worker/core/go/text.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace cupel::worker::go {
namespace {

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return contains(text, word); });
}

/// "UTC" as the subject, not at the end of a printed time ("+0000 UTC").
bool speaks_of_utc(std::string_view text) {
  for (auto at = text.find("UTC"); at != std::string_view::npos; at = text.find("UTC", at + 3)) {
    if (!text.substr(0, at).ends_with("+0000 ")) return true;
  }
  return false;
}

struct Rule {
  std::string_view words;
  CommandError error;
};

// In this order: a message may hold several of them.
constexpr std::array kRules = {
    Rule{"SECURITY ERROR", {Reason::checksum_mismatch, FindingKind::security}},
    Rule{"checksum mismatch", {Reason::checksum_mismatch, FindingKind::security}},
    Rule{"-race requires cgo", {Reason::race_unavailable, FindingKind::environment}},
    Rule{"-race is only supported", {Reason::race_unavailable, FindingKind::environment}},
    Rule{"errors parsing go.work", {Reason::bad_go_work, FindingKind::manifest_error}},
    Rule{"error loading go.work", {Reason::bad_go_work, FindingKind::manifest_error}},
    Rule{"listed in go.work file", {Reason::bad_go_work, FindingKind::manifest_error}},
    Rule{"malformed go.sum", {Reason::bad_go_sum, FindingKind::manifest_error}},
    Rule{"go.sum: malformed", {Reason::bad_go_sum, FindingKind::manifest_error}},
    Rule{"module declares its path as",
         {Reason::module_path_mismatch, FindingKind::manifest_error}},
    Rule{"errors parsing go.mod", {Reason::bad_go_mod, FindingKind::manifest_error}},
    Rule{"error loading go.mod", {Reason::bad_go_mod, FindingKind::manifest_error}},
    Rule{"error parsing go.mod", {Reason::bad_go_mod, FindingKind::manifest_error}},
    Rule{"unknown directive", {Reason::bad_go_mod, FindingKind::manifest_error}},
    Rule{"unknown block type", {Reason::bad_go_mod, FindingKind::manifest_error}},
    Rule{"unknown godebug", {Reason::bad_go_mod, FindingKind::manifest_error}},
    Rule{"inconsistent vendoring", {Reason::bad_go_mod, FindingKind::manifest_error}},
    Rule{"module path must match major version", {Reason::bad_go_mod, FindingKind::manifest_error}},
    Rule{"replacement directory", {Reason::bad_go_mod, FindingKind::manifest_error}},
    Rule{"go.mod file not found", {Reason::no_go_mod, FindingKind::manifest_error}},
    Rule{"cannot find main module", {Reason::no_go_mod, FindingKind::manifest_error}},
    Rule{"does not contain main module", {Reason::no_go_mod, FindingKind::manifest_error}},
    Rule{"updates to go.mod needed", {Reason::acquire_incomplete, FindingKind::acquire_error}},
    Rule{"updates to go.sum needed", {Reason::acquire_incomplete, FindingKind::acquire_error}},
    Rule{"updating go.sum: ", {Reason::acquire_incomplete, FindingKind::acquire_error}},
    Rule{"updating go.mod: ", {Reason::acquire_incomplete, FindingKind::acquire_error}},
};

}  // namespace

std::optional<CommandError> classify_command_error(std::string_view message) {
  // "go.mod requires go >= 1.99 (running go 1.26.8; …)", also for a dependency and for go.work.
  if (contains(message, "requires go >= ") && contains(message, "(running go ")) {
    return CommandError{Reason::requires_newer_toolchain, FindingKind::environment};
  }
  for (const Rule& rule : kRules) {
    if (contains(message, rule.words)) return rule.error;
  }
  if (says_acquire_incomplete(message)) {
    return CommandError{Reason::acquire_incomplete, FindingKind::acquire_error};
  }
  return std::nullopt;
}

bool says_acquire_incomplete(std::string_view message) {
  // A download begins with a lock in the module cache, which is read-only by then.
  const bool would_download =
      contains(message, "/modcache/cache/download/") && contains(message, "read-only file system");
  return would_download || contains_any(message, {"missing go.sum entry", "disabled by GOPROXY=off",
                                                  "updates to go.mod needed"});
}

std::string_view environment_tag(std::string_view message) {
  if (contains(message, "read-only file system")) return "readonly_source";
  if (contains(message, "cannot assign requested address")) return "ipv6";
  if (contains_any(message, {"network is unreachable", "no such host", "dial tcp: lookup ",
                             "server misbehaving", "Temporary failure in name resolution",
                             "proxyconnect tcp"})) {
    return "no_network";
  }
  if (contains_any(message, {"operation not permitted", "permission denied", "must be run as root",
                             "requires root"})) {
    return "needs_privilege";
  }
  if (contains_any(message, {"unknown userid", "$USER", "user: Current"})) return "user";
  if (contains(message, "executable file not found in $PATH")) return "missing_program";
  if (contains_any(message, {"pkg-config", ".h: No such file or directory", "cannot find -l"})) {
    return "c_library";
  }
  if (contains_any(message, {"unknown time zone", "time zone", "timezone", "TimeZone"}) ||
      speaks_of_utc(message)) {
    return "timezone";
  }
  return {};
}

}  // namespace cupel::worker::go
