#!/usr/bin/env python3
"""What people and machines get wrong: each with its message, its exit code, and nothing lost or left."""

import os
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import lab as labs  # noqa: E402
from lab import harness  # noqa: E402

CODE = re.compile(r"\(CUP-\d{4}\)")


class Case(unittest.TestCase):
    def setUp(self):
        self.lab = labs.Lab()
        self.addCleanup(self.lab.close)

    def says(self, done, code, *words, stream="err"):
        """Ended with this code, with one of our codes in the message and all of the words."""
        text = getattr(done, stream)
        self.assertEqual(done.code, code, done)
        self.assertRegex(text, CODE, done)
        for word in words:
            self.assertIn(word, text, done)

    def logs(self, child, code, *words):
        """A daemon that ends by itself with this code and these words in its log."""
        self.assertEqual(child.wait(), code, child.text())
        self.assertRegex(child.text(), CODE)
        for word in words:
            self.assertIn(word, child.text())

    def nothing_left(self):
        self.assertEqual(self.lab.leftovers(), [])

    def run_local(self, file, *arguments, **kwargs):
        # One seed for all: it belongs to the image, not to a run.
        settings = self.lab.file("local-worker.yaml", f"allow_local_sources: true\n{kwargs.pop('settings', '')}")
        return self.lab.cupel("run", "--local", "-f", file, "--worker-config", settings, *arguments, **kwargs)


class CampaignFiles(Case):
    def bad(self, text, *words):
        file = self.lab.file("campaign.yaml", text)
        for command in (["check"], ["run", "--local"]):
            self.says(self.lab.cupel(*command, "-f", file), 2, *words)
        self.assertFalse((self.lab.dir / "state").exists(), "a wrong file starts nothing")

    def test_broken_yaml(self):
        head = "apiVersion: cupel/v1\nkind: Campaign\nname: x\n"
        self.bad(head + "repositories: [\n", "campaign.yaml:5:1: not YAML")
        self.bad(head + "repositories:\n\t- module: a.b/c@v1.0.0\n", "campaign.yaml:5:2: not YAML", "there is a tab")
        self.bad(head + "description: \"never closed\nrepositories: []\n", "campaign.yaml:4:14: not YAML", "never closed")
        self.bad("", "campaign.yaml: the file is empty")

    def test_unknown_keys_and_values(self):
        head = "apiVersion: cupel/v1\nkind: Campaign\nname: x\n"
        self.bad(head + "repositories:\n  - modul: a.b/c@v1.0.0\nsandbxo: {}\n", "campaign.yaml:5:5: repositories[0]",
                 'did you mean "module"?', "campaign.yaml:6:1: unknown key \"sandbxo\"", 'did you mean "sandbox"?')
        self.bad(head + "repositories:\n  - module: a.b/c@1.0.0\n", "campaign.yaml:5:13", 'write "v1.0.0"')
        self.bad(head + "repositories:\n  - path: /nowhere/at/all\n", "campaign.yaml:5:5", "there is no folder /nowhere/at/all")

    def test_a_malformed_diff(self):
        self.lab.file("change.diff", "--- a/x\n+++ b/x\n@@ -1,5 +1 @@\n-a\n+b\n")
        self.bad("apiVersion: cupel/v1\nkind: Campaign\nname: x\nrepositories:\n  - module: example.com/a@v1.0.0\n"
                 "change: {patch: {file: change.diff}}\n", "change.diff:3:1: change.patch: a hunk shorter than its header says")

    def test_files_that_are_none(self):
        self.says(self.lab.cupel("check", "-f", "nowhere.yaml"), 9, "nowhere.yaml", "'cupel init' writes one")
        self.says(self.lab.cupel("check", "-f", "."), 1, "can't read")
        self.says(self.lab.cupel("check", "-f", "-", stdin="a: [\n"), 2, "standard input:2:1: not YAML")

    def test_command_lines(self):
        self.says(self.lab.cupel("rnu"), 2, "did you mean 'cupel run'?")
        self.says(self.lab.cupel("run", "--lokal"), 2, "--lokal")
        self.says(self.lab.cupel("results", "c-1", "--server", "https://coordinator.example.com", "--token-file", "none"), 2)
        self.says(self.lab.cupel("worker", "ls", "--server", "http://127.0.0.1:9"), 6, "http://127.0.0.1:9", "running at this address")


class Sources(Case):
    def test_what_is_not_there_is_refused_with_its_name(self):
        repository = self.lab.dir / "repository"
        repository.mkdir()
        for command in (["init", "-q"], ["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "x", "--allow-empty"]):
            subprocess.run(["git", *command], cwd=repository, check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"})
        file = self.lab.campaign(f"git: file://{self.lab.dir}/nowhere", f"git: file://{repository}\n    ref: no-such-branch",
                                 "git: http://127.0.0.1:9/x/y.git")
        done = self.run_local(file)
        self.assertEqual(done.code, 3, done)
        for words in ("repository_not_found", f"file://{self.lab.dir}/nowhere: not found", "ref_not_found",
                      "no branch, tag or commit 'no-such-branch'", "upstream", "127.0.0.1 port 9",
                      "3 units = 1 inconclusive + 2 refused", "gate failed: 2 refused", "what helps:",
                      "ref_not_found: check the source's 'ref'"):
            self.assertIn(words, done.out, done)
        self.nothing_left()

    def test_no_route_to_the_module_proxy(self):
        file = self.lab.campaign("module: golang.org/x/sync@v0.25.0")
        done = self.run_local(file, settings="module_proxy: http://127.0.0.1:9\n")
        self.assertEqual(done.code, 5, done)
        for words in ("inconclusive", "upstream", "127.0.0.1:9", "is the module proxy or git host reachable",
                      "100.0 % of the units are inconclusive"):
            self.assertIn(words, done.out, done)
        self.nothing_left()

    def test_an_image_that_is_missing(self):
        file = self.lab.campaign("module: golang.org/x/sync@v0.25.0", extra="sandbox: {image: '1.11'}\n")
        done = self.run_local(file)
        self.assertEqual(done.code, 5, done)
        for words in ("image_missing", "no image 1.11", "'cupel image ls'"):
            self.assertIn(words, done.out, done)
        self.nothing_left()


class Engines(Case):
    def test_no_socket(self):
        file = self.lab.campaign("module: golang.org/x/sync@v0.25.0")
        socket = self.lab.dir / "none.sock"
        done = self.lab.cupel("run", "--local", "-f", file, "--engine-socket", socket, seconds=10)
        self.says(done, 1, str(socket), "(CUP-3001)", "'cupel doctor worker' tells")
        done = self.lab.cupel("doctor", "worker", "--engine-socket", socket)
        self.says(done, 1, str(socket), "1 failure", stream="out")
        self.nothing_left()

    def test_an_engine_without_images(self):
        file = self.lab.campaign("module: golang.org/x/sync@v0.25.0")
        done = self.lab.cupel("run", "--local", "-f", file, "--engine-socket", self.lab.empty_engine(), seconds=10)
        self.says(done, 1, "holds no toolchain image", "(CUP-3005)", "'cupel image build")
        self.nothing_left()

    def test_an_engine_that_leaves_its_containers_unconfined(self):
        file = self.lab.campaign("module: golang.org/x/sync@v0.25.0")
        socket = self.lab.empty_engine(security=["name=seccomp,profile=unconfined", "name=apparmor"])
        done = self.lab.cupel("run", "--local", "-f", file, "--engine-socket", socket, seconds=10)
        self.says(done, 1, "run unconfined", "(CUP-3010)", "--seccomp-profile=unconfined")
        done = self.lab.cupel("doctor", "worker", "--engine-socket", socket)
        self.says(done, 1, "run unconfined", "(CUP-3010)", stream="out")
        self.nothing_left()

    def test_a_worker_says_what_it_lacks_and_waits(self):
        coordinator = self.lab.start(*self.lab.coordinator())
        coordinator.wait_for("ready:")
        self.trust("w")
        worker = self.lab.start(*self.lab.worker(**self.lab.links(), **{"engine-socket": self.lab.dir / "none.sock"}))
        worker.wait_for("(CUP-3001)")
        deadline = time.monotonic() + 20
        while "blocked: engine" not in (listed := self.lab.cupel("worker", "ls", *self.lab.server())).out:
            self.assertLess(time.monotonic(), deadline, listed)  # its next heartbeat tells
        self.assertEqual(worker.end(), 0, worker.text())
        self.assertEqual(coordinator.end(), 0, coordinator.text())
        self.nothing_left()

    def trust(self, name):
        done = self.lab.cupel("key", "trust", name, self.lab.public(name), "--list", self.lab.dir / "trusted")
        self.assertEqual(done.code, 0, done)


class Keys(Case):
    def setUp(self):
        super().setUp()
        self.coordinator = self.lab.start(*self.lab.coordinator())
        self.coordinator.wait_for("ready:")

    def end(self, *workers):
        for worker in workers:
            self.assertEqual(worker.end(), 0, worker.text())
        self.assertEqual(self.coordinator.end(), 0, self.coordinator.text())
        self.nothing_left()

    def test_the_wrong_key_of_the_coordinator(self):
        worker = self.lab.start(*self.lab.worker(**{**self.lab.links(), "coordinator-key": self.lab.public("other")}))
        worker.wait_for("does not hold the key of setting coordinator_key (CUP-4004)")
        self.assertIn("'cupel key show'", worker.text())
        self.end(worker)

    def test_a_key_that_is_trusted_late_and_then_revoked(self):
        worker = self.lab.start(*self.lab.worker(**self.lab.links()))
        worker.wait_for("does not trust this worker's key")
        self.assertIn(f"cupel key trust NAME '{self.lab.public('w')}'", worker.text())
        trust = ["--list", self.lab.dir / "trusted"]
        self.assertEqual(self.lab.cupel("key", "trust", "w", self.lab.public("w"), *trust).code, 0)
        worker.wait_for("session with fleet")
        self.assertEqual(self.lab.cupel("key", "revoke", "w", *trust).code, 0)
        self.logs(worker, 4, "this worker's key was revoked")
        again = self.lab.start(*self.lab.worker(**self.lab.links()))
        again.wait_for("does not trust this worker's key")
        self.end(again)

    def test_a_coordinator_behind_tls(self):
        port, certificate = self.lab.tls_before(self.lab.ready()["http"])
        listing = ["worker", "ls", "--server", f"https://localhost:{port}", "--token-file", self.lab.dir / "token"]
        self.says(self.lab.cupel(*listing), 4, "can't trust the server", "certificate verify failed", "--ca-file")
        self.says(self.lab.cupel(*listing, "--ca-file", self.lab.file("none.pem", "")), 2, "none.pem", "PEM")
        other = [f"https://127.0.0.1:{port}" if "localhost" in str(word) else word for word in listing]
        self.says(self.lab.cupel(*other, "--ca-file", certificate), 4, "can't trust the server")
        done = self.lab.cupel(*listing, "--ca-file", certificate)
        self.assertEqual(done.code, 0, done)
        self.assertIn("WORKER", done.out, done)
        file = self.lab.campaign("module: golang.org/x/sync@v0.25.0")
        sent = self.lab.cupel("run", "-f", file, "--detach", *listing[2:], "--ca-file", certificate)
        self.assertEqual(sent.code, 0, sent)
        self.end()

    def test_files_that_are_no_keys(self):
        lab, links = self.lab, self.lab.links()
        self.logs(lab.start(*lab.worker(**links, **{"key-file": lab.dir / "none.key"})), 2, "none.key", "cupel key generate")
        self.logs(lab.start(*lab.worker(**links, **{"key-file": lab.file("bad.key", "x\n")})), 2, "bad.key")
        os.chmod(lab.key("open"), 0o644)
        self.logs(lab.start(*lab.worker(**links, **{"key-file": lab.dir / "open.key"})), 2, "open.key", "chmod 600")
        self.logs(lab.start(*lab.worker(**{**links, "coordinator-key": "short"})), 2, "coordinator_key", "'cupel key show'")
        self.end()


class Ports(Case):
    def test_a_foreign_process_on_a_port_of_the_coordinator(self):
        for name, form in (("listen", "127.0.0.1:{}"), ("control", "tcp://127.0.0.1:{}"), ("bulk", "tcp://127.0.0.1:{}")):
            taken, port = self.lab.taken_port()
            address = form.format(port)
            with taken:
                started = time.monotonic()
                self.logs(self.lab.start(*self.lab.coordinator(**{name: address})), 1, address, "(CUP-2011)",
                          "another process")
                self.assertLess(time.monotonic() - started, 10)
        self.nothing_left()

    def test_a_foreign_process_on_the_metrics_port_of_a_worker(self):
        taken, port = self.lab.taken_port()
        with taken:
            self.logs(self.lab.start(*self.lab.worker(**{"metrics-listen": f"127.0.0.1:{port}"})), 1,
                      f"127.0.0.1:{port}", "(CUP-2011)", "another process")
        self.nothing_left()

    def test_something_that_is_no_coordinator(self):
        taken, port = self.lab.taken_port()
        with taken:
            silent = self.lab.start(*self.lab.worker("w1", **{"coordinator-control": f"tcp://127.0.0.1:{port}"}))
            nobody = self.lab.start(*self.lab.worker("w2"))
            silent.wait_for(f"what answers at tcp://127.0.0.1:{port} does not hold the key")
            nobody.wait_for("nobody has answered at tcp://127.0.0.1:9")
            self.assertIn("(CUP-4008)", nobody.text())
            for worker in (silent, nobody):
                self.assertEqual(worker.end(), 0, worker.text())
        self.nothing_left()


class Configuration(Case):
    def test_files_of_daemons(self):
        wrong = self.lab.file("wrong.yaml", "slots: 4\nbogus: 1\nslots_: [\n")
        unknown = self.lab.file("unknown.yaml", "slost: 4\n")
        for program, config in (("cupel-worker", wrong), ("cupel-coordinator", wrong), ("cupel-worker", unknown)):
            done = self.lab.run(program, "config", "check", "--config", config)
            self.says(done, 2, f"{config}:")
        file = self.lab.campaign("module: golang.org/x/sync@v0.25.0")
        done = self.lab.cupel("run", "--local", "-f", file, "--worker-config", unknown)
        self.says(done, 2, f"{unknown}:1:1: unknown setting", 'did you mean "slots"?')
        done = self.lab.cupel("run", "--local", "-f", file, "--coordinator-config", unknown)
        self.says(done, 2, f"{unknown}:1:1: unknown setting")
        self.nothing_left()

    def test_two_of_one_directory(self):
        coordinator = self.lab.start(*self.lab.coordinator())
        coordinator.wait_for("ready:")
        self.logs(self.lab.start(*self.lab.coordinator()), 1, str(self.lab.dir / "coordinator"), "(CUP-2012)")
        self.assertEqual(coordinator.end(), 0)
        self.nothing_left()


class Disks(Case):
    def setUp(self):
        super().setUp()
        self.disk = self.lab.small_disk("disk", 24)

    def test_no_room_for_a_coordinator_at_its_start(self):
        self.lab.fill(self.disk)
        child = self.lab.start(*self.lab.coordinator(data_dir=self.disk / "coordinator"))
        self.logs(child, 1, str(self.disk / "coordinator"), "(CUP-3007)", "free space")
        self.nothing_left()

    def test_the_store_has_no_room_and_nothing_promised_is_lost(self):
        settings = self.lab.coordinator(data_dir=self.disk / "coordinator", **{"disk-reserve": "0B"})
        coordinator = self.lab.start(*settings)
        coordinator.wait_for("ready:")
        file = self.lab.campaign("module: golang.org/x/sync@v0.25.0")
        submit = ["run", "-f", file, "--detach"]
        first = self.lab.cupel(*submit, *self.lab.server())
        self.assertEqual(first.code, 0, first)
        filler = self.lab.fill(self.disk)
        # Until the pages that the files hold already are used up, commits still succeed: those count as well.
        promised = [first.out.strip()]
        for _ in range(200):
            done = self.lab.cupel(*submit, *self.lab.server())
            if done.code != 0:
                break
            promised.append(done.out.strip())
        self.says(done, 1, "(CUP-")
        self.logs(coordinator, 1, "the store failed", "(CUP-3007)", "free space")
        filler.unlink()
        again = self.lab.start(*settings)
        again.wait_for("ready:")
        for campaign in promised:
            shown = self.lab.cupel("results", campaign, *self.lab.server())
            self.assertEqual(shown.code, 0, shown)
        self.assertEqual(again.end(), 0, again.text())
        self.nothing_left()

    def test_artifacts_leave_room_for_the_store(self):
        coordinator = self.lab.start(*self.lab.coordinator(data_dir=self.disk / "coordinator", **{"disk-reserve": "1GiB"}))
        coordinator.wait_for("ready:")
        folder = harness.module(self.lab.dir, "folder", harness.PASSING)
        file = self.lab.campaign(f"path: {folder}")
        done = self.lab.cupel("run", "-f", file, "--detach", *self.lab.server())
        self.says(done, 1, "(CUP-3007)", "free space")
        self.assertEqual(coordinator.end(), 0, coordinator.text())
        self.assertEqual([p for p in (self.disk / "coordinator" / "artifacts").rglob("*") if p.is_file()], [])
        self.nothing_left()

    def test_no_room_for_a_worker(self):
        file = self.lab.campaign("module: golang.org/x/sync@v0.25.0")
        done = self.lab.cupel("run", "--local", "-f", file, "--data-dir", self.disk / "worker", seconds=60)
        self.says(done, 1, "disk", "(CUP-3007)")
        self.nothing_left()

    def test_no_room_for_the_outbox(self):
        self.lab.fill(self.disk, leave=1 << 20)
        self.logs(self.lab.start(*self.lab.worker(**{"data-dir": self.disk / "worker"})), 1, str(self.disk), "(CUP-3007)",
                  "free space")
        self.nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
