#!/usr/bin/env python3
"""Runs recorded cases through coordinator and worker and compares the answers with expect.json.

A case is a folder with expect.json and a tree `repo/` or a script `make.sh DEST` that makes DEST/repo.
Cases with the same settings share one campaign, so that the fleet works on all of them at once.
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
from pathlib import Path

import case_format
from case_compare import compare, outcome_of


class Case:
    def __init__(self, folder):
        self.folder = folder
        self.expect = case_format.read(folder)
        self.id = self.expect["id"]
        self.number = self.id.split("-")[0]
        self.topic = self.expect.get("topic", "").split("/")[0]

    def why_not(self):
        """Why the fleet does not run it; None when it does."""
        if self.expect.get("runner") == "parser":
            return "only its recording counts (runner: parser)"
        return None

    def settings(self):
        """What makes cases share a campaign."""
        settings = dict(self.expect.get("settings", {}))
        if self.expect["kind"] == "scan":
            settings.setdefault("scan", scan_settings(self))
        return settings

    def target(self):
        """Module and version that the change brings; "" and "" without one."""
        wanted = self.expect.get("upgrade_target", "") if self.expect["kind"] in ("upgrade", "scan") else ""
        module, _, version = wanted.rpartition("@")
        return module, version

    def prepare(self, scratch):
        """Makes the repository below `scratch`; returns its path. RuntimeError where the case doesn't allow it."""
        place = scratch / self.id
        # A campaign that is tried again in parts finds what is made already.
        if place.exists():
            return place / "repo"
        place.mkdir(parents=True)
        script = self.folder / "make.sh"
        if script.exists():
            try:
                done = subprocess.run(["bash", str(script), str(place)], stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, errors="replace", timeout=120)
            except subprocess.TimeoutExpired:
                raise RuntimeError("make.sh took more than 120 s") from None
            if done.returncode != 0:
                raise RuntimeError(f"make.sh ended with {done.returncode}: {done.stderr[-500:].strip()}")
            if not (place / "repo").exists():
                raise RuntimeError("make.sh made no DEST/repo")
        else:
            # Git keeps no empty folder: a case whose repository is empty has none.
            (place / "repo").mkdir()
            if (self.folder / "repo").is_dir():
                shutil.copytree(self.folder / "repo", place / "repo", symlinks=True, dirs_exist_ok=True)
        return place / "repo"


def tested_ref(repository):
    """The ref that a case is about; "" for HEAD.

    A script that plants a tree which git itself can't check out (too deep, odd names) leaves HEAD on an ordinary
    branch. Such a tree is a commit of its own: a branch that shares no history with HEAD.
    """
    def git(*arguments):
        # Names are bytes, and go back to git as they came.
        done = subprocess.run(["git", "-c", "core.fsmonitor=false", "-C", str(repository), *arguments], text=True,
                              errors="surrogateescape", stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        return done.stdout.strip() if done.returncode == 0 else None

    if not (repository / ".git").is_dir() or not git("rev-parse", "--verify", "--quiet", "HEAD^{commit}"):
        return ""
    apart = [ref for ref in (git("for-each-ref", "--format=%(refname)", "refs/heads") or "").splitlines()
             if git("merge-base", "HEAD", ref) is None]
    return apart[0] if len(apart) == 1 else ""


def size_text(value):
    """Sizes of a case are bytes or in the engine's notation ("768m")."""
    if isinstance(value, int):
        return str(value // 2**20) + "MiB" if value % 2**20 == 0 else str(value)
    return re.sub(r"^(\d+)([kmg])$", lambda m: m[1] + {"k": "KiB", "m": "MiB", "g": "GiB"}[m[2]], value)


def campaigns_of(cases):
    """Settings and cases of as few campaigns as possible: each repository has an upgrade of its own.

    What is no version is refused with its whole campaign, so it stays alone.
    """
    groups = []
    for case in cases:
        settings = case.settings()
        module, version = case.target()
        known = re.fullmatch(r"v\d+\.\d+\.\d+([-+][\w.+-]*)?|latest|minor|patch", version)
        alone = bool(module) and not known
        for group in groups:
            fits = group["settings"] == settings and group["upgrades"] == bool(module)
            if fits and not alone and not group["alone"]:
                break
        else:
            group = {"settings": settings, "upgrades": bool(module), "alone": alone, "cases": []}
            groups.append(group)
        group["cases"].append(case)
    return sorted(groups, key=lambda group: -len(group["cases"]))


def repository_of(path, case):
    """The entry of a campaign file for the repository of a case."""
    entry = {"path": str(path)}
    if ref := tested_ref(path):
        entry["ref"] = ref
    module, version = case.target()
    if module:
        entry["upgrade"] = [{"module": module, "version": version}]
    return entry


def change_of(settings, upgrades):
    if "select" in settings:
        return {"upgrade": {"select": settings["select"]}}
    return {"upgrade": {}} if upgrades else {"none": {}}


def campaign_of(settings, name, repositories, build_cache=None):
    """The campaign file (JSON is YAML) for cases with these settings."""
    upgrades = any("upgrade" in one for one in repositories)
    test = {}
    for key in ("timeout", "count", "race", "shuffle"):
        if key in settings.get("test", {}):
            test[key] = settings["test"][key]
    # Cases were recorded with Go 1.26, whatever their go line says.
    sandbox = {"image": "1.26"}
    if build_cache:
        sandbox["build_cache"] = build_cache
    if settings.get("image") == "no_c_compiler":
        sandbox["c_compiler"] = False
    limits = {}
    for ours, theirs in (("memory", "memory"), ("tmp", "tmp"), ("output_bytes", "output")):
        if ours in settings.get("limits", {}):
            limits[theirs] = size_text(settings["limits"][ours])
    if "pids" in settings.get("limits", {}):
        limits["pids"] = settings["limits"]["pids"]
    if limits:
        sandbox["limits"] = limits
    if "check_limit_s" in settings:
        sandbox["timeouts"] = {"check": f"{settings['check_limit_s']}s"}
    campaign = {
        "apiVersion": "cupel/v1", "kind": "Campaign", "name": name,
        "repositories": repositories,
        "change": change_of(settings, upgrades),
        "sandbox": sandbox,
        # A case says what one run gives.
        "strategy": {"retries": {"timeout": 0}},
        "gate": {"fail_on": [], "max_inconclusive_ratio": 1},
    }
    if upgrades or "select" in settings:
        # Nothing flaky is among them.
        campaign["confirm"] = {"runs": 1}
    if test:
        campaign["validate"] = {"test": test}
    if "scan" in settings:
        # A scan alone: what it says is about the scan, not about build and tests.
        off = {"enabled": False}
        campaign["validate"] = {"build": off, "vet": off, "test": off, "scan": settings["scan"]}
    return campaign


def scan_settings(case):
    """Which database a scan case uses, as its recorded command line says."""
    for step in case.expect.get("steps", {}).values():
        found = re.search(r"-db file://\$CASES/(\S+)", step)
        if found:
            return {"database": found[1]}
    return {}


def run_campaign(options, scratch, name, settings, cases):
    """Results by case. The worker is told where the fixture proxy is by its own settings."""
    if "database" in settings.get("scan", {}):
        place = str(options.directory / settings["scan"]["database"])
        settings = {**settings, "scan": {**settings["scan"], "database": place}}
    paths = {case.prepare(scratch / "repositories"): case for case in cases}
    campaign = scratch / f"{name}.yaml"
    repositories = [repository_of(path, case) for path, case in sorted(paths.items(), key=lambda item: item[0])]
    campaign.write_text(json.dumps(campaign_of(settings, name, repositories, options.build_cache), indent=1))
    reports = scratch / f"{name}-report"
    environment = dict(os.environ)
    environment.update({
        # Kept from run to run: the seeds of the build caches take a minute for each image.
        "XDG_STATE_HOME": str(options.state),
        "CUPEL_WORKER_ALLOW_LOCAL_SOURCES": "true",
        "NO_COLOR": "1",
    })
    proxy = options.directory / "_proxy"
    if proxy.is_dir():
        environment["CUPEL_WORKER_FIXTURE_PROXY"] = str(proxy)
    command = [options.cupel, "run", "--local", "-f", str(campaign), "--exit-zero", "--report-dir", str(reports),
               "--slots", str(options.slots)]
    log = scratch / f"{name}.log"
    with open(log, "wb") as out:
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.STDOUT, timeout=options.limit)
    report = reports / "report.json"
    if not report.exists():
        tail = log.read_text(errors="replace")[-3000:]
        said = re.search(r"^.*repositories\[0\]\.upgrade\[0\]\.(version|module): .* \(CUP-1012\)$", tail, re.MULTILINE)
        if said and len(cases) == 1:
            # A version that nobody could repeat is refused before any task.
            finding = {"kind": "upgrade_error", "package": "", "test": "", "message": said[0]}
            return {cases[0].id: [{"verdict": "refused", "reason": "bad_version_query", "findings": [finding]}]}
        raise RuntimeError(f"cupel run ended with {done.returncode} and left no report:\n{tail}")
    return units_by_case(paths, json.loads(report.read_text()))


def units_by_case(paths, report):
    found = {case.id: [] for case in paths.values()}
    for unit in report["results"]:
        names = " ".join(str(unit.get(key, "")) for key in ("repository", "source"))
        for path, case in paths.items():
            if str(path) in names:
                found[case.id].append(unit)
    return found


def spread(cases, number):
    """At most `number` cases, taken from every topic in turn."""
    topics = {}
    for case in cases:
        topics.setdefault(case.topic, []).append(case)
    picked = []
    while len(picked) < number and any(topics.values()):
        for topic in sorted(topics):
            if topics[topic] and len(picked) < number:
                picked.append(topics[topic].pop(0))
    return sorted(picked, key=lambda case: case.id)


def prepared(cases, scratch):
    """The cases whose repositories could be made, and the others with the reason."""
    ready, broken = [], []
    for case in cases:
        try:
            case.prepare(scratch / "repositories")
            ready.append(case)
        except (RuntimeError, OSError, shutil.Error) as error:
            broken.append((case, str(error)))
    return ready, broken


def answers(options, scratch, name, group, cases):
    """Units of each case, or the reason why there is none.

    A campaign that comes to nothing is halved until the case stands alone that it doesn't take.
    """
    try:
        return run_campaign(options, scratch, name, group["settings"], cases)
    except (RuntimeError, subprocess.TimeoutExpired, OSError, KeyError, ValueError) as error:
        if len(cases) == 1 or isinstance(error, subprocess.TimeoutExpired):
            return {case.id: str(error) for case in cases}
    half = len(cases) // 2
    found = answers(options, scratch, name + "a", group, cases[:half])
    found.update(answers(options, scratch, name + "b", group, cases[half:]))
    return found


def read_all(directory):
    """Every case of a directory, and what is wrong with those that are none."""
    cases, bad, seen = [], [], {}
    for folder in sorted(filter(case_format.is_case, directory.iterdir())) if directory.is_dir() else []:
        try:
            case = Case(folder)
        except case_format.BadCase as error:
            bad.append((folder.name, str(error)))
            continue
        if case.id in seen:
            bad.append((folder.name, f"{folder.name}/expect.json.id: {case.id!r} is the case in {seen[case.id]}/, too"))
            continue
        seen[case.id] = folder.name
        cases.append(case)
    return cases, bad


def names_of(identity):
    number = identity.split("-")[0]
    return {identity, number, number.lstrip("0")}


def select(options):
    cases, bad = read_all(options.directory)
    if not cases and not bad:
        sys.exit(f"error: {options.directory} holds no case (a folder with expect.json)")
    if options.ids:
        wanted = set(options.ids)
        known = set().union(*(names_of(one) for one in [c.id for c in cases] + [folder for folder, _ in bad]))
        if wanted - known:
            sys.exit(f"error: no case of {options.directory} is called {', '.join(sorted(wanted - known))}")
        cases = [c for c in cases if names_of(c.id) & wanted]
        bad = [(folder, why) for folder, why in bad if names_of(folder) & wanted]
    skipped = [(c, c.why_not()) for c in cases if c.why_not()]
    cases = [c for c in cases if not c.why_not()]
    if options.at_most and len(cases) > options.at_most:
        kept = spread(cases, options.at_most)
        skipped += [(c, "over the budget") for c in cases if c not in kept]
        cases = kept
    return cases, skipped, bad


def main():
    parser = argparse.ArgumentParser(prog="ops/cases", description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("ids", nargs="*", metavar="ID", help="number or whole id; all when none is named")
    parser.add_argument("--cupel", required=True, help="the client")
    parser.add_argument("--slots", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--build-cache", choices=["empty", "seeded", "dependencies"],
                        help="how the caches of all cases begin; else as Cupel does it by itself")
    parser.add_argument("--limit", type=int, default=3600, help="seconds for one campaign")
    parser.add_argument("--total", type=int, default=0, help="seconds after which no campaign is begun; 0: no bound")
    parser.add_argument("--at-most", type=int, default=0, help="this many cases, spread over the topics")
    parser.add_argument("--keep", action="store_true", help="keep campaigns, logs and reports")
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    parser.add_argument("--state", type=Path, default=Path(home) / "cupel" / "cases",
                        help="state of the local fleet; one run at a time")
    parser.add_argument("--json", type=Path, help="write the summary there")
    options = parser.parse_args()
    options.directory = options.directory.resolve()
    options.state = options.state.resolve()
    options.state.mkdir(mode=0o700, parents=True, exist_ok=True)

    cases, skipped, bad = select(options)
    for case, why in skipped:
        print(f"skip  {case.id}: {why}")
    for _, why in bad:
        print(f"BAD   {why}")
    scratch = Path(tempfile.mkdtemp(prefix="cupel-cases-"))
    started = time.monotonic()
    failed = passed = 0
    try:
        cases, broken = prepared(cases, scratch)
        for case, why in broken:
            bad.append((case.id, why))
            print(f"BAD   {case.id}: {why}", flush=True)
        for index, group in enumerate(campaigns_of(cases)):
            members = group["cases"]
            name = f"cases-{index}"
            if options.total and time.monotonic() - started > options.total:
                skipped += [(case, "no time was left") for case in members]
                print(f"skip  {', '.join(c.id for c in members)}: no time was left", flush=True)
                continue
            units = answers(options, scratch, name, group, members)
            for case in members:
                found = units[case.id]
                differences = [found] if isinstance(found, str) else compare(case.expect, found)
                if differences:
                    failed += 1
                    print(f"FAIL  {case.id}: " + "\n        ".join(differences), flush=True)
                else:
                    passed += 1
                    print(f"ok    {case.id}: {outcome_of(found)}", flush=True)
    finally:
        if options.keep or failed or bad:
            print(f"kept: {scratch}", file=sys.stderr)
        else:
            subprocess.run(["chmod", "-R", "u+rwX", str(scratch)], check=False)
            shutil.rmtree(scratch, ignore_errors=True)
    seconds = round(time.monotonic() - started)
    print(f"cases: {passed} agree, {failed} differ, {len(skipped)} skipped, "
          + (f"{len(bad)} unreadable, " if bad else "") + f"{seconds} s")
    if options.json:
        options.json.write_text(json.dumps({"passed": passed, "failed": failed + len(bad), "skipped": len(skipped),
                                            "seconds": seconds}))
    if failed:
        return 1
    return 2 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
