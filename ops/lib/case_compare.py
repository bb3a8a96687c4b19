"""What a case expects against what the units of its repository say."""
import re

# Remarks that a result may carry beyond what a case lists.
FREE_KINDS = {"test_failure_derived", "build_failure_dependent", "note", "environment"}
# A repository with several modules has the worst outcome of its units.
WORST_FIRST = ("failing", "inconclusive", "refused", "cancelled", "passing")
# The fields of an expected finding that must be equal where they are given.
EXACT = ("kind", "package", "test", "analyzer", "inferred", "environment")
# Those of a vulnerability stand in the unit's scan record.
VULNERABILITY = ("osv", "module", "level", "symbol", "found_version", "fixed_version")

# A case of kind upgrade names the state of its after side; a verdict says how it differs from before.
SIDE_AFTER = {
    "compatible": "passing", "fixed": "passing", "not_affected": "passing",
    "regressed": "failing", "broken_before": "failing", "changed_failure": "failing",
}


def outcome_of(units):
    """Outcome and reason of a repository: "class" or "class:reason"."""
    best = None
    for unit in units:
        verdict = SIDE_AFTER.get(unit["verdict"], unit["verdict"])
        rank = WORST_FIRST.index(verdict) if verdict in WORST_FIRST else -1
        if best is None or rank < best[0]:
            reason = unit.get("reason") or "none"
            if verdict in ("passing", "failing"):
                reason = "none"
            best = (rank, verdict + ("" if reason == "none" else ":" + reason))
    return best[1] if best else "nothing"


def same_outcome(wanted, got):
    """The class must be equal; the reason where the case names one."""
    wanted_class, _, wanted_reason = wanted.partition(":")
    got_class, _, got_reason = got.partition(":")
    return wanted_class == got_class and (not wanted_reason or wanted_reason == got_reason)


def matches_vulnerability(wanted, units):
    fields = [name for name in VULNERABILITY if name in wanted]
    if not fields:
        return True
    return any(all((one.get(name) or "") == wanted[name] for name in fields)
               for unit in units for one in (unit.get("scan") or {}).get("vulnerabilities", []))


def matches(wanted, finding):
    for field in EXACT:
        if field in wanted and (finding.get(field) or type(wanted[field])()) != wanted[field]:
            return False
    return re.search(wanted.get("message_pattern", ""), finding.get("message", ""), re.DOTALL) is not None


def not_run_tests(units):
    text = []
    for unit in units:
        for finding in unit.get("findings", []):
            text.append(finding.get("test", ""))
            text.append(finding.get("message", ""))
        text.extend(str(note) for note in unit.get("notes", []))
        text.append(unit.get("message") or "")
    return "\n".join(text)


def compare(expect, units):
    """Differences in words; empty when all is as it should be."""
    differences = []
    got = outcome_of(units)
    if not same_outcome(expect["right_outcome"], got):
        detail = "; ".join(u["message"] for u in units if u.get("message"))[:200]
        differences.append(f"outcome {got}, not {expect['right_outcome']}" + (f" ({detail})" if detail else ""))
    verdicts = sorted({unit["verdict"] for unit in units})
    if "verdict" in expect and verdicts != [expect["verdict"]]:
        differences.append(f"verdict {', '.join(verdicts)}, not {expect['verdict']}")
    comparisons = [unit.get("comparison") or {} for unit in units]
    if "resolved" in expect:
        found = sorted(one["module"] + "@" + one["version"] for side in comparisons
                       for one in (side.get("change") or {}).get("resolved", []))
        if found != expect["resolved"]:
            differences.append(f"resolved {found}, not {expect['resolved']}")
    if "scan_resolved" in expect:
        found = sorted(side["osv"] + " " + side["module"] for one in comparisons
                       for side in (one.get("scan") or {}).get("resolved", []))
        if found != expect["scan_resolved"]:
            differences.append(f"the scans resolve {found}, not {expect['scan_resolved']}")
    findings = [f for unit in units for f in unit.get("findings", [])]
    left = list(findings)
    for wanted in expect.get("expected_findings", []):
        hit = next((f for f in left if matches(wanted, f)), None)
        # One finding may answer two expectations only when no other does.
        hit = hit or next((f for f in findings if matches(wanted, f)), None)
        if hit is None:
            differences.append("missing finding " + " ".join(
                f"{k}={wanted[k]}" for k in EXACT if wanted.get(k)) + f" /{wanted.get('message_pattern', '')}/")
            continue
        if not matches_vulnerability(wanted, units):
            differences.append("no scan record says " + " ".join(
                f"{name}={wanted[name]}" for name in VULNERABILITY if name in wanted))
        if hit in left:
            left.remove(hit)
    allow = expect.get("allow_extra")
    for finding in left:
        if finding["kind"] in FREE_KINDS:
            continue
        if allow and re.search(allow, finding.get("message", ""), re.DOTALL):
            continue
        differences.append("extra finding " + " ".join(
            f"{k}={finding[k]}" for k in EXACT if finding.get(k)) + f": {finding.get('message', '')[:160]!r}")
    tag = expect.get("environment_tag")
    if tag and not any(f.get("environment") == tag for f in findings):
        differences.append(f"no finding carries the tag {tag}")
    told = not_run_tests(units)
    for test in expect.get("tests_not_run", []):
        if test not in told:
            differences.append(f"test {test} is not told as not run")
    return differences
