#!/usr/bin/env python3
"""Runs a campaign of ops/proofs and compares what came out with NAME.expect.json.

Beyond the verdicts it counts containers, and applies every patch that is ready: to a fresh repository of exactly the module's files,
whose tree must be the one that the manifest names. A host's go command that is new enough builds the result.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import engine_api

GIT = ["git", "-c", "user.name=cupel", "-c", "user.email=cupel@localhost", "-c", "core.autocrlf=false", "-c", "core.hooksPath=/dev/null"]


def run_campaign(options, folder, environment):
    """Campaign id, seconds, and its containers."""
    containers = engine_api.ContainerEvents(engine_api.Engine(), "cupel.campaign")
    command = [options.cupel, "run", "--local", "--slots", str(options.slots), "-f", str(options.proofs / (options.name + ".yaml")),
               "--exit-zero", "--report-dir", str(folder / "report")]
    began = time.monotonic()
    with open(folder / "run.txt", "w") as out:
        done = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        for line in done.stdout:
            sys.stdout.write(line)
            out.write(line)
    code = done.wait()
    seconds = time.monotonic() - began
    containers.close()
    if code != 0:
        sys.exit(f"cupel run ended with {code}")
    report = json.loads((folder / "report" / "report.json").read_text())
    return report, seconds, [(labels["cupel.campaign"], labels["cupel.fleet"], labels["cupel.profile"], labels["cupel.task"], end - start)
                             for labels, start, end in containers.ended]


def subject(item):
    return (item.get("package", "") + " " + item.get("test", "")).strip()


def compare(report, expect):
    """Lines that say what is not as expected."""
    wrong = []
    results = {unit["repository"]: unit for unit in report["results"]}
    if len(report["results"]) != expect["units"]:
        wrong.append(f"{len(report['results'])} units, expected {expect['units']}")
    for name, unit in sorted(results.items()):
        verdict = expect["verdicts"].get(name, expect.get("others"))
        if unit["verdict"] != verdict:
            wrong.append(f"{name}: {unit['verdict']} ({unit['reason']}: {unit['message'][:200]}), expected {verdict}")
    for name, subjects in expect.get("introduced", {}).items():
        comparison = results.get(name, {}).get("comparison") or {}
        found = sorted({subject(item) for item in comparison.get("introduced", []) if item["fate"] == "confirmed"})
        if found != subjects:
            wrong.append(f"{name}: introduced {found}, expected {subjects}")
    for name, modules in expect.get("culprit", {}).items():
        culprit = (results.get(name, {}).get("comparison") or {}).get("culprit") or {}
        found = [one["module"] + "@" + one["version"] for one in culprit.get("modules", [])]
        print(f"culprit of {name}: {', '.join(found) or 'none'}, one of {culprit.get('of')}, in {culprit.get('probes')} probes")
        if found != modules:
            wrong.append(f"{name}: culprit {found}, expected {modules}")
    return wrong


def said(command, **more):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command[:6]))}: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def go_minor():
    found = re.search(r"go1\.(\d+)", said(["go", "version"]))
    return int(found[1]) if found else 0


def apply_patch(entry, patches, folder, environment, minor):
    """A note, or a failure as an exception."""
    facts = json.loads(said(["go", "mod", "download", "-json", entry["repository"]], env=environment, cwd=folder))
    tree = folder / entry["unit"]
    shutil.copytree(facts["Dir"], tree)
    subprocess.run(["chmod", "-R", "u+w", str(tree)], check=True)
    if not (tree / "go.mod").exists():
        shutil.copy(facts["GoMod"], tree / "go.mod")
    git = [*GIT, "-C", str(tree)]
    said([*GIT, "init", "-q", str(tree)])
    # The bytes are what counts: no attribute of the module changes them.
    (tree / ".git" / "info" / "attributes").write_text("* -text -filter -ident -working-tree-encoding\n")
    said([*git, "add", "-A", "-f"])
    said([*git, "commit", "-q", "-m", entry["repository"]])
    if "sum:" + facts["Sum"] != entry["commit"]:
        raise RuntimeError(f"the module is {facts['Sum']}, the patch is for {entry['commit']}")
    said([*git, "am", "-q", str(patches / entry["file"])])
    go_line = re.search(r"^go 1\.(\d+)", (tree / "go.mod").read_text(), re.M)
    if minor < 21 or (go_line and int(go_line[1]) > minor):
        return "applied"
    for command in (["go", "build", "./..."], ["go", "mod", "verify"]):
        said(command, env={**environment, "GOFLAGS": "-mod=readonly -buildvcs=false", "GOWORK": "off"}, cwd=tree)
    return "applied and built"


def prove_patches(options, campaign, folder, environment):
    """Lines that say which patch is no good."""
    patches = folder / "patches"
    said([options.cupel, "patches", campaign, "--local", "-o", str(patches)], env=environment)
    manifest = json.loads((patches / "manifest.json").read_text())
    print("patches:", manifest["counts"], dict(Counter(code for one in manifest["patches"] for code in one["codes"] or [])))
    trees = folder / "trees"
    trees.mkdir()
    (trees / "go.mod").write_text("module cupel.invalid/prove\n\ngo 1.16\n")
    wrong, told = [], Counter()
    minor = go_minor()
    go = {**environment, "GOMODCACHE": str(folder / "modcache"), "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local"}
    for entry in manifest["patches"]:
        if entry["state"] != "ready":
            continue
        try:
            told[apply_patch(entry, patches, trees, go, minor)] += 1
        except (RuntimeError, OSError, subprocess.SubprocessError) as problem:
            wrong.append(f"{entry['repository']}: {problem}")
    print("by hand:", dict(told))
    return wrong


def figures(report, seconds, runs):
    mine = [run for run in runs if run[0] == report["campaign"]["id"]]
    fleets = Counter(run[1] for run in mine)
    fleet = fleets.most_common(1)[0][0] if fleets else ""
    mine = [run for run in mine if run[1] == fleet]
    units = max(1, len(report["results"]))
    profiles = Counter(run[2] for run in mine)
    busy = sum(run[4] for run in mine)
    print(f"wall time {seconds:.0f} s, {seconds / units:.1f} s a unit; {len(mine)} containers ({dict(profiles)}), "
          f"{len(mine) / units:.1f} a unit; containers ran {busy:.0f} s, {busy / units:.1f} s a unit")


def main():
    parser = argparse.ArgumentParser(prog="ops/prove")
    parser.add_argument("name")
    parser.add_argument("--cupel", required=True)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--keep", help="folder for report, patches and trees")
    options = parser.parse_args()
    options.proofs = Path(__file__).resolve().parent.parent / "proofs"
    scratch = None if options.keep else tempfile.TemporaryDirectory(prefix="cupel-prove-")
    folder = Path(options.keep or scratch.name).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    # A fleet of its own, which the next proof finds again: seeds of build caches, and results to look at.
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    state = home / "cupel" / "prove"
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    report, seconds, runs = run_campaign(options, folder, environment)
    expect = json.loads((options.proofs / (options.name + ".expect.json")).read_text())
    wrong = compare(report, expect)
    figures(report, seconds, runs)
    if any((unit["comparison"] or {}).get("patch", {}).get("state") == "ready" for unit in report["results"]):
        wrong += prove_patches(options, report["campaign"]["id"], folder, environment)
    for line in wrong:
        print("WRONG", line)
    print(f"{options.name}: " + ("as expected" if not wrong else f"{len(wrong)} differences"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
