#include "worker/git/git_words.hpp"

#include "common/core/error.hpp"

#include <algorithm>
#include <array>

namespace cupel::worker {
namespace {

template <std::size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

/// The first line that complains; "remote: ..." lines are the server's and come after git's own.
std::string complaint(std::string_view err) {
  std::string first;
  for (std::size_t at = 0; at < err.size();) {
    const auto end = std::min(err.find('\n', at), err.size());
    const std::string_view line = err.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("fatal: ") || line.starts_with("error: ")) return std::string(line);
    if (first.empty() && !line.empty()) first = line;
  }
  return first.empty() ? "git failed without a word" : first;
}

constexpr std::array<std::string_view, 3> kFormat = {
    "mismatched algorithms", "unknown object format", "unsupported object format"};
constexpr std::array<std::string_view, 3> kNotAllowed = {
    "not allowed", "unable to find remote helper", "unknown protocol"};
constexpr std::array<std::string_view, 13> kNotFound = {"' not found",
                                                        "does not appear to be a git repository",
                                                        "epository not found",
                                                        "returned error: 404",
                                                        "returned error: 410",
                                                        "does not exist",
                                                        "could not read Username",
                                                        "could not read Password",
                                                        "Authentication failed",
                                                        "returned error: 401",
                                                        "returned error: 403",
                                                        "Permission denied",
                                                        "access denied"};
constexpr std::array<std::string_view, 4> kNoRef = {
    "couldn't find remote ref", "no such remote ref", "not our ref", "unadvertised object"};

}  // namespace

bool refuses_by_id(std::string_view err) {
  constexpr std::array<std::string_view, 4> kWords = {
      "not our ref", "unadvertised object", "couldn't find remote ref",
      "dumb http transport does not support shallow"};
  return has_any(err, kWords);
}

bool redirects(std::string_view err) {
  constexpr std::array<std::string_view, 5> kWords = {"returned error: 301", "returned error: 302",
                                                      "returned error: 303", "returned error: 307",
                                                      "returned error: 308"};
  return has_any(err, kWords);
}

SourceRefusal judge_git_failure(std::string_view err, const std::string& label) {
  const std::string words = capped_detail(complaint(err));
  const auto answer = [&](Reason reason, FindingKind kind, const std::string& what) {
    return refusal(reason, kind, std::string(name(reason)) + ": " + label + ": " + what);
  };
  if (has_any(err, kFormat)) {
    return answer(Reason::unsupported_object_format, FindingKind::acquire_error,
                  "unknown object format 'sha256' (" + words + ")");
  }
  if (redirects(err)) {
    return answer(Reason::source_not_allowed, FindingKind::security,
                  "the server redirects, which is not followed (" + words + ")");
  }
  if (has_any(err, kNotAllowed)) {
    return answer(Reason::source_not_allowed, FindingKind::security, words);
  }
  if (has_any(err, kNoRef)) {
    return answer(Reason::ref_not_found, FindingKind::acquire_error, words);
  }
  if (has_any(err, kNotFound)) {
    return answer(Reason::repository_not_found, FindingKind::acquire_error,
                  "not found, or not for the worker's credentials (" + words + ")");
  }
  return answer(Reason::upstream, FindingKind::acquire_error, words);
}

}  // namespace cupel::worker
