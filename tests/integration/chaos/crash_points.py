#!/usr/bin/env python3
"""Kills the daemons at every one of their crash points, one after another, while a campaign runs, and judges the history.

The programs name their points (`--crash-points`); a build without CUPEL_CRASH_POINTS has none, which is an error here. Each
process is armed with one point at a time: it dies by SIGKILL when it passes it, and is started again armed with the next. At
the end everything must have come to its end, with the verdicts of a quiet run.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fleet")]
import harness  # noqa: E402
import history  # noqa: E402
import program  # noqa: E402

engine_api = harness.engine_api

# Points that no campaign of this suite passes, and what looks at them instead.
ELSEWHERE = {
    "engine.has_path": "the check of an image without a label of its compiler",
    "engine.image_inspect": "images with a label need no second look",
    "engine.logs": "only after a broken stream: ops/engine-scenarios",
    **{f"engine.network_{call}": "only with networks of its own: tests/integration/egress"
       for call in ("create", "inspect", "list", "remove")},
    "engine.ping": "the engine is asked for its version instead",
    "download.rename": "needs modules from a network: tests/unit/worker_downloads",
    "image.rename": "only `cupel image build --engine bubblewrap` writes images",
    "image_gone.rename": "likewise",
    "remove_tree.rename": "only in trees deeper than their limit",
    "scan.rename": "needs a vulnerability database: tests/unit/worker_scan",
    "seed_gone.rename": "only beyond the bounds of compiled dependencies: tests/unit/worker_run",
    "seed_file.rename": "only where a file can't be given away: not as root",
    "seed_left.rename": "likewise",
    "send.bulk_refuse": "tests/unit/common_wire/bulk_upload_test",
    **{f"{when}.hello_again": "a worker that hears nothing says hello first: tests/unit/coordinator_app/hostile_worker_test"
       for when in ("send", "sent")},
    "sent.bulk_refuse": "tests/unit/common_wire/bulk_upload_test",
}
# A point that its process hasn't passed after this many seconds is left, and tried again later.
PATIENCE = 15
TRIES = 3
PROVOKE_AFTER = 5
UNITS = 4
# Passed again and again while work goes on, so these strike at any of their first passes; the others at the first.
OFTEN = ("commit.", "engine.create", "engine.start", "engine.remove", "engine.inspect", "send.heartbeat", "sent.heartbeat",
         "send.lease", "sent.lease", "file.")


def points_of(program):
    said = subprocess.run([program, "--crash-points"], capture_output=True, text=True, timeout=30)
    points = said.stdout.split()
    if said.returncode != 0 or not points:
        sys.exit(f"{program} has no crash points: build it with CUPEL_CRASH_POINTS=ON (preset check or dev)")
    return points


class Target:
    """One process and the points that it has still to die at."""

    def __init__(self, name, daemon, points):
        self.name, self.daemon, self.points = name, daemon, list(points)
        self.armed, self.since, self.provoked, self.died, self.missed, self.left = None, 0.0, 0.0, [], [], []

    def arm(self, rng):
        self.armed = self.points.pop(0) if self.points else None
        self.since, self.provoked = time.monotonic(), 0.0
        self.daemon.environment = dict(os.environ)
        if self.armed:
            often = self.armed.startswith(OFTEN) and self.armed not in self.missed
            self.pass_number = rng.choice([1, 2, 3, 4]) if often else 1
            self.daemon.environment["CUPEL_CRASH_AT"] = f"{self.armed}:{self.pass_number}"


class Suite:
    def __init__(self, chosen, scratch):
        self.chosen, self.scratch = chosen, scratch
        self.rng = random.Random(chosen.seed)
        settings = {"heartbeat-ms": "300", "lease-ms": "6000", "backoff-ms": "100", "quarantine-failures": "1000"}
        workers = {"reap-period": "2s", "reap-grace": "2s", "post-run": "5s"}
        if chosen.seeds:
            workers["seed-dir"] = scratch / "seeds"
        self.fleet = harness.Fleet(chosen.bin, workers=2, slots=1, namespaces=False, coordinator_settings=settings,
                                   worker_settings=workers)
        self.events = engine_api.ContainerEvents(self.fleet.engine)
        self.rounds = 0
        self.started = time.monotonic()
        self.excused = []

    def say(self, text):
        print(f"{time.monotonic() - self.started:7.1f} s  {text}", flush=True)

    # -- work -----------------------------------------------------------------------------------

    def submit(self, name, paths):
        """A campaign whose verdicts don't depend on how often it is interrupted. The submitting client may meet a dead
        coordinator: then it is asked again, and a campaign that was made without an answer is one more."""
        file = self.scratch / f"{name}.yaml"
        file.write_text(harness.quick_campaign(paths, name, 90, "seeded" if self.chosen.seeds else "empty"))
        command = [str(self.fleet.bin / "cupel"), "run", "--server", f"http://127.0.0.1:{self.fleet.http_port}", "--token-file",
                   str(self.fleet.dir / "token"), "-f", str(file), "--detach", "--json"]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def more_work(self):
        self.rounds += 1
        paths = [harness.quick_module(self.scratch, f"r{self.rounds}pass{i}", harness.QUICK_PASS) for i in range(UNITS - 1)]
        paths.append(harness.quick_module(self.scratch, f"r{self.rounds}fail", harness.QUICK_FAIL))
        return self.submit(f"round{self.rounds}", paths)

    # -- what makes a process pass the rarer points ------------------------------------------------

    def cancelled_work(self, deaf=False):
        """A campaign that is cancelled while its check sleeps; `deaf`: in a container whose process 1 obeys no order, since
        the host's root stopped it, so that the engine has to kill it."""
        self.rounds += 1
        client = self.submit(f"slow{self.rounds}", [harness.quick_module(self.scratch, f"r{self.rounds}slow", harness.QUICK_SLEEP % 60)])
        said, _ = client.communicate(timeout=30)
        if client.returncode != 0:
            return
        campaign = json.loads(said)["id"]

        def cancel():
            done = self.fleet.get(f"/api/v1/campaigns/{campaign}")["state"] in ("finished", "cancelled")
            asleep = [run for run in self.fleet.own_containers()
                      if run["Labels"].get("cupel.campaign") == campaign and "check.sh" in run["Command"]]
            for run in asleep if deaf else ():
                os.kill(self.fleet.engine.call("GET", f"/containers/{run['Id']}/json")["State"]["Pid"], signal.SIGSTOP)
            if asleep and not done:
                self.fleet.request("POST", f"/api/v1/campaigns/{campaign}/cancel", body="{}")
            return bool(asleep) or done

        self.until(cancel, "the slow check runs")

    def drained(self):
        for order in ("drain", "undrain"):
            for name in ("w1", "w2"):
                self.fleet.request("POST", f"/api/v1/workers/{name}/{order}", body="{}")

    def ended(self, target):
        if target.provoked == 0:  # a second one would end it at once
            target.daemon.signal(signal.SIGTERM)

    def twin(self):
        """A second process with the key, the id and a copy of the directory of the first worker: it is refused."""
        copy = self.fleet.dir / "twin"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.fleet.dir / "w1", copy, ignore=shutil.ignore_patterns("gocache", "lock", "source-*", "modcache*"))
        command = [str(copy) if part == str(self.fleet.dir / "w1") else str(part) for part in self.fleet.workers[0].command]
        command[command.index("--ready-file") + 1] = str(copy / "ready.json")
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(3)  # long enough to be refused, more than once
        process.kill()
        process.wait()

    def damaged(self, target):
        """A file in the outbox that is no result: it is set aside at the next start."""
        target.daemon.kill()
        (self.fleet.dir / target.name / "outbox" / ("0" * 20 + ".result")).write_bytes(b"no result")
        target.daemon.start()

    def provoke(self, target):
        try:
            action = PROVOKED.get(target.armed)
            if action:
                action(self, target)
        except (OSError, AssertionError, json.JSONDecodeError, subprocess.TimeoutExpired):
            pass  # the coordinator may be dead at this moment, which is the point

    def until(self, condition, what, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if condition():
                    return
            except (OSError, AssertionError, harness.http.client.HTTPException):
                pass
            self.step()
            time.sleep(0.1)
        raise AssertionError(f"{what}: not after {seconds} s\n{self.fleet.tails()}")

    # -- the loop -------------------------------------------------------------------------------

    def targets_of(self):
        coordinator = points_of(self.fleet.bin / "cupel-coordinator")
        worker = points_of(self.fleet.bin / "cupel-worker")
        known = set(coordinator) | set(worker)
        gone = sorted(set(ELSEWHERE) - known)
        if gone:
            sys.exit(f"points that are excused but not there: {gone}")
        skipped = set(ELSEWHERE) | (set() if self.chosen.seeds else {"seed.rename", "seed.renamed"})
        if self.chosen.only:
            skipped |= known - set(self.chosen.only)
        mine = [[point for point in points if point not in skipped] for points in (coordinator, worker)]
        for points in mine:
            self.rng.shuffle(points)
        self.wanted = {("coordinator", point) for point in mine[0]} | {("worker", point) for point in mine[1]}
        return [Target("coordinator", self.fleet.coordinator, mine[0]),
                Target("w1", self.fleet.workers[0], mine[1][0::2]), Target("w2", self.fleet.workers[1], mine[1][1::2])]

    def step(self):
        """Looks after each process once: the dead are counted and started again."""
        for target in self.targets:
            patience = PATIENCE * (3 if target.armed in PROVOKED else 1)
            late = target.armed and time.monotonic() - target.since > patience
            over = target.armed and self.closing()
            if target.daemon.alive() and not late and not over:
                continue
            if target.daemon.alive():
                target.daemon.kill()
                # Once more at the end: the work that passes it may just have gone to the other worker.
                if not late or target.missed.count(target.armed) < TRIES - 1:
                    target.points.append(target.armed)
                if late:
                    target.missed.append(target.armed)
            elif target.daemon.process.returncode == -signal.SIGKILL and target.armed:
                target.died.append(target.armed)
            elif target.daemon.process.returncode == 0 and target.armed in PROVOKED:
                target.missed.append(target.armed)
            else:
                raise AssertionError(f"{target.name} ended with {target.daemon.process.returncode} while armed with "
                                     f"{target.armed}\n{target.daemon.tail()}")
            self.start(target)

    def start(self, target):
        if self.closing():
            target.points, target.left = [], list(target.points)
        target.arm(self.rng)
        if target.name == "coordinator":
            self.fleet.start_coordinator(wait=False)
        else:
            self.fleet.start_worker(int(target.name[1:]), wait=False)
        if target.armed:
            self.say(f"{target.name} is armed with {target.armed}:{target.pass_number}")

    def closing(self):
        return self.chosen.seconds and time.monotonic() - self.started > self.chosen.seconds

    def run(self):
        self.targets = []
        # One round in quiet: what a fault may not change is known to be right.
        self.more_work().wait(60)
        self.until(lambda: all(row["state"] == "finished" for row in self.fleet.campaigns()), "the quiet round ends", 300)
        self.started = time.monotonic()
        self.targets = self.targets_of()
        client = self.more_work()
        self.say(f"{len(self.wanted)} points, seed {self.chosen.seed}")
        for target in self.targets:
            target.daemon.kill()
            self.start(target)
        looked = 0.0
        while any(target.armed for target in self.targets):
            self.step()
            for target in self.targets:
                # Again and again: a task may have gone to the other worker, a request to a dead coordinator.
                if target.armed in PROVOKED and time.monotonic() - max(target.since, target.provoked) > PROVOKE_AFTER:
                    self.provoke(target)
                    target.provoked = time.monotonic()
            if client.poll() is not None and time.monotonic() - looked > 2:
                looked = time.monotonic()
                try:
                    if not any(row["state"] not in ("finished", "cancelled") for row in self.fleet.campaigns()):
                        client = self.more_work()
                except (OSError, AssertionError, harness.http.client.HTTPException):
                    pass
            time.sleep(0.05)
        client.wait(60)
        self.finish()

    def finish(self):
        """Nobody dies any more: everything ends, and a quiet campaign is judged rightly."""
        self.until(lambda: self.fleet.request("GET", "/-/ready")[0] == 200, "the coordinator is ready")
        for row in self.fleet.campaigns():
            if row["name"].startswith("slow") and row["state"] == "running":  # whoever should have cancelled it was dead
                self.fleet.request("POST", f"/api/v1/campaigns/{row['id']}/cancel", body="{}")
        self.more_work().wait(60)
        self.until(lambda: all(row["state"] in ("finished", "cancelled") for row in self.fleet.campaigns()), "all campaigns end", 240)
        self.until(lambda: not self.fleet.unsettled(), "containers and outboxes are empty", 60)

    # -- the answer -------------------------------------------------------------------------------

    def judge(self):
        rows = sorted(self.fleet.campaigns(), key=lambda row: row["created"])
        campaigns, last = [row["id"] for row in rows], rows[-1]["id"]
        self.events.close()
        # What a dead worker leaves is the wrapper's to end, in a moment; so long two attempts may be at once.
        excused = [(worker, 0, 1 << 40, 5) for worker in self.fleet.worker_ids().values()]
        record = history.collect(self.fleet, campaigns, self.events, excused)
        for name in record.outbox:
            record.outbox[name] = [file for file in record.outbox[name] if not file.endswith(".damaged")]
        wrong = history.judge(record)
        for campaign, rows in record.units.items():
            for row in rows:
                right = {"pass": "passing", "fail": "failing"}.get(row["module"].rstrip("0123456789")[-4:])
                excused = {"inconclusive"} if campaign != last else set()
                if "slow" in row["module"]:
                    right, excused = "cancelled", {"inconclusive", "passing"}
                if right and row["verdict"] != right and row["verdict"] not in excused:
                    wrong.append(f"{row['module']}: {row['verdict']} ({row['reason']}: {row['message'][:200]}), is {right}")
        print(history.figures(record))
        return wrong

    def report(self):
        wrong = self.judge()
        died = {("worker" if target.name.startswith("w") else target.name, point)
                for target in self.targets for point in target.died}
        left = sorted(point for target in self.targets for point in target.left)
        missed = sorted(self.wanted - died - {("coordinator", point) for point in self.targets[0].left}
                        - {("worker", point) for target in self.targets[1:] for point in target.left})
        print(f"{len(died)} of {len(self.wanted)} crash points struck (seed {self.chosen.seed})"
              + (f"; no time for: {' '.join(left)}" if left else ""))
        # With a limit on time a point may be armed when the work that passes it has just ended.
        if missed and not self.chosen.seconds:
            wrong.append(f"never passed: {missed}")
        elif missed:
            print(f"never passed this time: {missed}")
        for line in wrong:
            print("WRONG", line)
        return not wrong

    def verdict(self):
        self.run()
        return self.report()

    def close(self, keep):
        for daemon in [self.fleet.coordinator, *self.fleet.workers]:
            if daemon.alive():
                daemon.kill()
        self.fleet.close(check=False, keep=keep)

    def evidence(self):
        return f"seed {self.chosen.seed}, {self.fleet.dir}"


# What comes with a campaign: its submission, its packed sources, the logs of its failing unit.
WITH_CAMPAIGN = ["reply", "artifact.rename", "artifact.renamed", "file.rename", "file.renamed"] + [
    f"{when}.{what}" for when in ("send", "sent") for what in ("put_ready", "put_done", "get_chunk", "put_begin", "put_chunk", "get_begin",
                                                               "get_credit")]
PROVOKED = {
    **{point: lambda suite, target: suite.more_work() for point in WITH_CAMPAIGN},
    "send.cancel_task": lambda suite, target: suite.cancelled_work(),
    "sent.cancel_task": lambda suite, target: suite.cancelled_work(),
    "engine.kill": lambda suite, target: suite.cancelled_work(deaf=True),
    "engine.kill.answered": lambda suite, target: suite.cancelled_work(deaf=True),
    "send.drain": lambda suite, target: suite.drained(),
    "sent.drain": lambda suite, target: suite.drained(),
    "send.goodbye": lambda suite, target: suite.ended(target),
    "sent.goodbye": lambda suite, target: suite.ended(target),
    "send.refuse": lambda suite, target: suite.twin(),
    "sent.refuse": lambda suite, target: suite.twin(),
    "outbox.set_aside": lambda suite, target: suite.damaged(target),
}


def main():
    arguments = program.arguments(__doc__)
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    arguments.add_argument("--seconds", type=int, default=0, help="arm nothing more after this time; 0: until all were struck")
    arguments.add_argument("--seeds", action="store_true", help="build the seeds of build caches afresh, and die there as well")
    arguments.add_argument("--only", nargs="*", help="these points alone")
    chosen = arguments.parse_args()
    program.need_programs(arguments, chosen)
    return program.exit_code("crash", lambda scratch: Suite(chosen, scratch), Suite.verdict)


if __name__ == "__main__":
    sys.exit(main())
