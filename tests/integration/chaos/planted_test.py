#!/usr/bin/env python3
"""A real fleet's history is good, and no longer so when a double accept, a lost result or a leftover container is planted."""

import os
import pathlib
import sqlite3
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fleet")]
import harness  # noqa: E402
import history  # noqa: E402

BIN = os.environ.get("CUPEL_BIN_DIR") or sys.exit("CUPEL_BIN_DIR names the directory of the built programs")


class Planted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = harness.Fleet(BIN, workers=1, namespaces=False)
        cls.addClassCleanup(cls.fleet.close)
        cls.events = harness.engine_api.ContainerEvents(cls.fleet.engine)
        cls.addClassCleanup(cls.events.close)
        paths = [harness.module(cls.fleet.dir / "repositories", "pass", harness.PASSING)]
        cls.campaign = cls.fleet.submit(harness.campaign_of(paths))
        rows = cls.fleet.wait(cls.campaign)
        cls.task = rows[0]["task"]
        with cls.store() as store:
            cls.number = store.execute("SELECT task FROM results ORDER BY at_us DESC LIMIT 1").fetchone()[0]

    @classmethod
    def store(cls):
        return sqlite3.connect(cls.fleet.dir / "coordinator" / "store.db", timeout=30)

    def judged(self):
        return history.judge(history.collect(self.fleet, [self.campaign], self.events))

    def test_1_the_history_is_good(self):
        self.assertEqual(self.judged(), [])
        self.assertGreater(len(self.events.ended), 2)

    def test_2_a_second_accepted_result_is_seen(self):
        with self.store() as store:
            store.execute("INSERT INTO attempts (token, task, worker, started_us, ended_us, how) "
                          "VALUES (1000001, ?, 1, 0, 0, 'failing')", [self.number])
        wrong = self.judged()
        with self.store() as store:
            store.execute("DELETE FROM attempts WHERE token > 1000000")
        self.assertTrue(any(f"{self.task}: more than one result was accepted" in line for line in wrong), wrong)
        self.assertEqual(self.judged(), [])

    def test_3_a_lost_result_is_seen(self):
        with self.store() as store:
            row = store.execute("SELECT * FROM results WHERE task = ?", [self.number]).fetchone()
            store.execute("DELETE FROM results WHERE task = ?", [self.number])
        wrong = self.judged()
        with self.store() as store:
            store.execute("INSERT INTO results VALUES (?, ?, ?, ?)", row)
        self.assertTrue(any(f"{self.task} is done, but its accepted result is lost" in line for line in wrong), wrong)
        self.assertEqual(self.judged(), [])

    def test_4_a_leftover_container_is_seen(self):
        image = self.fleet.engine.call("GET", "/images/json")[0]["Id"]
        # Of the worker, but of no fleet: its reaper doesn't touch it.
        labels = {"cupel.worker": next(iter(self.fleet.worker_ids().values())), "cupel.task": self.task, "cupel.token": "1"}
        made = self.fleet.engine.call("POST", "/containers/create", body={"Image": image, "Cmd": ["/left-over"], "Labels": labels})
        try:
            wrong = self.judged()
        finally:
            self.fleet.engine.remove(made["Id"])
        self.assertTrue(any(line.startswith(f"leftover container {made['Id'][:12]}") for line in wrong), wrong)
        self.assertEqual(self.judged(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
