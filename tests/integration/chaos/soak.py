#!/usr/bin/env python3
"""Many small tasks through a fleet of the real programs for a long time: nothing may grow with them.

Most tasks are acquisitions that a worker refuses at a look (lease, outbox, result, commit, acknowledgement; no container); beside
them units are validated in containers all the time. What the daemons hold is sampled, and judged by its slope from the end of the
first quarter, when caches and pools are warm, to the end.
"""

import json
import os
import pathlib
import shutil
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fleet")]
import harness  # noqa: E402
import program  # noqa: E402

BATCH = 1000
# What a value may grow by from the first quarter to the last one: the larger of a share and an amount.
BOUNDS = {
    "memory": (0.10, 12 << 20),  # bytes, of each daemon
    "fds": (0.0, 6),
    "threads": (0.0, 1),
    "containers": (0.0, 4),  # those of runs that are under way
    "outbox": (0.0, 40),     # results between their writing and their acknowledgement
    "files": (0.10, 100),    # in the workers' data directories, the running checks' build caches left out
}
# A task is a record that stays: the database grows with them, by so many bytes each at most, and not faster at the end.
STORE_BYTES_PER_TASK = 2500
STORE_GROWTH_CHANGE = 1.25


class Soak:
    def __init__(self, chosen, scratch):
        self.chosen, self.scratch = chosen, scratch
        self.fleet = harness.Fleet(chosen.bin, workers=2, slots=4, namespaces=False,
                                   coordinator_settings={"keep-events": "1m", "keep-artifacts": "2m", "retention-period": "20s"},
                                   worker_settings={"reap-period": "5s", "workspaces-count-max": "20"})
        self.samples, self.made, self.units = [], 0, 0

    def post(self, text):
        status, body = self.fleet.request("POST", "/api/v1/campaigns", body=text, headers={"Content-Type": "application/yaml"})
        if status != 201:
            raise AssertionError(f"a campaign was not taken: {status} {body[:300]!r}")
        return json.loads(body)["id"]

    def small_tasks(self):
        repositories = [{"git": f"https://127.0.0.1/{self.made + i}", "ref": "main"} for i in range(BATCH)]
        self.made += BATCH
        return self.post(json.dumps({"apiVersion": "cupel/v1", "kind": "Campaign", "name": f"small{self.made}",
                                     "repositories": repositories}))

    def validation(self):
        name = f"unit{self.units}"
        self.units += 1
        path = harness.quick_module(self.scratch, name, harness.QUICK_PASS)
        campaign = self.fleet.submit(harness.quick_campaign([path], name))
        shutil.rmtree(path)
        return campaign

    def over(self, campaign):
        return self.fleet.get(f"/api/v1/campaigns/{campaign}")["state"] in ("finished", "cancelled")

    # -- samples ----------------------------------------------------------------------------------

    @staticmethod
    def process(daemon):
        root = pathlib.Path(f"/proc/{daemon.process.pid}")
        status = dict(line.split(":", 1) for line in (root / "status").read_text().splitlines() if ":" in line)
        return {"memory": int(status["VmRSS"].split()[0]) << 10, "threads": int(status["Threads"]),
                "fds": len(list((root / "fd").iterdir()))}

    def sample(self):
        row = {"at": time.monotonic() - self.began, "tasks": self.made}
        for daemon in [self.fleet.coordinator, *self.fleet.workers]:
            for what, value in self.process(daemon).items():
                row[f"{what} of {daemon.name}"] = value
        row["containers"] = len(self.fleet.own_containers())
        row["outbox"] = len(list(self.fleet.dir.glob("w*/outbox/*.result")))
        row["files"] = sum(len(files) for index in (1, 2)
                           for folder, folders, files in os.walk(self.fleet.dir / f"w{index}")
                           if not self.leave_out(folders))
        row["store"] = sum(file.stat().st_size for file in (self.fleet.dir / "coordinator").glob("store.db*"))
        self.samples.append(row)

    @staticmethod
    def leave_out(folders):
        """The walk doesn't go into what a running check builds."""
        folders[:] = [folder for folder in folders if folder not in ("gocache", "seeds")]
        return False

    # -- the run ----------------------------------------------------------------------------------

    def run(self):
        self.began = time.monotonic()
        seconds = self.chosen.minutes * 60
        pace = seconds / (self.chosen.tasks / BATCH)
        small, unit, sampled, due = [], None, -10.0, 0.0
        while (now := time.monotonic() - self.began) < seconds or self.made < self.chosen.tasks:
            small = [campaign for campaign in small if not self.over(campaign)]
            if now >= due and self.made < self.chosen.tasks and len(small) < 3:
                small.append(self.small_tasks())
                due += pace
            if unit is None or self.over(unit):
                unit = self.validation()
            if now - sampled >= min(5.0, seconds / 60):
                sampled = now
                self.sample()
            if now > 3 * seconds + 300:
                raise AssertionError(f"{self.made} of {self.chosen.tasks} tasks in {now:.0f} s: the fleet is too slow")
            time.sleep(0.2)
        for campaign in [*small, unit]:
            while not self.over(campaign):
                time.sleep(0.2)
        time.sleep(6)  # a pass of the reaper
        self.sample()

    def quarter(self, number):
        """The samples of a quarter of the time, by name."""
        end = self.samples[-2]["at"]  # the last one is of the fleet at rest
        return [row for row in self.samples[:-1] if end * number / 4 <= row["at"] <= end * (number + 1) / 4]

    def judge(self):
        wrong = []
        early, late = self.quarter(1), self.quarter(3)
        print(f"{'':26} {'quarter 2':>14} {'quarter 4':>14} {'end':>14}")
        for name in [key for key in self.samples[0] if key not in ("at", "tasks", "store")]:
            share, amount = BOUNDS[name.split()[0]]
            before, after = (statistics.median(row[name] for row in rows) for rows in (early, late))
            allowed = before + max(before * share, amount)
            good = after <= allowed
            print(f"{name:26} {before:14.0f} {after:14.0f} {self.samples[-1][name]:14.0f}{'' if good else '   <-- GROWS'}")
            if not good:
                wrong.append(f"{name} grew from {before:.0f} to {after:.0f}")
        for name in ("containers", "outbox"):
            if self.samples[-1][name]:
                wrong.append(f"{name}: {self.samples[-1][name]} are left at the end")
        slopes = []
        for rows in (early, late):
            first, last = rows[0], rows[-1]
            slopes.append((last["store"] - first["store"]) / max(1, last["tasks"] - first["tasks"]))
        print(f"{'store, bytes a task':26} {slopes[0]:14.0f} {slopes[1]:14.0f} {self.samples[-1]['store']:14.0f}")
        if slopes[1] > max(STORE_BYTES_PER_TASK, slopes[0] * STORE_GROWTH_CHANGE):
            wrong.append(f"the store grew by {slopes[1]:.0f} bytes a task, and by {slopes[0]:.0f} before")
        return wrong

    def close(self, keep):
        if self.chosen.samples:
            pathlib.Path(self.chosen.samples).write_text("".join(json.dumps(row) + "\n" for row in self.samples))
        self.fleet.close(check=False, keep=keep)

    def evidence(self):
        return self.fleet.dir


def all_flat(soak):
    soak.run()
    wrong = soak.judge()
    print(f"{soak.made} small tasks and {soak.units} units in {soak.samples[-1]['at']:.0f} s")
    for line in wrong:
        print("WRONG", line)
    return not wrong


def main():
    arguments = program.arguments(__doc__, prog="ops/soak")
    arguments.add_argument("--minutes", type=float, default=30)
    arguments.add_argument("--tasks", type=int, default=100_000)
    arguments.add_argument("--samples", help="a file for every sample, one JSON object a line")
    chosen = arguments.parse_args()
    program.need_programs(arguments, chosen)
    return program.exit_code("soak", lambda scratch: Soak(chosen, scratch), all_flat)


if __name__ == "__main__":
    sys.exit(main())
