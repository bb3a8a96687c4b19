#!/usr/bin/env python3
"""Two workers build the scanner of one toolchain, each by itself, and both must come to the same program before it is used."""

import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import harness  # noqa: E402

BIN = os.environ.get("CUPEL_BIN_DIR") or sys.exit("CUPEL_BIN_DIR names the directory of the built programs")
CASES = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "cases"
CASE = "224-only-tests-call-it"

CAMPAIGN = """apiVersion: cupel/v1
kind: Campaign
name: scanned
repositories:
  - path: {repository}
sandbox: {{image: "1.26"}}
validate:
  build: {{enabled: false}}
  vet: {{enabled: false}}
  test: {{enabled: false}}
  scan: {{database: {database}}}
"""


class Scanner(unittest.TestCase):
    def test_two_workers_agree_on_it(self):
        fleet = harness.Fleet(BIN, workers=2, slots=1, namespaces=False, worker_settings={"fixture-proxy": CASES / "_proxy"})
        self.addCleanup(fleet.close)
        repository = fleet.dir / "repository"
        shutil.copytree(CASES / CASE / "repo", repository)

        campaign = fleet.submit(CAMPAIGN.format(repository=repository, database=CASES / "_vulndb"))
        started, finished = {}, {}
        for event in fleet.events(campaign, 600):
            if event["type"] == "task.started" and event["kind"] == "tool":
                started[event["task"]] = event["worker"]
            elif event["type"] == "task.finished" and event["kind"] == "tool":
                finished[event["task"]] = event["outcome"]

        self.assertEqual(set(started.values()), set(fleet.worker_ids().values()), fleet.tails())
        self.assertEqual(sorted(finished.values()), ["passing", "passing"], fleet.tails())
        binaries = {fleet.get(f"/api/v1/tasks/{task}")["result"]["tool"]["binary"] for task in started}
        self.assertEqual(len(binaries), 1, binaries)
        unit, = fleet.results(campaign)
        self.assertEqual((unit["verdict"], [finding["kind"] for finding in unit["findings"]].count("vuln")), ("passing", 1), unit)


if __name__ == "__main__":
    unittest.main(verbosity=2)
