#!/usr/bin/env python3
"""What validations of small published modules cost with empty and with seeded build caches. One JSON object a line.

A round is a fleet of its own, one worker with one slot and so with seeds of its own. It validates the same modules in one
campaign after the other: with empty caches, which is the floor, then with each way of seeding twice. In the first of the two the
seeds are made; what that took is a figure, and in no other. A module counts by what its checks took (list, build, vet, test), as
its result says. Processor seconds are those of all containers of the campaign's validations, by their control groups.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "integration" / "fleet"))
import harness  # noqa: E402

CHECKS = ("list", "build", "vet", "test")
GROUPS = (("/sys/fs/cgroup/cpuacct/docker", "cpuacct.usage"), ("/sys/fs/cgroup/docker", "cpu.stat"))


class ProcessorTime:
    """Seconds that execute runs of the fleet used while this is open; None where control groups are elsewhere. Read while the
    containers live: what one does in its last twentieth of a second may be missing."""

    def __init__(self, fleet):
        self.worker = fleet.worker_ids()["w1"]
        self.used = {}
        self.group = next(((pathlib.Path(group), file) for group, file in GROUPS if os.path.isdir(group)), None)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *problem):
        self.ended.set()
        self.thread.join()

    def seconds(self):
        return sum(self.used.values()) if self.group else None

    def _watch(self):
        while self.group and not self.ended.wait(0.05):
            for run in harness.containers(**{"cupel.worker": self.worker, "cupel.profile": "execute"}):
                try:
                    text = (self.group[0] / run["Id"] / self.group[1]).read_text()
                except OSError:
                    continue
                self.used[run["Id"]] = int(text) / 1e9 if text.strip().isdigit() else int(text.split()[1]) / 1e6


def modules(count):
    lines = (HERE.parents[2] / "ops" / "quickstart.yaml").read_text().splitlines()
    return [line.split()[-1] for line in lines if line.strip().startswith("- module: ")][:count]


def campaign(options, cache):
    return json.dumps({"apiVersion": "cupel/v1", "kind": "Campaign", "name": f"cache-{cache}",
                       "repositories": [{"module": module} for module in modules(options.modules)],
                       "sandbox": {"build_cache": cache, "image": options.image}, "validate": {"test": {"timeout": "3m"}}})


def validated(fleet, options, cache):
    """Of each module: seconds of its checks, its verdict and how its cache was made; and what all of them used together."""
    began = time.monotonic()
    with ProcessorTime(fleet) as processors:
        rows = fleet.wait(fleet.submit(campaign(options, cache)), deadline_s=3600)
    wall = time.monotonic() - began
    spent = {row["module"]: sum(check["duration_us"] for check in row["checks"] or [] if check["check"] in CHECKS) / 1e6
             for row in rows}
    return {"spent": spent, "all": sum(spent.values()), "cpu": processors.seconds(), "wall": wall,
            "tasks": sum(row["seconds"] for row in rows),
            "verdicts": {row["module"]: (row["verdict"], row["reason"]) for row in rows},
            "how": sorted({(row["evidence"] or {}).get("build_cache", "") for row in rows})}


def one_round(options):
    fleet = harness.Fleet(options.bin, workers=1, slots=1, namespaces=False, worker_settings={"seed-dir": ""})
    try:
        seen = {"empty": validated(fleet, options, "empty")}
        for cache in options.caches:
            seen[cache + " first"] = validated(fleet, options, cache)
            seen[cache] = validated(fleet, options, cache)
        for name, one in seen.items():
            if one["verdicts"] != seen["empty"]["verdicts"]:
                print(f"verdicts with {name} differ: {one['verdicts']} {seen['empty']['verdicts']}", file=sys.stderr)
            print(f"{name}: {one}", file=sys.stderr, flush=True)
        return seen
    finally:
        fleet.close(check=False)


def figure(options, name, values, unit, floors=None, **conditions):
    line = {"name": name, "value": round(statistics.median(values), 3), "unit": unit}
    spread = {"spread": [round(min(values), 3), round(max(values), 3)]}
    if floors:
        ratios = [value / floor for value, floor in zip(values, floors)]
        line |= {"floor": round(statistics.median(floors), 3), "ratio": round(statistics.median(ratios), 3)}
        spread |= {"floor_spread": [round(min(floors), 3), round(max(floors), 3)],
                   "ratio_spread": [round(min(ratios), 3), round(max(ratios), 3)]}
    line["conditions"] = {**spread, "rounds": options.rounds, "processors": os.cpu_count(), "nice": os.nice(0),
                          "load": round(os.getloadavg()[0], 1), **conditions}
    print(json.dumps(line), flush=True)


def report(options, rounds):
    def of(name, what):
        return [seen[name][what] for seen in rounds]

    count = len(rounds[0]["empty"]["spent"])
    common = {"modules": count, "image": options.image}
    for cache in options.caches:
        figure(options, f"build_cache_{cache}", of(cache, "all"), "s", of("empty", "all"), how=rounds[-1][cache]["how"], **common)
        ratios = [seen[cache]["spent"][module] / spent for seen in rounds
                  for module, spent in seen["empty"]["spent"].items() if spent]
        figure(options, f"build_cache_{cache}_ratio_of_a_module", ratios, "", **common)
        # What the first campaign took beyond the second one: making the seeds.
        prepared = [first - second for first, second in zip(of(cache + " first", "tasks"), of(cache, "tasks"))]
        figure(options, f"build_cache_{cache}_prepared", prepared, "s", **common)
        figure(options, f"build_cache_{cache}_with_preparation", of(cache + " first", "tasks"), "s", of("empty", "tasks"), **common)
        # From submit to the last verdict: the first campaign also fetched the modules, this one has everything.
        figure(options, f"build_cache_{cache}_warm_campaign", of(cache, "wall"), "s", of("empty", "wall"), **common)
        if rounds[0]["empty"]["cpu"] is not None:
            figure(options, f"build_cache_{cache}_cpu", of(cache, "cpu"), "s", of("empty", "cpu"), **common)
            figure(options, f"build_cache_{cache}_cpu_with_preparation", of(cache + " first", "cpu"), "s", of("empty", "cpu"),
                   **common)


def main():
    arguments = argparse.ArgumentParser(prog="ops/bench build-cache", description=__doc__)
    arguments.add_argument("--bin", default=os.environ.get("CUPEL_BIN_DIR"), help="directory of the built programs")
    arguments.add_argument("--rounds", type=int, default=2, help="each a fleet of its own (default: 2)")
    arguments.add_argument("--modules", type=int, default=12, help="the first ones of ops/quickstart.yaml (default: 12)")
    arguments.add_argument("--image", default="1.26", help="the Go minor that all of them are validated with (default: 1.26)")
    arguments.add_argument("--caches", nargs="+", default=["seeded", "dependencies"], metavar="WAY",
                           help="values of sandbox.build_cache beside empty (default: seeded dependencies)")
    options = arguments.parse_args()
    options.bin = os.path.abspath(options.bin)
    harness.clean_up_on_term()
    report(options, [one_round(options) for _ in range(options.rounds)])


if __name__ == "__main__":
    main()
