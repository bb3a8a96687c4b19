#!/usr/bin/env python3
"""A fleet of real parts under faults from a seed, and the verdict on what it did.

Coordinator, five workers in network namespaces, a real engine of their own; SQLite, or PostgreSQL and a second coordinator. The
schedule of the faults is a function of seed and store (schedule.py) and is printed; what the machine makes of it is not. When the
faults have stopped everything must come to its end, and the history must hold all promises (history.py).
"""

import collections
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fleet")]
import blows  # noqa: E402
import chaos_fleet  # noqa: E402
import chaos_pair  # noqa: E402
import harness  # noqa: E402
import history  # noqa: E402
import own_engine  # noqa: E402
import program  # noqa: E402
import schedule  # noqa: E402

LOST = (OSError, AssertionError, ValueError, harness.http.client.HTTPException)
FINAL_S = 300  # for everything to end once the faults have


class Chaos(blows.Blows):
    def __init__(self, chosen, scratch):
        super().__init__()
        self.chosen, self.scratch = chosen, scratch
        data = pathlib.Path(chosen.engine_data)
        self.engine = own_engine.OwnEngine(data, scratch / "engine")
        self.fleet = None
        self.clients, self.promised, self.rounds = [], [], 0
        self.executions = []

    def say(self, text):
        print(f"{time.monotonic() - self.began:7.1f} s  {text}", flush=True)

    def open(self):
        self.engine.start()
        image = self.engine.copy_image(harness.ENGINE)
        kind = chaos_pair.ChaosPair if self.chosen.store == "postgres" else chaos_fleet.ChaosFleet
        self.fleet = kind(self.chosen.bin, self.engine)
        self.ids = self.fleet.worker_ids()
        print(f"seed {self.chosen.seed}, {self.chosen.seconds} s of faults, {self.chosen.store}, image {image}, {len(self.ids)} workers",
              flush=True)

    # -- work -----------------------------------------------------------------------------------

    def submit(self):
        self.rounds += 1
        name = f"r{self.rounds}"
        scripts = {"pass0": harness.QUICK_PASS, "pass1": harness.QUICK_PASS, "fail": harness.QUICK_FAIL, "slow": harness.QUICK_SLEEP % 8,
                   "sleep": harness.QUICK_SLEEP % 3}
        paths = [harness.quick_module(self.scratch / "modules", name + unit, script) for unit, script in scripts.items()]
        file = self.scratch / f"{name}.yaml"
        file.write_text(harness.quick_campaign(paths, name, blows.CHECK_S))
        command = [str(self.fleet.bin / "cupel"), "run", "--server", f"http://127.0.0.1:{self.fleet.http_port}", "--token-file",
                   str(self.fleet.dir / "token"), "-f", str(file), "--detach", "--json"]
        self.clients.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                             stderr=subprocess.DEVNULL, text=True))

    def keep_busy(self):
        """An id that was told is a promise; a client that was told nothing asks again in another round."""
        for client in [client for client in self.clients if client.poll() is not None]:
            self.clients.remove(client)
            if client.returncode == 0:
                self.promised.append(json.loads(client.stdout.read())["id"])
        if self.clients:
            return
        try:
            rows = self.fleet.campaigns()
        except LOST:
            return
        open_units = sum(row["units_open"] + row["repositories_open"] for row in rows)
        if open_units < 5:
            self.submit()

    # -- the run ----------------------------------------------------------------------------------

    def watch_containers(self, stop):
        """What the engine tells of containers, over its restarts."""
        while not stop.is_set():
            try:
                events = harness.engine_api.ContainerEvents(self.engine.api)
            except LOST:
                time.sleep(0.2)
                continue
            while events.is_alive() and not stop.is_set():
                time.sleep(0.1)
            events.close()
            self.executions += events.ended

    def run(self):
        events = planned(self.chosen)
        # One round in quiet: what a fault may not change is known to be right.
        self.began = time.monotonic()
        self.submit()
        self.settle()
        stop = threading.Event()
        watcher = threading.Thread(target=self.watch_containers, args=(stop,), daemon=True)
        watcher.start()
        self.began = time.monotonic()
        waiting, holding, looked = list(events), [], 0.0
        while time.monotonic() - self.began < self.chosen.seconds:
            now = time.monotonic() - self.began
            while waiting and waiting[0].at <= now:
                self.strike(waiting[0])
                holding.append(waiting.pop(0))
            for event in [event for event in holding if event.end <= now]:
                holding.remove(event)
                self.mend(event)
            self.fleet.supervise()
            if now - looked > 1:
                looked = now
                self.keep_busy()
            time.sleep(0.05)
        for event in holding:
            self.mend(event)
        self.say("faults stop")
        self.settle()
        stop.set()
        watcher.join(10)
        return self.report(events)

    def settle(self):
        """Everything comes to its end."""
        deadline = time.monotonic() + FINAL_S
        problem = "nothing was looked at"
        while time.monotonic() < deadline:
            self.fleet.supervise()
            try:
                problem = self.unsettled()
                if not problem:
                    self.say("all is over")
                    return
            except LOST as lost:
                problem = str(lost)
            time.sleep(0.5)
        raise AssertionError(f"{FINAL_S} s after the last fault: {problem}\n{self.fleet.tails()}")

    def unsettled(self):
        for client in self.clients:
            if client.poll() is None:
                return "a client is still submitting"
        self.keep_busy_no_more()
        rows = [row for row in self.fleet.campaigns() if row["state"] not in ("finished", "cancelled")]
        if rows:
            return f"campaigns are open: {[(row['name'], row['state'], row['tasks']) for row in rows]}"
        return self.fleet.unsettled()

    def keep_busy_no_more(self):
        for client in self.clients:
            if client.returncode == 0:
                self.promised.append(json.loads(client.stdout.read())["id"])
        self.clients = []

    def report(self, events):
        self.fleet.http_timeout = 30
        rows = self.fleet.campaigns()
        record = history.collect(self.fleet, [row["id"] for row in rows], None, self.excused)
        record.runs = self.executions
        wrong = history.judge(record) + self.fleet.doubts()
        wrong += [f"campaign {campaign} was promised, and is not there" for campaign in set(self.promised) - set(record.units)]
        wrong += self.lies(record)
        verdicts = collections.Counter(f"{row['verdict']}" + (f":{row['reason']}" if row["reason"] != "none" else "")
                                       for units in record.units.values() for row in units)
        struck = [event for event in events if event.state != "planned"]
        print(f"{len(struck)} faults struck: {dict(sorted(collections.Counter(event.kind for event in struck).items()))}"
              + (f"; {len(events) - len(struck)} came too late" if len(struck) < len(events) else ""))
        print(f"ends of processes: {dict(collections.Counter(self.fleet.ends))}{self.fleet.story()}")
        print(history.figures(record))
        print(f"verdicts: {dict(verdicts.most_common())}")
        for line in wrong:
            print("WRONG", line)
        print(f"seed {self.chosen.seed}: " + (f"{len(wrong)} promises broken" if wrong else "all promises kept"))
        return not wrong

    @staticmethod
    def lies(record):
        """A fault is never the repository's: a unit is judged rightly, or inconclusive. What has no module was never looked into."""
        right = {"pass": "passing", "fail": "failing", "slow": "passing", "sleep": "passing"}
        wrong = []
        for row in (row for rows in record.units.values() for row in rows):
            verdict = next((verdict for word, verdict in right.items() if word in row["module"]), None)
            if row["verdict"] not in (verdict, "inconclusive"):
                wrong.append(f"{row['module'] or row['repository']}: {row['verdict']} ({row['reason']}: {row['message'][:200]})")
        return wrong

    def close(self, keep):
        self.mend_all()
        for client in self.clients:
            client.kill()
        self.engine.send(signal.SIGCONT)
        if self.fleet:
            self.fleet.close(keep=keep)
        if keep:
            shutil.copy(self.engine.log, self.scratch / "dockerd.log")
        self.engine.close()

    def evidence(self):
        return f"seed {self.chosen.seed}, {self.fleet.dir if self.fleet else ''}"

    def judge(self):
        self.open()
        return self.run()


def planned(chosen):
    return schedule.schedule(chosen.seed, chosen.seconds, chaos_fleet.WORKERS, chaos_fleet.SMALL, chosen.without, chosen.store)


def main():
    arguments = program.arguments(__doc__)
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    arguments.add_argument("--seconds", type=int, default=600)
    arguments.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    arguments.add_argument("--without", nargs="*", default=[], choices=list(schedule.kinds_of("postgres")),
                           help="leave these kinds of faults out")
    arguments.add_argument("--engine-data", default="/var/lib/cupel-chaos-engine", help="where the engine keeps its images")
    arguments.add_argument("--list", action="store_true", help="print the schedule alone")
    chosen = arguments.parse_args()
    if chosen.list:
        for event in planned(chosen):
            print(event)
        return 0
    program.need_programs(arguments, chosen)
    return program.exit_code("chaos", lambda scratch: Chaos(chosen, scratch), Chaos.judge)


if __name__ == "__main__":
    sys.exit(main())
