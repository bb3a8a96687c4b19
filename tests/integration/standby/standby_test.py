#!/usr/bin/env python3
"""A pair of coordinators on PostgreSQL loses its leader, or the database: nothing is lost, doubled or written by the old one."""

import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import pair as standby  # noqa: E402
import harness  # noqa: E402
import postgres_cluster  # noqa: E402

BIN = os.environ.get("CUPEL_BIN_DIR") or sys.exit("CUPEL_BIN_DIR names the directory of the built programs")
TRIALS = int(os.environ.get("CUPEL_TAKEOVERS", "4"))
TAKEOVER_S = 15

CAMPAIGN = """apiVersion: cupel/v1
kind: Campaign
name: nothing
repositories:
  - module: example.com/nothing@v1.0.0
"""


class PairCase(unittest.TestCase):
    def fleet(self, **kwargs):
        fleet = standby.Pair(BIN, **kwargs)
        self.addCleanup(fleet.close)
        return fleet

    def submit_nothing(self, fleet, coordinator):
        return coordinator.ask("POST", "/api/v1/campaigns", CAMPAIGN, fleet.token())

    def expect_refused(self, fleet, coordinator, words):
        """It lives, isn't ready, and says why to whoever asks for something."""
        self.assertEqual(coordinator.ask("GET", "/-/healthy")[0], 200)
        self.assertIn(words, coordinator.readiness())
        for method, path, body in (("POST", "/api/v1/campaigns", CAMPAIGN), ("GET", "/api/v1/campaigns", None),
                                   ("POST", "/api/v1/workers:drain", '{"labels": {"a": "b"}}'), ("POST", "/api/v1/artifacts", "x")):
            status, kind, answer = coordinator.ask(method, path, body, fleet.token())
            self.assertEqual((status, kind), (503, "application/problem+json"), f"{method} {path}: {answer[:300]}")
            self.assertIn(words, json.loads(answer)["detail"])
        self.assertEqual(coordinator.ask("GET", "/api/v1/version", token=fleet.token())[0], 200)


class WithoutEngine(PairCase):
    """Workers that only keep their session."""

    def test_the_other_one_stands_by(self):
        fleet = self.fleet(workers=1, engine=False)
        fleet.wait_for_workers()
        self.expect_refused(fleet, fleet.standby(), "standby: coordinator a leads")
        self.assertEqual(self.submit_nothing(fleet, fleet.active)[0], 201)
        metrics = {c.name: c.ask("GET", "/metrics")[2].decode() for c in fleet.pair}
        self.assertIn("\ncupel_leader 1\n", metrics["a"])
        self.assertIn("\ncupel_leader 0\n", metrics["b"])

    def test_workers_follow_the_lead_within_seconds(self):
        fleet = self.fleet(workers=3, engine=False)
        fleet.wait_for_workers()
        times = {"kill -9": [], "SIGSTOP": []}
        epoch = 1
        for trial in range(2 * TRIALS):
            how = ("kill -9", "SIGSTOP")[trial % 2]
            gone, led, took = fleet.takeover(signal.SIGKILL if how == "kill -9" else signal.SIGSTOP)
            times[how].append((led, took))
            epoch += 1
            self.assertEqual(fleet.epochs(), [f"{epoch}|{fleet.active.name}"])
            if how == "kill -9":
                gone.process.wait(10)
                gone.start()
            else:
                gone.signal(signal.SIGCONT)
            fleet.wait_until(lambda gone=gone: "standby: coordinator" in (gone.readiness() or ""), "the old leader stands by")
            self.assertEqual(fleet.connected(fleet.active), {"w1", "w2", "w3"})
        for how, seen in times.items():
            for what, values in (("the other leads", [led for led, _ in seen]), ("every worker is there", [took for _, took in seen])):
                print(f"{how}: {what} after p50 {statistics.median(values):.1f} s, max {max(values):.1f} s ({len(values)} trials)", flush=True)
            self.assertLess(max(took for _, took in seen), TAKEOVER_S, times)

    def test_a_leader_that_ends_hands_over_at_once(self):
        fleet = self.fleet(workers=1, engine=False)
        fleet.wait_for_workers()
        old = fleet.active
        began = time.monotonic()
        self.assertEqual(old.terminate(), 0, old.tail())
        fleet.wait_for_leader(other_than=old)
        self.assertLess(time.monotonic() - began, 10)

    def test_a_database_that_stops_and_comes_back(self):
        fleet = self.fleet(workers=2, engine=False)
        fleet.wait_for_workers()
        fleet.postgres.stop(signal.SIGINT)
        for coordinator in fleet.pair:
            fleet.wait_until(lambda c=coordinator: "can't be reached" in (c.readiness() or ""), f"{coordinator.name} sees it")
            self.expect_refused(fleet, coordinator, "can't be reached")
        fleet.postgres.start()
        fleet.wait_for_leader()
        fleet.wait_for_workers()
        self.assertEqual(self.submit_nothing(fleet, fleet.active)[0], 201)
        self.assertTrue(all(c.alive() for c in fleet.pair))

    def test_a_database_that_stands_still(self):
        fleet = self.fleet(workers=1, engine=False)
        fleet.wait_for_workers()
        for pid in fleet.postgres.pids():
            os.kill(pid, signal.SIGSTOP)
        try:
            fleet.wait_until(lambda: fleet.active.readiness() not in ("", None), "the leader gives up")
            self.assertEqual(self.submit_nothing(fleet, fleet.active)[0], 503)
        finally:
            for pid in reversed(fleet.postgres.pids()):
                os.kill(pid, signal.SIGCONT)
        fleet.wait_for_leader()
        fleet.wait_for_workers()

    def test_a_database_that_can_only_be_read(self):
        fleet = self.fleet(workers=1, engine=False)
        fleet.wait_for_workers()
        before = fleet.rows()
        fleet.postgres.sql("ALTER SYSTEM SET default_transaction_read_only = on")
        fleet.postgres.sql("SELECT pg_reload_conf()")
        for coordinator in fleet.pair:
            fleet.wait_until(lambda c=coordinator: "can only be read" in (c.readiness() or "") or "standby" in (c.readiness() or ""),
                             f"{coordinator.name} sees it")
        fleet.wait_until(lambda: fleet.leader() is None, "nobody leads")
        for coordinator in fleet.pair:
            self.assertEqual(self.submit_nothing(fleet, coordinator)[0], 503)
        self.assertEqual(fleet.rows(), before)
        fleet.postgres.sql("ALTER SYSTEM RESET default_transaction_read_only")
        fleet.postgres.sql("SELECT pg_reload_conf()")
        fleet.wait_for_leader()
        fleet.wait_for_workers()
        self.assertEqual(self.submit_nothing(fleet, fleet.active)[0], 201)

    def test_a_database_whose_disk_is_full(self):
        disk = pathlib.Path(harness.tempfile.mkdtemp(prefix="cupel-pg-disk-", dir="/tmp"))
        harness.run(["mount", "-t", "tmpfs", "-o", "size=160m,mode=0755", "tmpfs", str(disk)])
        self.addCleanup(lambda: (subprocess.run(["umount", "-l", str(disk)], check=False), disk.rmdir()))
        fleet = self.fleet(workers=1, engine=False, cluster=postgres_cluster.Cluster(directory=disk))
        fleet.wait_for_workers()
        filler = disk / "filler"
        with open(filler, "wb", buffering=0) as out:
            try:
                while True:
                    out.write(b"\0" * 65536)
            except OSError:
                pass
        # Each is small, and there is room in pages that exist: until the server needs a new one.
        large = CAMPAIGN + "".join(f"  - module: example.com/nothing{i}@v1.0.0\n" for i in range(4000))
        statuses = set()
        deadline = time.monotonic() + 60
        while 503 not in statuses and 507 not in statuses and time.monotonic() < deadline:
            with standby.contextlib.suppress(OSError, standby.http.client.HTTPException):
                statuses.add(fleet.active.ask("POST", "/api/v1/campaigns", large, fleet.token(), timeout=20)[0])
        self.assertTrue(statuses & {503, 507}, statuses)
        accepted = fleet.postgres.sql("SELECT COUNT(*) FROM campaigns", "fleet") if fleet.postgres.alive() else None
        filler.unlink()
        if not fleet.postgres.alive():
            fleet.postgres.start()  # a log that can't be written ends the server
        fleet.wait_for_leader(60)
        fleet.wait_for_workers(60)
        if accepted:
            self.assertEqual(fleet.postgres.sql("SELECT COUNT(*) FROM campaigns", "fleet"), accepted)
        self.assertEqual(self.submit_nothing(fleet, fleet.active)[0], 201)

    def test_the_password_is_in_a_file_alone(self):
        cluster = postgres_cluster.Cluster()
        directory = pathlib.Path(harness.tempfile.mkdtemp(prefix="cupel-secret-", dir="/var/tmp"))
        self.addCleanup(lambda: harness.shutil.rmtree(directory))
        secret = directory / "password"
        secret.write_text(postgres_cluster.PASSWORD + "\n")
        secret.chmod(0o600)
        cluster_url = cluster.url("fleet", tcp=True)
        fleet = self.fleet(workers=0, engine=False, cluster=cluster,
                           coordinator_settings={"store": cluster_url, "store-password-file": secret})
        for coordinator in fleet.pair:
            seen = pathlib.Path(f"/proc/{coordinator.process.pid}/cmdline").read_bytes() + pathlib.Path(coordinator.log).read_bytes()
            self.assertNotIn(postgres_cluster.PASSWORD.encode(), seen)
        secret.write_text("wrong\n")
        other = standby.Coordinator(fleet, "c")
        other.start()
        self.addCleanup(other.kill)
        fleet.wait_until(lambda: "can't be reached" in (other.readiness() or ""), "the third is refused")
        self.assertIn("password authentication failed", pathlib.Path(other.log).read_text())


class WithTasks(PairCase):
    """Real work on a real engine while the leader goes."""

    def begin(self, fleet, quick=2, slow=2):
        """Until every slot is in the middle of a slow test: then no lease is on its way, which nobody could tell from one that
        got lost with the leader."""
        paths = [harness.module(fleet.dir / "repositories", f"slow{i}", harness.SLOW % 8) for i in range(slow)]
        paths += [harness.module(fleet.dir / "repositories", f"quick{i}", harness.PASSING) for i in range(quick)]
        campaign = fleet.submit(harness.campaign_of(paths, extra="sandbox:\n  timeouts: {check: 120s}\n"))
        fleet.wait_until(lambda: sum("test" in run["Command"].split() for run in fleet.own_containers()) == len(fleet.workers),
                         "a slow test on every worker", 180)
        return campaign, fleet.events(campaign, 900), {f"example.com/{path.name}": ("passing", "none") for path in paths}

    def finish(self, fleet, campaign, events, wanted, attempts_max=2):
        sequence = [event["seq"] for event in events]
        self.assertEqual(sequence, sorted(set(sequence)), "an event came twice or out of order")
        self.assertEqual(fleet.verdicts(campaign), wanted, fleet.tails())
        tokens = set()
        for task, record in fleet.attempts(campaign).items():
            accepted = [attempt for attempt in record["attempts"] if attempt["how"] == "passing"]
            self.assertEqual(len(accepted), 1, f"{task}: {record['attempts']}")
            self.assertLessEqual(len(record["attempts"]), attempts_max, f"{task}: {record['attempts']}")
            tokens |= {attempt["token"] for attempt in record["attempts"]}
        rows = fleet.postgres.sql("SELECT COUNT(*), COUNT(DISTINCT token) FROM results", "fleet")
        self.assertEqual(*rows[0].split("|"))
        open_rows = fleet.postgres.sql("SELECT COUNT(*) FROM tasks WHERE state IN ('queued', 'leased', 'blocked')", "fleet")
        self.assertEqual(open_rows, ["0"])

    def test_the_leader_is_killed(self):
        fleet = self.fleet(workers=2, slots=1)
        campaign, events, wanted = self.begin(fleet)
        _, led, took = fleet.takeover(signal.SIGKILL)
        print(f"kill -9 with tasks under way: led after {led:.1f} s, every worker there after {took:.1f} s", flush=True)
        self.assertLess(took, TAKEOVER_S)
        # A worker keeps what it runs over the takeover: nothing is run twice.
        self.finish(fleet, campaign, events, wanted, attempts_max=1)

    def test_the_leader_stands_still_and_goes_on_later(self):
        fleet = self.fleet(workers=2, slots=1)
        campaign, events, wanted = self.begin(fleet)
        old, led, took = fleet.takeover(signal.SIGSTOP)
        print(f"SIGSTOP with tasks under way: led after {led:.1f} s, every worker there after {took:.1f} s", flush=True)
        self.assertLess(took, TAKEOVER_S)
        self.finish(fleet, campaign, events, wanted, attempts_max=1)
        before = fleet.rows()
        old.signal(signal.SIGCONT)
        fleet.wait_until(lambda: "standby: coordinator" in (old.readiness() or ""), "the old leader stands by")
        self.assertEqual(fleet.rows(), before, "the old leader wrote something")
        self.assertIn("is over for this coordinator", pathlib.Path(old.log).read_text())
        self.expect_refused(fleet, old, "standby: coordinator")

    def test_the_leader_stumbles_in_the_middle_of_its_work(self):
        fleet = self.fleet(workers=2, slots=1)
        campaign, events, wanted = self.begin(fleet, quick=4, slow=4)
        for _ in range(3):
            old, _, _ = fleet.takeover(signal.SIGSTOP)
            old.signal(signal.SIGCONT)  # while tasks are under way at the new leader
            fleet.wait_until(lambda old=old: "standby: coordinator" in (old.readiness() or ""), "the old leader stands by")
        self.finish(fleet, campaign, events, wanted, attempts_max=1)

    def test_the_database_is_away_for_some_seconds(self):
        fleet = self.fleet(workers=2, slots=1)
        campaign, events, wanted = self.begin(fleet)
        fleet.postgres.stop(signal.SIGQUIT)  # as in a crash
        time.sleep(5)  # the fault itself
        fleet.postgres.start()
        fleet.wait_for_leader()
        fleet.wait_for_workers()
        self.finish(fleet, campaign, events, wanted, attempts_max=1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
