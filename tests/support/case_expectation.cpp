#include "tests/support/case_expectation.hpp"

#include "common/core/json.hpp"

#include <boost/regex.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace cupel::cases {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

/// True where the pattern is found; a pattern that is none matches nothing.
bool matches(const std::string& pattern, const std::string& text) {
  if (pattern.empty()) return true;
  try {
    const boost::regex expression(pattern, boost::regex::perl | boost::regex::no_mod_m);
    return boost::regex_search(text, expression, boost::regex_constants::match_not_dot_newline);
  } catch (const std::runtime_error&) {
    return false;
  }
}

bool equal_if_given(const Json& expected, const char* name, const std::string& value) {
  const auto found = expected.find(name);
  return found == expected.end() || !found->is_string() || found->get<std::string>() == value;
}

bool agrees(const Json& expected, const Finding& finding) {
  if (text_of(expected, "kind") != name(finding.kind)) return false;
  if (text_of(expected, "package") != finding.package) return false;
  if (text_of(expected, "test") != finding.test) return false;
  if (!matches(text_of(expected, "message_pattern"), finding.message)) return false;
  const auto inferred = expected.find("inferred");
  if (inferred != expected.end() && inferred->is_boolean() &&
      inferred->get<bool>() != finding.inferred) {
    return false;
  }
  return equal_if_given(expected, "analyzer", finding.analyzer) &&
         equal_if_given(expected, "osv", finding.analyzer) &&
         equal_if_given(expected, "environment", finding.environment);
}

bool always_allowed(FindingKind kind) {
  return kind == FindingKind::test_failure_derived ||
         kind == FindingKind::build_failure_dependent || kind == FindingKind::note ||
         kind == FindingKind::environment;
}

std::string shown(const Finding& finding) {
  std::string text(name(finding.kind));
  text += " package='" + finding.package + "' test='" + finding.test + "' message='";
  text += finding.message.substr(0, 200) + "'";
  if (!finding.analyzer.empty()) text += " analyzer=" + finding.analyzer;
  if (!finding.environment.empty()) text += " environment=" + finding.environment;
  return text;
}

bool reported_as_not_run(const Answer& answer, const std::string& test) {
  return std::ranges::any_of(answer.findings, [&](const Finding& finding) {
    return finding.test == test &&
           (finding.kind == FindingKind::test_unfinished ||
            (finding.kind == FindingKind::note &&
             (finding.message.starts_with("not_run") || finding.message.starts_with("aborted"))));
  });
}

int badness(Outcome outcome) {
  constexpr std::array worst_first = {Outcome::failing, Outcome::inconclusive, Outcome::refused,
                                      Outcome::cancelled, Outcome::passing};
  return static_cast<int>(worst_first.end() - std::ranges::find(worst_first, outcome));
}

}  // namespace

std::string outcome_text(Outcome outcome, Reason reason) {
  std::string text(name(outcome));
  if (reason != Reason::none) text += ":" + std::string(name(reason));
  return text;
}

Answer combine(std::span<const Answer> units) {
  Answer all;
  bool first = true;
  for (const Answer& unit : units) {
    if (first || badness(unit.outcome) > badness(all.outcome)) {
      all.outcome = unit.outcome;
      all.reason = unit.reason;
    } else if (unit.outcome == all.outcome) {
      all.reason = stronger_reason(all.reason, unit.reason);
    }
    first = false;
    all.findings.insert(all.findings.end(), unit.findings.begin(), unit.findings.end());
  }
  return all;
}

Result<Answer> answer_from_json(const Json& result) {
  Answer answer;
  const auto outcome = parse_name<Outcome>(text_of(result, "outcome"));
  if (!outcome)
    return Error{
        .code = Errc::bad_value, .what = "outcome: not a known word", .detail = {}, .hint = {}};
  answer.outcome = *outcome;
  const std::string reason = text_of(result, "reason");
  if (!reason.empty()) {
    const auto known = parse_name<Reason>(reason);
    if (!known)
      return Error{
          .code = Errc::bad_value, .what = "reason: not a known word", .detail = {}, .hint = {}};
    answer.reason = *known;
  }
  const auto findings = result.find("findings");
  if (findings != result.end() && findings->is_array()) {
    for (const Json& item : *findings) {
      auto finding = finding_from_json(item);
      if (!finding) return finding.error();
      answer.findings.push_back(std::move(*finding));
    }
  }
  return answer;
}

std::vector<std::string> differences(const Json& expect, const Answer& answer) {
  std::vector<std::string> out;
  const std::string right = text_of(expect, "right_outcome");
  const std::string got = outcome_text(answer.outcome, answer.reason);
  if (right != got) out.push_back("outcome: expected " + right + ", got " + got);

  std::vector<bool> wanted(answer.findings.size(), false);
  const std::string tag = text_of(expect, "environment_tag");
  bool tagged = tag.empty();
  const auto expected_findings = expect.find("expected_findings");
  const Json none = Json::array();
  for (const Json& expected : expected_findings != expect.end() ? *expected_findings : none) {
    bool found = false;
    for (std::size_t i = 0; i < answer.findings.size(); ++i) {
      if (!agrees(expected, answer.findings[i])) continue;
      found = true;
      wanted[i] = true;
      tagged = tagged || answer.findings[i].environment == tag;
    }
    if (!found)
      out.push_back("missing: " + expected.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  if (!tagged) out.push_back("no expected finding carries the environment tag " + tag);

  const std::string allowed = text_of(expect, "allow_extra");
  for (std::size_t i = 0; i < answer.findings.size(); ++i) {
    const Finding& finding = answer.findings[i];
    if (wanted[i] || always_allowed(finding.kind)) continue;
    if (!allowed.empty() && matches(allowed, finding.message)) continue;
    out.push_back("not expected: " + shown(finding));
  }
  const auto not_run = expect.find("tests_not_run");
  for (const Json& test : not_run != expect.end() ? *not_run : none) {
    if (test.is_string() && !reported_as_not_run(answer, test.get<std::string>())) {
      out.push_back("test not listed as not run: " + test.get<std::string>());
    }
  }
  return out;
}

}  // namespace cupel::cases
