#!/usr/bin/env python3
"""Units whose only test fails by chance, through a change that changes nothing: expected and seen verdicts."""
import argparse
import collections
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import engine_api

UNITS_PER_REPOSITORY = 10
# Seen numbers that chance gives less often than this are a difference.
UNLIKELY = 0.001

TEST = """package p

import (
	"math/rand"
	"testing"
)

func TestSometimes(t *testing.T) {
	if rand.Float64() < %s {
		t.Fatal("not this time")
	}
}
"""
DOC = "// Package p does nothing.\npackage p\n"
HUNK = "--- a/%(d)s/doc.go\n+++ b/%(d)s/doc.go\n@@ -1,2 +1,2 @@\n-// Package p does nothing.\n+// Package p still does nothing.\n package p\n"


def make_repositories(scratch, units, probability):
    """Folders of ten units each; returns their paths."""
    paths = []
    for number in range(units):
        repository = scratch / f"repository{number // UNITS_PER_REPOSITORY}"
        unit = repository / f"u{number % UNITS_PER_REPOSITORY}"
        unit.mkdir(parents=True)
        (unit / "go.mod").write_text(f"module example.com/{repository.name}/{unit.name}\n\ngo 1.21\n")
        (unit / "doc.go").write_text(DOC)
        (unit / "p_test.go").write_text(TEST % probability)
        if repository not in paths:
            paths.append(repository)
    return paths


def campaign(paths, confirm, aa):
    return {"apiVersion": "cupel/v1", "kind": "Campaign", "name": "flaky",
            "repositories": [{"path": str(path)} for path in paths],
            "change": {"patch": {"file": "change.diff"}},
            "confirm": {"runs": confirm, "need": confirm}, "aa": aa,
            # Neither would say another thing than the tests do.
            "validate": {"build": {"enabled": False}, "vet": {"enabled": False}}}


def at_least(mean, seen):
    """The chance of `seen` or more where `mean` are expected (rare events)."""
    return 1 - sum(math.exp(-mean) * mean ** k / math.factorial(k) for k in range(seen))


def spread(units, share):
    """Three standard deviations of a count."""
    return 3 * math.sqrt(units * share * (1 - share))


def outcome(unit, side):
    said = (unit.get("comparison") or {}).get(side) or {}
    return said.get("outcome")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--units", type=int, default=100)
    arguments.add_argument("--probability", type=float, default=0.3)
    arguments.add_argument("--confirm", type=int, default=3)
    arguments.add_argument("--aa", type=int, default=0, help="repositories (of ten units) in the A/A sample")
    arguments.add_argument("--slots", type=int, default=0)
    arguments.add_argument("--keep", action="store_true", help="keep folders, reports and logs")
    arguments.add_argument("--state", default="", help="a folder for the local fleet, kept: the next run needs no new seeds")
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("--engine", required=True)
    chosen = arguments.parse_args()

    scratch = Path(tempfile.mkdtemp(prefix="cupel-flaky-", dir="/var/tmp"))
    try:
        return prove(chosen, scratch)
    finally:
        if chosen.keep:
            print(f"kept: {scratch}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)


def state_of(chosen, scratch):
    return Path(chosen.state).absolute() if chosen.state else scratch / "state"


def cupel(chosen, scratch, *command, **kwargs):
    environment = {**os.environ, "XDG_STATE_HOME": str(state_of(chosen, scratch))}
    return subprocess.run([str(Path(chosen.bin) / "cupel"), *command], env=environment, cwd=scratch, check=True, **kwargs)


def prove(chosen, scratch):
    n, p = chosen.confirm, chosen.probability
    paths = make_repositories(scratch, chosen.units, p)
    (scratch / "change.diff").write_text("".join(HUNK % {"d": f"u{i}"} for i in range(min(chosen.units, UNITS_PER_REPOSITORY))))
    (scratch / "campaign.yaml").write_text(json.dumps(campaign(paths, n, chosen.aa)))
    containers = engine_api.ContainerEvents(engine_api.Engine(chosen.engine))
    started = time.monotonic()
    cupel(chosen, scratch, "run", "--local", "-f", "campaign.yaml", "--exit-zero", "--progress", "plain", "--report-dir",
          "report", "--engine-socket", chosen.engine, *(["--slots", str(chosen.slots)] if chosen.slots else []),
          stdout=sys.stderr)
    seconds = time.monotonic() - started
    containers.close()
    units = json.loads((scratch / "report" / "report.json").read_text())["results"]
    worker = "w-" + (state_of(chosen, scratch) / "cupel/local/worker-1/worker.id").read_text().strip()
    made = collections.Counter(labels["cupel.profile"] for labels in containers.created if labels["cupel.worker"] == worker)
    flakes = json.loads(cupel(chosen, scratch, "flakes", "--local", "--json", stdout=subprocess.PIPE, text=True).stdout)["flakes"]

    verdicts = collections.Counter(unit["verdict"] for unit in units)
    compared = [unit for unit in units if outcome(unit, "before") and outcome(unit, "after")]
    differ = [unit for unit in compared if outcome(unit, "before") != outcome(unit, "after")]
    among = collections.Counter(unit["verdict"] for unit in differ)
    false = (p * (1 - p)) ** (n + 1) * len(units)
    good = []

    def row(words, expected, seen, right=None):
        if right is not None:
            good.append(right)
        print(f"{words:52} {expected:>24} {seen:>16}" + ("" if right in (None, True) else "   <-- DIFFERS"))

    print(f"\n{len(units)} units whose test fails with p = {p}; {n} repeats of both sides after a first difference\n")
    row("", "expected", "seen")
    row("units that were compared", str(len(units)), str(len(compared)), len(compared) == len(units))
    share = 2 * p * (1 - p)
    row("first comparison differs", f"{share * len(units):.1f} +- {spread(len(units), share):.1f}", str(len(differ)),
        abs(len(differ) - share * len(units)) <= spread(len(units), share))
    flaky = among["flaky"] / len(differ) if differ else 1
    row("  of them flaky", f"at least 95 % ({1 - 2 * false / max(1, share * len(units)):.1%})", f"{among['flaky']} ({flaky:.1%})", flaky >= 0.95)
    for verdict in ("regressed", "fixed"):
        row(f"  of them {verdict}, which is false", f"{false:.2f}", str(among[verdict]), at_least(false, among[verdict]) > UNLIKELY)
    row("  of them anything else", "0", str(len(differ) - among["flaky"] - among["regressed"] - among["fixed"]),
        len(differ) == among["flaky"] + among["regressed"] + among["fixed"])
    row("failed in both first runs (broken_before)", f"{p * p * len(units):.1f}", str(verdicts["broken_before"]))
    row("passed in both (compatible)", f"{(1 - p) ** 2 * len(units):.1f}", str(verdicts["compatible"]))
    pairs = [unit["comparison"]["aa"] for unit in units if (unit.get("comparison") or {}).get("aa")]
    if pairs:
        apart = sum(not pair["agree"] for pair in pairs)
        row("A/A: two runs of the unchanged side differ", f"{share * len(pairs):.1f} +- {spread(len(pairs), share):.1f}",
            f"{apart} of {len(pairs)}", abs(apart - share * len(pairs)) <= spread(len(pairs), share))
    known = {flake["module"] for flake in flakes}
    row("flaky units that the flake registry names", str(verdicts["flaky"]),
        str(sum(unit["module"] in known for unit in units if unit["verdict"] == "flaky")),
        all(unit["module"] in known for unit in units if unit["verdict"] == "flaky"))
    print(f"\n{seconds:.0f} s, {seconds / len(units):.1f} s a unit; {sum(made.values())} containers, {sum(made.values()) / len(units):.1f} a unit"
          f" ({', '.join(f'{profile} {count}' for profile, count in sorted(made.items()))})")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
