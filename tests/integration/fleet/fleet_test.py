#!/usr/bin/env python3
"""What a fleet promises when parts of it die: the same verdicts, one accepted result a task, nothing left over."""

import contextlib
import os
import pathlib
import shutil
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import harness  # noqa: E402

BIN = os.environ.get("CUPEL_BIN_DIR") or sys.exit("CUPEL_BIN_DIR names the directory of the built programs")


class NamedFleet(harness.Fleet):
    """Its one worker knows the coordinator by a name, which its host looks up in a file of its own."""

    names = None

    def endpoints_for(self, host):
        self.names = pathlib.Path("/etc/netns") / host.name
        self.names.mkdir(parents=True)
        self.point_to(host.outside)
        return tuple(f"tcp://coordinator.test:{port}" for port in (self.control_port, self.bulk_port))

    def point_to(self, address):
        (self.names / "hosts").write_text(f"127.0.0.1 localhost\n{address} coordinator.test\n")

    def close(self, *arguments, **keywords):
        super().close(*arguments, **keywords)
        if self.names:
            shutil.rmtree(self.names, ignore_errors=True)
            with contextlib.suppress(OSError):
                self.names.parent.rmdir()


def make_units(directory, passing, failing, slow=0, seconds=3):
    paths = [harness.module(directory, f"pass{i}", harness.PASSING) for i in range(passing)]
    paths += [harness.module(directory, f"fail{i}", harness.FAILING) for i in range(failing)]
    paths += [harness.module(directory, f"slow{i}", harness.SLOW % seconds) for i in range(slow)]
    return paths


class FleetCase(unittest.TestCase):
    def fleet(self, **kwargs):
        fleet = harness.Fleet(BIN, **kwargs)
        self.addCleanup(fleet.close)
        return fleet

    def expect(self, fleet, campaign, passing, failing, slow=0):
        verdicts = fleet.verdicts(campaign)
        wanted = {f"example.com/pass{i}": ("passing", "none") for i in range(passing)}
        wanted |= {f"example.com/fail{i}": ("failing", "none") for i in range(failing)}
        wanted |= {f"example.com/slow{i}": ("passing", "none") for i in range(slow)}
        self.assertEqual(verdicts, wanted, fleet.tails())
        for task, record in fleet.attempts(campaign).items():
            accepted = [a for a in record["attempts"] if a["how"] in ("passing", "failing")]
            self.assertEqual(len(accepted), 1, f"{task}: {record['attempts']}")

    @staticmethod
    def index_of(fleet, worker):
        return next(int(name[1:]) for name, text in fleet.worker_ids().items() if text == worker)

    def first_execute(self, fleet, events, worker=None):
        for event in events:
            if event["type"] == "task.started" and event.get("kind") == "execute":
                if worker is None or event.get("worker") == worker:
                    return event
        self.fail("no execute task was started\n" + fleet.tails())


class TwoWorkers(FleetCase):
    def test_forty_units_keep_both_busy_and_neither_takes_the_others_containers(self):
        fleet = self.fleet(workers=2, slots=1, worker_settings={"reap-period": "1s"})
        paths = make_units(fleet.dir / "repositories", passing=34, failing=6)
        started = time.monotonic()
        campaign = fleet.submit(harness.campaign_of(paths))
        by_worker = {}
        for event in fleet.events(campaign, 900):
            if event["type"] == "task.started" and event["kind"] == "execute":
                by_worker[event["worker"]] = by_worker.get(event["worker"], 0) + 1
        print(f"40 units in {time.monotonic() - started:.1f} s: {by_worker}", flush=True)
        self.expect(fleet, campaign, 34, 6)
        self.assertEqual(len(by_worker), 2, by_worker)
        self.assertGreater(min(by_worker.values()), 8, by_worker)
        for task, record in fleet.attempts(campaign).items():
            self.assertEqual(len(record["attempts"]), 1, f"{task}: a container was taken away: {record['attempts']}")


class Faults(FleetCase):
    def campaign(self, fleet):
        paths = make_units(fleet.dir / "repositories", passing=4, failing=2, slow=4)
        extra = "sandbox:\n  timeouts: {check: 60s}\n"
        campaign = fleet.submit(harness.campaign_of(paths, extra=extra))
        return campaign, fleet.events(campaign, 600)

    def finish(self, fleet, campaign, events):
        for _ in events:
            pass
        self.expect(fleet, campaign, 4, 2, 4)

    def test_worker_killed_and_restarted(self):
        fleet = self.fleet(workers=2)
        campaign, events = self.campaign(fleet)
        victim = self.index_of(fleet, self.first_execute(fleet, events)["worker"])
        fleet.workers[victim - 1].kill()
        fleet.start_worker(victim)
        self.finish(fleet, campaign, events)

    def test_worker_killed_and_left_dead_is_cleaned_up_by_the_other(self):
        fleet = self.fleet(workers=2, worker_settings={"post-run": "5s", "reap-period": "2s", "reap-grace": "5s"},
                           coordinator_settings={"holder-grace-ms": "10000"})
        campaign, events = self.campaign(fleet)
        victim = self.index_of(fleet, self.first_execute(fleet, events)["worker"])
        fleet.workers[victim - 1].kill()
        self.finish(fleet, campaign, events)
        dead = fleet.worker_ids()[f"w{victim}"]
        deadline = time.monotonic() + 120
        while harness.containers(**{"cupel.worker": dead}):
            self.assertLess(time.monotonic(), deadline, "the dead worker's containers were not reaped\n" + fleet.tails())
            time.sleep(0.5)

    def test_coordinator_killed_in_the_middle(self):
        fleet = self.fleet(workers=2)
        campaign, events = self.campaign(fleet)
        self.first_execute(fleet, events)
        fleet.coordinator.kill()
        fleet.start_coordinator()
        self.finish(fleet, campaign, events)

    def test_network_cut_for_thirty_seconds(self):
        fleet = self.fleet(workers=2)
        campaign, events = self.campaign(fleet)
        victim = self.index_of(fleet, self.first_execute(fleet, events)["worker"])
        fleet.hosts[victim - 1].cut()
        time.sleep(30)  # the fault itself
        fleet.hosts[victim - 1].mend()
        self.finish(fleet, campaign, events)

    def test_a_result_waits_out_a_term_without_a_coordinator(self):
        fleet = self.fleet(workers=1, worker_settings={"drain-limit": "5s", "post-run": "5s"})
        path = harness.quick_module(fleet.dir / "repositories", "slow0", harness.QUICK_SLEEP % 6)
        campaign = fleet.submit(harness.quick_campaign([path], "slow"))
        events = fleet.events(campaign, 300)
        self.first_execute(fleet, events)
        outbox, worker = fleet.dir / "w1" / "outbox", fleet.workers[0]
        self.until(fleet, lambda: any("check.sh" in run["Command"] for run in fleet.own_containers()), "the check runs")
        fleet.hosts[0].cut()
        self.until(fleet, lambda: list(outbox.glob("*.result")), "its result waits")
        began = time.monotonic()
        self.assertEqual(worker.terminate(60), 0, worker.tail())
        print(f"ended {time.monotonic() - began:.1f} s after TERM", flush=True)
        self.assertLess(time.monotonic() - began, 5 + 5 + 5, worker.tail())
        self.assertTrue(list(outbox.glob("*.result")), worker.tail())
        fleet.hosts[0].mend()
        fleet.start_worker(1)
        for _ in events:
            pass
        self.expect(fleet, campaign, 0, 0, 1)
        fleet.settle()

    def until(self, fleet, condition, what, seconds=120):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"{what}: not within {seconds} s\n{fleet.tails()}")
            time.sleep(0.1)

    def test_the_name_of_the_coordinator_gets_another_address(self):
        fleet = NamedFleet(BIN, workers=1)
        self.addCleanup(fleet.close)
        host = fleet.hosts[0]
        old, new = host.outside, "10.213.1.5"
        harness.run(["ip", "addr", "add", f"{new}/30", "dev", host.cable])
        host.run(["ip", "addr", "add", "10.213.1.6/30", "dev", "eth0"])
        self.assertIn("session with fleet", fleet.workers[0].tail())
        fleet.point_to(new)
        # The old one is silent: nothing tells the worker that nobody is there any more.
        host.run(["iptables", "-A", "OUTPUT", "-p", "tcp", "-d", old, "-j", "DROP"])
        host.run(["iptables", "-A", "INPUT", "-p", "tcp", "-s", old, "-j", "DROP"])
        began = time.monotonic()
        self.until(fleet, lambda: fleet.workers[0].tail(100_000).count("session with fleet") == 2, "a session at the new one", 40)
        print(f"a session at the new address after {time.monotonic() - began:.1f} s", flush=True)
        campaign = fleet.submit(harness.campaign_of(make_units(fleet.dir / "repositories", passing=1, failing=0)))
        fleet.wait(campaign, 120)
        self.expect(fleet, campaign, 1, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
