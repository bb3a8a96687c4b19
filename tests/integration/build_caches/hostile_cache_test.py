#!/usr/bin/env python3
"""A repository that attacks every file of its build cache changes nothing for any other validation: whole fleets, on engines
and file systems. What a run can do to a file is tests/integration/sandbox/cache_isolation_test's; here is what comes of it.

usage: hostile_cache_test.py [CASE...]; a case is a class below
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fleet")]
import harness  # noqa: E402
import place  # noqa: E402

BIN = os.environ["CUPEL_BIN_DIR"]
FIXTURES = HERE.parents[1] / "fixtures"
# What must be true of the victim, however its cache began: one package passes, of the other one test fails.
TRUTH = ("failing", "none", [("test_failure", "TestCount")])
SEEDED_FILES_MIN = 2000
MUST_BE_BLOCKED = ("open for writing", "open for reading and writing", "append", "open and truncate", "truncate by name", "chmod 0666",
                   "chown to the run's user", "another time, so that it is trimmed", "write through /proc/self/fd",
                   "map for writing", "another hard link, then write through it")


def contents(directory):
    """What the files of seeds are to others: bytes, mode and owner by path."""
    found = {}
    for path in sorted(pathlib.Path(directory).rglob("*")):
        facts = path.lstat()
        sum_of = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(facts.st_mode) and path.name != "complete" else ""
        found[str(path.relative_to(directory))] = (oct(facts.st_mode), facts.st_uid, facts.st_gid, sum_of)
    return found


class HostileCache:
    """What every case does; the cases differ in where things are. `how`: how seeds get into caches there."""

    how = "linked"

    def settings(self):
        """Settings of the worker beside the usual ones."""
        return {}

    def places(self):
        """Folders of the worker's data (None: the fleet's own) and of its seeds."""
        return None, self.folder / "seeds"

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(harness.scratch()))
        self.engine = harness.ENGINE
        try:
            settings = self.settings()
            data, self.seeds = self.places()
        except place.Missing as why:
            self.skipTest(str(why))
        for name in ("attacker", "victim"):
            shutil.copytree(FIXTURES / "hostile" / "cache" / name, self.folder / name)
        self.fleet = harness.Fleet(
            BIN, workers=1, slots=2, namespaces=False, engine=self.engine, worker_data=data,
            worker_settings={"fixture-proxy": FIXTURES / "cases" / "_proxy", "seed-dir": self.seeds,
                             "engine-socket": self.engine.path, **settings})
        self.addCleanup(self.fleet.close)

    def campaign(self, names, way):
        """Rows of the repositories, by their names."""
        rows = self.fleet.wait(self.fleet.submit(json.dumps({
            "apiVersion": "cupel/v1", "kind": "Campaign", "name": f"caches-{way}",
            "repositories": [{"path": str(self.folder / name)} for name in names],
            "sandbox": {"build_cache": way, "c_compiler": False}, "strategy": {"retries": {"timeout": 0}}})), 1500)
        for row in rows:
            self.assertEqual(row["evidence"]["build_cache"], self.evidence(way), row["evidence"]["notes"])
        return {pathlib.Path(row["source"]["name"]).name: row for row in rows}

    def evidence(self, way):
        return {"empty": "empty", "seeded": f"seeded:{self.how}",
                "dependencies": f"seeded:{self.how}, dependencies:{self.how}"}[way]

    def expect_truth(self, row):
        findings = [(one["kind"], one["test"]) for one in row["findings"]]
        self.assertEqual((row["verdict"], row["reason"], findings), TRUTH, row["message"])

    def expect_attack(self, row):
        """It ran, on a cache that had a seed, and no file of the seed gave way: else what follows says nothing."""
        status, log = self.fleet.request("GET", f"/api/v1/tasks/{row['task']}/log?check=test&stream=stdout")
        self.assertEqual(status, 200)
        said = "".join(json.loads(line).get("Output", "") for line in log.splitlines() if line.startswith(b"{"))
        files = re.search(r"cache-files\t(\d+)", said)
        self.assertGreater(int(files[1]) if files else 0, SEEDED_FILES_MIN, said)
        words = dict(re.findall(r"cache-attack\t([^\t]+)\t(\w+)\t", said))
        for attack in MUST_BE_BLOCKED:
            self.assertEqual(words.get(attack), "blocked", said)

    def test_it_changes_nothing_for_others(self):
        for way in ("seeded", "dependencies"):
            with self.subTest(way):
                # The attacker is the first: what is made is made on its behalf.
                self.expect_attack(self.campaign(["attacker"], way)["attacker"])
                seeds = contents(self.seeds)
                self.assertGreater(len(seeds), SEEDED_FILES_MIN)

                together = self.campaign(["attacker", "victim"], way)
                alone = self.campaign(["victim"], way)

                self.expect_attack(together["attacker"])
                self.expect_truth(together["victim"])
                self.expect_truth(alone["victim"])
                now = contents(self.seeds)
                self.assertEqual([path for path in seeds.keys() | now.keys() if seeds.get(path) != now.get(path)], [])

    def test_an_empty_cache_says_the_same(self):
        self.expect_truth(self.campaign(["attacker", "victim"], "empty")["victim"])


class Plain(HostileCache, unittest.TestCase):
    """This machine's engine and disk."""


class Tmpfs(HostileCache, unittest.TestCase):
    """Seeds and caches in memory."""

    def places(self):
        mounted = self.enterContext(place.mounted("tmpfs"))
        return mounted, mounted / "seeds"


class Ext4(HostileCache, unittest.TestCase):
    """Seeds and caches on a file system of their own, which knows no reflinks."""

    kind = "ext4"

    def places(self):
        mounted = self.enterContext(place.mounted(self.kind))
        return mounted, mounted / "seeds"


class Xfs(Ext4):
    """The same, with reflinks."""

    kind = "xfs"


class Btrfs(Ext4):
    """The same, with reflinks and checksums."""

    kind = "btrfs"


class OtherFileSystem(HostileCache, unittest.TestCase):
    """Seeds on a disk, caches in memory: no hard link leads there."""

    how = "copied"

    def places(self):
        return self.enterContext(place.mounted("tmpfs")), self.folder / "seeds"


class OtherMount(HostileCache, unittest.TestCase):
    """One file system, two mounts of it: no hard link leads from one to the other."""

    how = "copied"

    def places(self):
        return None, self.enterContext(place.mounted("bind")) / "seeds"


class Bubblewrap(HostileCache, unittest.TestCase):
    """No engine; the toolchain is unpacked."""

    def settings(self):
        # Kept: it is as large as an image. Nothing but the toolchain is in it.
        return {"engine": "bubblewrap", "image-dir": place.unpacked_images(BIN, "/var/tmp/cupel-test-images")}


class OwnEngine(HostileCache):
    """An engine of the test's own with a copy of the toolchain image."""

    kind = ""

    def settings(self):
        self.engine = place.engine_api.Engine(self.enterContext(place.own_engine(self.kind)))
        return {}


class Podman(OwnEngine, unittest.TestCase):
    kind = "podman"


class Gvisor(OwnEngine, unittest.TestCase):
    """A Docker Engine whose execute runs, and so the making of seeds, are gVisor's."""

    kind = "runsc"

    def settings(self):
        return {**super().settings(), "runtimes": "execute=runsc"}


if __name__ == "__main__":
    harness.clean_up_on_term()
    unittest.main(verbosity=2)
