#!/usr/bin/env python3
"""A second campaign over the same modules fetches nothing: the programs as they are shipped, a real engine and go command.

The module proxy and its checksum database are the test's own and write down what they are asked for. What a warm campaign may
still ask is said here, request by request.
"""

import contextlib
import json
import os
import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fleet")]
import counting_proxy  # noqa: E402
import harness  # noqa: E402
from counting_proxy import Module  # noqa: E402

BIN = os.environ["CUPEL_BIN_DIR"]
LIB, LEAF, APP = "warm.test/lib", "warm.test/leaf", "warm.test/app"
FILES = ("info", "mod", "zip")


def leaf(version):
    return Module(LEAF, version, {"go.mod": f"module {LEAF}\n\ngo 1.21\n", "leaf.go": "package leaf\n\nconst One = 1\n"})


def lib(version, leaf_version, padding=0):
    return Module(LIB, version, {
        "go.mod": f"module {LIB}\n\ngo 1.21\n\nrequire {LEAF} {leaf_version}\n",
        "lib.go": f'package lib\n\nimport "{LEAF}"\n\nfunc Two() int {{ return leaf.One + leaf.One }}\n',
        "padding.txt": "x" * padding})


OLD, NEW = [leaf("v1.0.0"), lib("v1.0.0", "v1.0.0")], [leaf("v1.1.0"), lib("v1.1.0", "v1.1.0")]
TEST = ('package {0}\n\nimport (\n\t"testing"\n\n\t"' + LIB + '"\n)\n\nfunc TestTwo(t *testing.T) {{\n'
        '\tif lib.Two() != {1} {{\n\t\tt.Fatal("not {1}")\n\t}}\n}}\n')
MANIFEST = f"\n\ngo 1.21\n\nrequire {LIB} v1.0.0\n\nrequire {LEAF} v1.0.0 // indirect\n"
SUMS = "".join(sorted("".join(module.sums() for module in OLD).splitlines(True)))
PUBLISHED = Module(APP, "v1.0.0", {"go.mod": f"module {APP}{MANIFEST}", "go.sum": SUMS, "app.go": "package app\n",
                                   "app_test.go": TEST.format("app", 2)})


def repository(directory, name, expected=2, sums=SUMS):
    """A user of the library whose test holds where `expected` is 2."""
    path = pathlib.Path(directory) / name
    path.mkdir(parents=True)
    (path / "go.mod").write_text(f"module example.com/{name}{MANIFEST}")
    if sums:
        (path / "go.sum").write_text(sums)
    (path / f"{name}.go").write_text(f"package {name}\n")
    (path / f"{name}_test.go").write_text(TEST.format(name, expected))
    return {"path": str(path)}


def kinds(requests):
    return sorted({counting_proxy.kind_of(path) for path in requests})


class WarmFleet:
    """A fleet of one worker behind the proxy."""

    def __init__(self, test, modules, **worker_settings):
        gateway = harness.bridge_gateway()
        self.proxy = test.enterContext(contextlib.closing(counting_proxy.CountingProxy(gateway, modules)))
        # The proxies of this machine are not to stand between a container and ours.
        environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        self.fleet = harness.Fleet(
            BIN, workers=1, slots=2, namespaces=False, environment=environment,
            coordinator_settings={"backoff-ms": "200"},
            worker_settings={"module-proxy": self.proxy.url, "checksum-database": self.proxy.database.verifier,
                             **worker_settings})
        test.addCleanup(self.fleet.close)
        self.cache = self.fleet.dir / "w1" / "downloads" / "files"

    def campaign(self, repositories, change=None, **sandbox):
        """Verdicts by module, and what the proxy was asked for meanwhile."""
        campaign = {"apiVersion": "cupel/v1", "kind": "Campaign", "name": "warm", "repositories": repositories,
                    "validate": {"build": {"enabled": False}, "vet": {"enabled": False}}, "sandbox": sandbox,
                    "strategy": {"retries": {"infra_error": 2}}}
        if change:
            campaign["change"] = change
        self.rows = self.fleet.wait(self.fleet.submit(json.dumps(campaign)), 400)
        return {row["module"]: (row["verdict"], row["reason"]) for row in self.rows}, self.proxy.take_requests()

    def file(self, module, kind):
        return self.cache / module.path / "@v" / f"{module.version}.{kind}"

    def has(self, module):
        return all(self.file(module, kind).exists() for kind in FILES)

    def wait_for(self, modules):
        """The cache is filled behind the back of the tasks."""
        deadline = time.monotonic() + 60
        while not all(self.has(module) for module in modules):
            if time.monotonic() > deadline:
                raise AssertionError(f"never cached: {[m.path for m in modules if not self.has(m)]}\n{self.fleet.tails()}")
            time.sleep(0.05)
        # The filler asks for .info itself: of its own requests none is left for the next campaign.
        self.proxy.take_requests()

    def restart_worker(self):
        self.fleet.workers[0].terminate()
        self.fleet.start_worker(1)


class WarmCampaignTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(harness.scratch())

    def warm(self, modules=OLD + NEW + [PUBLISHED], **worker_settings):
        return WarmFleet(self, modules, **worker_settings)

    def test_a_second_campaign_fetches_nothing_with_the_same_worker_and_after_its_restart(self):
        fleet = self.warm()
        folders = [repository(self.folder, "sound"), repository(self.folder, "broken", expected=3)]
        expected = {"example.com/sound": ("passing", "none"), "example.com/broken": ("failing", "none")}

        cold, asked = fleet.campaign(folders)
        self.assertEqual(cold, expected, fleet.fleet.tails())
        self.assertTrue({"mod", "zip"} <= set(kinds(asked)), asked)
        fleet.wait_for(OLD)

        self.assertEqual(fleet.campaign(folders), (expected, []))
        fleet.restart_worker()
        self.assertEqual(fleet.campaign(folders), (expected, []))

    def test_what_no_go_sum_says_is_asked_of_the_checksum_database_and_of_nobody_else(self):
        fleet = self.warm()
        sources = [repository(self.folder, "unsummed", sums=""), {"module": f"{APP}@v1.0.0"}]
        expected = {"example.com/unsummed": ("passing", "none"), APP: ("passing", "none")}

        cold, asked = fleet.campaign(sources)
        self.assertEqual(cold, expected, fleet.fleet.tails())
        self.assertIn(f"/{APP}/@v/v1.0.0.zip", asked)
        fleet.wait_for([*OLD, PUBLISHED])
        again, asked = fleet.campaign(sources)

        self.assertEqual(again, expected)
        self.assertEqual(kinds(asked), ["sumdb"], asked)

    def test_an_upgrade_takes_the_new_version_from_the_cache_as_well(self):
        fleet = self.warm()
        folders = [repository(self.folder, "sound"), repository(self.folder, "broken", expected=3)]
        change = {"upgrade": {"modules": [{"module": LIB, "version": "v1.1.0"}]}}
        expected = {"example.com/sound": ("compatible", "none"), "example.com/broken": ("broken_before", "none")}

        cold, asked = fleet.campaign(folders, change)
        self.assertEqual(cold, expected, fleet.fleet.tails())
        self.assertIn(f"/{LIB}/@v/v1.1.0.zip", asked)
        fleet.wait_for(OLD + NEW)
        for restart in (False, True):
            if restart:
                fleet.restart_worker()
            again, asked = fleet.campaign(folders, change)
            self.assertEqual(again, expected)
            # The new version's sums are in nobody's go.sum; and `go get` asks whether a version was retracted by a newer
            # one: which is newest must be fresh, and so is what the same proxy says of that one.
            fetched = {path for path in asked if counting_proxy.kind_of(path) != "sumdb"}
            newest = {f"/{module.path}/@v/{module.version}.info" for module in NEW}
            self.assertLessEqual(fetched, {f"/{LIB}/@v/list", f"/{LEAF}/@v/list"} | newest)
            print("a warm upgrade asks", sorted(fetched), flush=True)

    def test_a_file_that_was_damaged_costs_a_repetition_and_no_verdict(self):
        fleet = self.warm()
        folders = [repository(self.folder, "sound")]
        expected = {"example.com/sound": ("passing", "none")}
        fleet.campaign(folders)
        fleet.wait_for(OLD)
        damaged = fleet.file(OLD[1], "zip")
        content = damaged.read_bytes()
        other = content.replace(b"leaf.One + leaf.One", b"leaf.One - leaf.One")
        self.assertNotEqual(content, other)
        damaged.unlink()
        damaged.write_bytes(other)

        mended, asked = fleet.campaign(folders)

        self.assertEqual(mended, expected, fleet.fleet.tails())
        self.assertIn(f"/{LIB}/@v/v1.0.0.zip", asked)
        self.assertIn("damaged versions, which were removed", fleet.fleet.workers[0].tail(100_000))
        fleet.wait_for(OLD)
        self.assertEqual(damaged.read_bytes(), content)
        self.assertEqual(fleet.campaign(folders), (expected, []))

    def test_beyond_its_bytes_the_least_recently_used_go_and_are_fetched_again(self):
        large = [leaf("v1.0.0"), lib("v1.0.0", "v1.0.0", 300_000), lib("v1.1.0", "v1.0.0", 300_000)]
        fleet = self.warm(large, **{"download-cache-bytes-max": "512KiB"})
        sums = "".join(module.sums() for module in large)
        folders = [repository(self.folder, "sound", sums=sums)]
        expected = {"example.com/sound": ("passing", "none")}
        self.assertEqual(fleet.campaign(folders)[0], expected, fleet.fleet.tails())
        fleet.wait_for(large[:2])

        upgrade = {"upgrade": {"modules": [{"module": LIB, "version": "v1.1.0"}]}}
        self.assertEqual(fleet.campaign(folders, upgrade)[0], {"example.com/sound": ("compatible", "none")})
        fleet.wait_for([large[2]])

        used = sum(file.stat().st_size for file in fleet.cache.rglob("*") if file.is_file())
        self.assertLessEqual(used, 512 << 10)
        self.assertFalse(fleet.has(large[1]))
        again, asked = fleet.campaign(folders)
        self.assertEqual(again, expected)
        self.assertIn(f"/{LIB}/@v/v1.0.0.zip", asked)

    def test_with_private_patterns_it_is_neither_filled_nor_used(self):
        fleet = self.warm()
        folders = [repository(self.folder, "sound")]
        for _ in range(2):
            verdicts, asked = fleet.campaign(folders, private={"gonosumdb": "other.test"})
            self.assertEqual(verdicts, {"example.com/sound": ("passing", "none")}, fleet.fleet.tails())
            self.assertIn(f"/{LIB}/@v/v1.0.0.zip", asked)
        # What is queued behind those two would be seen now.
        fleet.campaign([repository(self.folder, "open")])
        fleet.wait_for(OLD)
        self.assertEqual(fleet.campaign(folders)[1], [])

    def test_without_a_cache_every_campaign_fetches(self):
        fleet = self.warm(**{"download-cache-bytes-max": "0"})
        folders = [repository(self.folder, "sound")]
        for _ in range(2):
            verdicts, asked = fleet.campaign(folders)
            self.assertEqual(verdicts, {"example.com/sound": ("passing", "none")}, fleet.fleet.tails())
            self.assertIn(f"/{LIB}/@v/v1.0.0.zip", asked)
        self.assertFalse(fleet.cache.exists())


if __name__ == "__main__":
    harness.clean_up_on_term()
    unittest.main(verbosity=2)
