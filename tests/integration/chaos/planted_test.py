#!/usr/bin/env python3
"""A real fleet's history is good, and no longer so when a double accept, a lost result or a leftover container is planted."""

import contextlib
import os
import pathlib
import sqlite3
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fleet"), str(HERE.parent / "standby")]
import harness  # noqa: E402
import history  # noqa: E402
import pair as standby  # noqa: E402

BIN = os.environ.get("CUPEL_BIN_DIR") or sys.exit("CUPEL_BIN_DIR names the directory of the built programs")


class Planted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.open_fleet()
        cls.addClassCleanup(cls.fleet.close)
        cls.events = harness.engine_api.ContainerEvents(cls.fleet.engine)
        cls.addClassCleanup(cls.events.close)
        paths = [harness.module(cls.fleet.dir / "repositories", "pass", harness.PASSING)]
        cls.campaign = cls.fleet.submit(harness.campaign_of(paths))
        rows = cls.fleet.wait(cls.campaign)
        cls.fleet.settle()
        cls.task = rows[0]["task"]
        cls.number = cls.sql("SELECT task FROM results ORDER BY at_us DESC LIMIT 1")

    @classmethod
    def open_fleet(cls):
        return harness.Fleet(BIN, workers=1, namespaces=False)

    @classmethod
    def sql(cls, *statements):
        """The last one's first value."""
        with contextlib.closing(sqlite3.connect(cls.fleet.dir / "coordinator" / "store.db", timeout=30)) as store, store:
            for statement in statements:
                row = store.execute(statement).fetchone()
            return row and row[0]

    def judged(self):
        return history.judge(history.collect(self.fleet, [self.campaign], self.events))

    def test_1_the_history_is_good(self):
        self.assertEqual(self.judged(), [])
        self.assertGreater(len(self.events.ended), 2)

    def test_2_a_second_accepted_result_is_seen(self):
        self.sql("INSERT INTO attempts (token, task, worker, started_us, ended_us, how) "
                 f"VALUES (1000001, {self.number}, 1, 0, 0, 'failing')")
        wrong = self.judged()
        self.sql("DELETE FROM attempts WHERE token > 1000000")
        self.assertTrue(any(f"{self.task}: more than one result was accepted" in line for line in wrong), wrong)
        self.assertEqual(self.judged(), [])

    def test_3_a_lost_result_is_seen(self):
        self.sql(f"CREATE TABLE kept AS SELECT * FROM results WHERE task = {self.number}",
                 f"DELETE FROM results WHERE task = {self.number}")
        wrong = self.judged()
        self.sql("INSERT INTO results SELECT * FROM kept", "DROP TABLE kept")
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


class PlantedOnPostgres(Planted):
    @classmethod
    def open_fleet(cls):
        return standby.Pair(BIN, workers=1)

    @classmethod
    def sql(cls, *statements):
        rows = cls.fleet.postgres.sql("; ".join(statements), "fleet")
        return rows and rows[0]


if __name__ == "__main__":
    unittest.main(verbosity=2)
